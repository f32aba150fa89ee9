#include "controller/causal/engine/resolver.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/thread.h"
#include "unwind/names.h"

namespace causalctl::causal {
namespace {

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// What is the text of a name or a path is not taken for a pattern.
bool matches(const std::string& glob, const std::string& path) {
  return unwind::path_ends_with(path, glob) || fnmatch(glob.c_str(), path.c_str(), 0) == 0 ||
         fnmatch(glob.c_str(), std::string(base_name(path)).c_str(), 0) == 0 ||
         fnmatch(("*/" + glob).c_str(), path.c_str(), 0) == 0;
}

// Without a file scope, what a compiler or its library inlined is charged to the line that used it.
bool is_system_header(std::string_view path) {
  static constexpr std::array<std::string_view, 3> kPrefixes = {"/usr/include/", "/usr/lib/",
                                                                "/usr/local/include/"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return path.starts_with(prefix); });
}

bool file_in_scope(const std::string& path, const config::Scope& scope) {
  if (scope.files.empty()) return !is_system_header(path);
  return std::any_of(scope.files.begin(), scope.files.end(),
                     [&](const std::string& glob) { return matches(glob, path); });
}

Unit function_unit(const unwind::Frame& frame) {
  return {frame.function, false, frame.function, frame.file, frame.line};
}

// A sample in code of a header would give another file than the next sample.
void place_at_entry(Unit& function, Address entry, unwind::Symbolizer& symbolizer) {
  if (entry == 0) return;
  const auto frames = symbolizer.frames(entry);
  if (frames.empty()) return;
  function.file = frames.back().file;
  function.line = frames.back().line;
}

}  // namespace

bool module_in_scope(const unwind::Module& module, const config::Scope& scope) {
  return std::any_of(scope.binaries.begin(), scope.binaries.end(), [&](const std::string& glob) {
    return glob == "MAIN" ? module.main : matches(glob, module.path);
  });
}

std::optional<Unit> unit_of(const std::vector<unwind::Frame>& frames, bool has_lines,
                            const config::Scope& scope) {
  if (frames.empty()) return std::nullopt;
  if (has_lines) {
    const auto frame = std::find_if(frames.begin(), frames.end(), [&](const unwind::Frame& each) {
      return each.line > 0 && file_in_scope(each.file, scope);
    });
    if (frame != frames.end()) {
      if (scope.unit == config::Unit::function) return function_unit(frames.back());
      const std::string name =
          std::string(base_name(frame->file)) + ":" + std::to_string(frame->line);
      return Unit{name, true, frame->function, frame->file, frame->line};
    }
  }
  // No line: the compiler's own code, or no debug information. A file scope can say nothing of it.
  if (!scope.files.empty() || scope.unit == config::Unit::line) return std::nullopt;
  if (frames.back().function.empty()) return std::nullopt;
  return function_unit(frames.back());
}

std::optional<Unit> function_at(Address address, unwind::Symbolizer& symbolizer) {
  const auto module = symbolizer.module_at(address);
  const auto frames = symbolizer.frames(address);
  if (!module || frames.empty() || frames.back().function.empty()) return std::nullopt;
  Unit unit = function_unit(frames.back());
  unit.module = base_name(module->path);
  place_at_entry(unit, frames.back().entry, symbolizer);
  return unit;
}

std::optional<std::string> missing_lines(const LineInformation& lines, const config::Scope& scope) {
  if (scope.unit == config::Unit::function || lines.without.empty()) return std::nullopt;
  std::string text = fmt::format("no line information in {}", fmt::join(lines.without, ", "));
  if (scope.unit == config::Unit::automatic) {
    return text + (scope.files.empty() ? ": its functions are sped up, not its lines"
                                       : ": none of its code is in the scope of --scope-file");
  }
  if (lines.any) return std::nullopt;
  throw UsageError(text, "compile with -g, install its debug package, or use --unit function");
}

std::string unmatched_files(const config::Scope& scope, unwind::Symbolizer& symbolizer,
                            std::size_t nearest) {
  std::set<std::string> files;
  for (const unwind::Module& module : symbolizer.modules()) {
    if (!module_in_scope(module, scope)) continue;
    const auto of_module = symbolizer.files(module.start);
    files.insert(of_module.begin(), of_module.end());
  }
  std::vector<std::string> names;
  for (const std::string& file : files) names.emplace_back(base_name(file));
  std::vector<std::string> texts;
  for (const std::string& glob : scope.files) {
    const auto fits = [&](const std::string& file) { return matches(glob, file); };
    if (std::any_of(files.begin(), files.end(), fits)) continue;
    const auto near = unwind::nearest(base_name(glob), names, nearest);
    texts.push_back(fmt::format("no source file matches --scope-file '{}'", glob));
    if (!near.empty()) texts.back() += fmt::format(" (nearest: {})", fmt::join(near, ", "));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

SymbolizingThread::SymbolizingThread(std::unique_ptr<unwind::Symbolizer> symbolizer,
                                     config::Scope scope, Haste haste)
    : symbolizer_(std::move(symbolizer)),
      scope_(std::move(scope)),
      haste_(haste),
      thread_(start_thread("the debug information", [this] { work(); })) {}

SymbolizingThread::~SymbolizingThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void SymbolizingThread::ask(Address address) {
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back(address);
  }
  wake_.notify_one();
}

void SymbolizingThread::ask_later(const std::function<void(unwind::Symbolizer&)>& job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }
  wake_.notify_one();
}

void SymbolizingThread::refresh() {
  const std::lock_guard lock(mutex_);
  refresh_ = true;
}

std::vector<Resolver::Answer> SymbolizingThread::answers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

std::optional<LineInformation> SymbolizingThread::lines() {
  const std::lock_guard lock(mutex_);
  return lines_;
}

// Opens the debug information of all of them, which can take seconds: before the first question,
// since answers need it anyway.
LineInformation SymbolizingThread::find_lines() {
  LineInformation found;
  for (const unwind::Module& module : symbolizer_->modules()) {
    if (!module_in_scope(module, scope_)) continue;
    try {
      if (symbolizer_->has_lines(module.start)) {
        found.any = true;
        continue;
      }
    } catch (const std::exception& error) {
      log::verbose("{}: {}", module.path, error.what());
    }
    found.without.push_back(module.path);
  }
  return found;
}

Resolver::Answer SymbolizingThread::resolve(Address address) {
  Answer answer{address, std::nullopt};
  try {
    const auto module = symbolizer_->module_at(address);
    if (!module) return answer;
    answer.binary = base_name(module->path);
    if (!module_in_scope(*module, scope_)) return answer;
    const auto frames = symbolizer_->frames(address);
    answer.unit = unit_of(frames, symbolizer_->has_lines(address), scope_);
    if (!answer.unit) return answer;
    answer.unit->module = answer.binary;
    if (!answer.unit->is_line) place_at_entry(*answer.unit, frames.back().entry, *symbolizer_);
  } catch (const std::exception& error) {  // a broken file must not end the profile of the others
    log::verbose("{:#x}: {}", address, error.what());
    answer.unit.reset();
  }
  return answer;
}

void SymbolizingThread::work() {
  if (haste_ == Haste::low_priority) setpriority(PRIO_PROCESS, 0, 10);  // this thread only
  LineInformation found = find_lines();
  std::unique_lock lock(mutex_);
  lines_ = std::move(found);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !questions_.empty() || !jobs_.empty(); });
    if (stop_) return;
    const std::vector<Address> questions = std::exchange(questions_, {});
    const auto jobs = std::exchange(jobs_, {});
    const bool refresh = !questions.empty() && std::exchange(refresh_, false);
    for (const Address address : questions) {
      if (stop_) return;
      lock.unlock();
      if (refresh && address == questions.front()) symbolizer_->refresh();
      Answer answer = resolve(address);
      lock.lock();
      answers_.push_back(std::move(answer));
    }
    lock.unlock();
    for (const auto& job : jobs) job(*symbolizer_);
    lock.lock();
  }
}

}  // namespace causalctl::causal
