#include "controller/continuous/analysis/file_names.h"

#include <fmt/format.h>

#include <exception>

#include "controller/base/base_name.h"
#include "controller/base/log.h"

namespace causalctl::continuous {
namespace {

// Images that are open at a time: places come image by image.
constexpr std::size_t kMostOpen = 32;

}  // namespace

std::string line_text(const std::vector<unwind::Frame>& frames) {
  if (frames.empty() || frames.front().line <= 0) return {};
  return fmt::format("{}:{}", base_name(frames.front().file), frames.front().line);
}

FileNames::Known& FileNames::known(const Image& image) {
  const auto [entry, is_new] = known_.try_emplace(image);
  Known& known = entry->second;
  if (!is_new) return known;
  opened_.push_back(image);
  if (opened_.size() > kMostOpen) {
    known_.erase(opened_.front());
    opened_.pop_front();
  }
  known.stored = database_.names(image);
  if (image.kind != ImageKind::file || image.build_id.empty()) return known;
  try {
    known.image = open_image(database_, image);
    const unwind::ModuleFile& file = known.image.file;
    if (file.fd) known.symbolizer = std::make_unique<unwind::Symbolizer>(file);
  } catch (const std::exception& error) {  // a broken file must not end the report
    log::verbose("{}: {}", image.path, error.what());
  }
  return known;
}

// Of functions that were inlined, the one that has them.
std::optional<FunctionAt> FileNames::in_file(Known& known, Address offset) {
  const auto link = known.image.file.link_address(offset);
  const auto place = link ? known.symbolizer->find_offset("", *link) : std::nullopt;
  if (!place) return std::nullopt;
  const auto frames = known.symbolizer->frames(place->address);
  if (frames.empty() || frames.back().function.empty()) return std::nullopt;
  FunctionAt function{frames.back().function, offset, offset + 1};
  if (const auto range = known.symbolizer->function_range(place->address)) {
    function.begin = offset - (place->address - range->first);
    function.end = offset + (range->second - place->address);
  }
  return function;
}

FileNames::Code FileNames::code_in_file(Known& known, Address offset) {
  const auto link = known.image.file.link_address(offset);
  if (!link) return {offset, {}};
  const auto place = known.symbolizer->find_offset("", *link);
  if (!place) return {*link, {}};
  Code code{*link, known.symbolizer->frames(place->address)};
  if (!code.frames.empty() && code.frames.back().function.empty()) code.frames.clear();
  return code;
}

FileNames::Code FileNames::code(const Image& image, Address offset) {
  Known& found = known(image);
  try {
    if (found.symbolizer) return code_in_file(found, offset);
  } catch (const std::exception& error) {  // a broken file must not end the report
    log::verbose("{}: {}", image.path, error.what());
  }
  Code code{offset, {}};
  if (const Name* name = name_at(found.stored, offset)) {
    code.frames.emplace_back().function = name->text;
  }
  return code;
}

std::vector<unwind::Frame> FileNames::frames(const Image& image, Address address) {
  Known& found = known(image);
  try {
    const auto place = found.symbolizer ? found.symbolizer->find_offset("", address) : std::nullopt;
    if (place) return found.symbolizer->frames(place->address);
  } catch (const std::exception& error) {
    log::verbose("{}: {}", image.path, error.what());
  }
  return {};
}

std::optional<Address> FileNames::entry(const Image& image, const std::string& point) {
  Known& found = known(image);
  if (!found.symbolizer || found.image.file.segments.empty()) return std::nullopt;
  const std::string file = fmt::format("{}:", base_name(image.path));
  const std::string function = point.starts_with(file) ? point.substr(file.size()) : point;
  try {
    const Address any = found.image.file.segments.front().address;
    const auto there = found.symbolizer->find_offset("", any);
    const auto places = found.symbolizer->find_function(function, "");
    if (there && places.size() == 1) return places.front().address - there->address + any;
  } catch (const std::exception& error) {
    log::verbose("{}: {}", point, error.what());
  }
  return std::nullopt;
}

FunctionAt FileNames::line_at(const Image& image, Address offset) {
  const Code code = this->code(image, offset);
  if (code.frames.empty() || code.frames.front().line <= 0) return at(image, offset);
  const unwind::Frame& innermost = code.frames.front();
  // With the folder: several folders may have files of that name.
  const std::string_view name = base_name(innermost.file);
  const std::string_view rest =
      std::string_view(innermost.file).substr(0, innermost.file.size() - name.size());
  const std::string_view folder = rest.empty() ? rest : base_name(rest.substr(0, rest.size() - 1));
  return {fmt::format("{}{}{}:{}", folder, folder.empty() ? "" : "/", name, innermost.line), offset,
          offset + 1};
}

FunctionAt FileNames::at(const Image& image, Address offset) {
  Known& found = known(image);
  try {
    if (found.symbolizer) {
      if (auto function = in_file(found, offset)) return *function;
    }
  } catch (const std::exception& error) {
    log::verbose("{}: {}", image.path, error.what());
  }
  if (const Name* name = name_at(found.stored, offset)) return {name->text, offset, offset + 1};
  return {fmt::format("{}+{:#x}", base_name(image.path), offset), offset, offset + 1};
}

}  // namespace causalctl::continuous
