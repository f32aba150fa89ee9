#include "controller/causal/engine/unit_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/base/paths.h"
#include "controller/symbols/library_files.h"
#include "controller/symbols/scope.h"
#include "unwind/names/names.h"

namespace causalctl::causal {
namespace {

Unit function_unit(const symbols::Location& location) {
  const unwind::Frame& frame = location.frames.back();
  const unwind::Frame& place = location.entry ? *location.entry : frame;
  return {frame.function, false,      frame.function,
          place.file,     place.line, std::string(base_name(location.module))};
}

// Returns the name of the function, or of what it is inlined into if it has none: compilers leave
// out those of destructors that they make.
template <typename Iterator>
std::string first_name(Iterator frame, Iterator end) {
  const auto named =
      std::find_if(frame, end, [](const unwind::Frame& each) { return !each.function.empty(); });
  return named != end ? named->function : std::string();
}

// Returns the index of the first frame whose line is in scope; that of the end if none is.
std::size_t frame_in_scope(const symbols::Location& location, const config::Scope& scope) {
  const auto& frames = location.frames;
  if (!location.has_lines) return frames.size();
  const auto frame = std::find_if(frames.begin(), frames.end(), [&](const unwind::Frame& each) {
    return each.line > 0 && symbols::file_in_scope(each.file, scope, location.module);
  });
  return static_cast<std::size_t>(frame - frames.begin());
}

}  // namespace

std::size_t charged_frame(const symbols::Location& location, const config::Scope& scope) {
  return std::min(frame_in_scope(location, scope), location.frames.size() - 1);
}

std::optional<Unit> unit_of(const symbols::Location& location, const config::Scope& scope) {
  const auto& frames = location.frames;
  if (frames.empty()) return std::nullopt;
  const std::size_t in_scope = frame_in_scope(location, scope);
  if (in_scope < frames.size()) {
    if (scope.unit == config::Unit::function) return function_unit(location);
    const auto frame = frames.begin() + static_cast<std::ptrdiff_t>(in_scope);
    return Unit{fmt::format("{}:{}", base_name(frame->file), frame->line),
                true,
                first_name(frame, frames.end()),
                frame->file,
                frame->line,
                std::string(base_name(location.module))};
  }
  if (!scope.files.empty() || scope.unit == config::Unit::line) return std::nullopt;
  const bool is_of_library =
      location.has_lines && std::any_of(frames.begin(), frames.end(),
                                        [](const unwind::Frame& each) { return each.line > 0; });
  if (is_of_library) return std::nullopt;
  // There is no line: this is the compiler's own code, or has no debug information. A file scope
  // cannot judge it.
  const std::string& function = frames.back().function;
  if (function.empty() || symbols::is_library_function(function)) return std::nullopt;
  return function_unit(location);
}

std::string place_of(const symbols::Location& location) {
  const auto known = std::find_if(location.frames.begin(), location.frames.end(),
                                  [](const unwind::Frame& each) { return each.line > 0; });
  if (known != location.frames.end()) {
    const auto library = symbols::library_of(known->file, location.module);
    if (!library.empty()) return std::string(library);
  }
  std::string binary(base_name(location.module));
  if (location.frames.empty()) return binary;  // it is out of scope
  const std::string& function = location.frames.back().function;
  if (function.empty()) return binary + ": code without symbols and unwind tables";
  return symbols::is_library_function(function) ? binary + ": its copy of a standard library"
                                                : binary;
}

std::optional<Unit> function_of(const symbols::Location& location) {
  if (location.frames.empty() || location.frames.back().function.empty()) return std::nullopt;
  return function_unit(location);
}

std::optional<std::string> missing_lines(const symbols::LineInformation& lines,
                                         const config::Scope& scope) {
  if (scope.unit == config::Unit::function || lines.without.empty()) return std::nullopt;
  std::string text = fmt::format("no line information in {}", fmt::join(lines.without, ", "));
  if (scope.unit == config::Unit::automatic) {
    return text + (scope.files.empty() ? ": its functions are sped up, not its lines"
                                       : ": none of its code is in the scope of --scope-file");
  }
  if (lines.any) return std::nullopt;
  throw UsageError(text, "compile with -g, install its debug package, or use --unit function");
}

std::string unmatched_files(const config::Scope& scope, const std::set<std::string>& files,
                            std::size_t nearest) {
  std::vector<std::string> names;
  for (const std::string& file : files) names.emplace_back(base_name(file));
  std::vector<std::string> texts;
  for (const std::string& glob : scope.files) {
    const auto fits = [&](const std::string& file) { return path_matches(file, glob); };
    if (std::any_of(files.begin(), files.end(), fits)) continue;
    const auto near = unwind::nearest(base_name(glob), names, nearest);
    texts.push_back(fmt::format("no source file matches --scope-file '{}'", glob));
    if (!near.empty()) texts.back() += fmt::format(" (nearest: {})", fmt::join(near, ", "));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace causalctl::causal
