#include "controller/continuous/analysis/file_names.h"

#include <fmt/format.h>

#include <exception>

#include "controller/base/base_name.h"
#include "controller/base/log.h"

namespace causalctl::continuous {

FileNames::Known& FileNames::known(const Image& image) {
  const auto [entry, is_new] = known_.try_emplace(image);
  Known& known = entry->second;
  if (!is_new) return known;
  known.stored = stored_(image);
  if (image.kind != ImageKind::file || image.build_id.empty()) return known;
  try {
    known.file = unwind::open_module_file(image.path);
    if (known.file.fd && padded_build_id(known.file.build_id) == padded_build_id(image.build_id)) {
      known.symbolizer = std::make_unique<unwind::Symbolizer>(known.file);
    }
  } catch (const std::exception& error) {  // a broken file must not end the report
    log::verbose("{}: {}", image.path, error.what());
  }
  return known;
}

// Of functions that were inlined, the one that has them.
std::optional<FunctionAt> FileNames::in_file(Known& known, Address offset) {
  const auto link = known.file.link_address(offset);
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
