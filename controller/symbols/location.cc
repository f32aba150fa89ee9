#include "controller/symbols/location.h"

namespace causalctl::symbols {

void locate(Location& location, unwind::Symbolizer& symbolizer, const Wanted& wanted) {
  const auto module = symbolizer.module_at(location.address);
  if (!module) return;
  location.module = module->path;
  if (!wanted(*module)) return;
  auto frames = symbolizer.frames(location.address);
  if (frames.empty()) return;
  location.has_lines = symbolizer.has_lines(location.address);
  const Address entry = frames.back().entry;
  location.frames = std::move(frames);  // known, even if the entry's lookup throws
  if (entry == 0) return;
  const auto at_entry = symbolizer.frames(entry);
  if (!at_entry.empty()) location.entry = at_entry.back();
}

Location location_of(Address address, unwind::Symbolizer& symbolizer) {
  Location location{.address = address, .module = {}};
  locate(location, symbolizer, [](const unwind::Module&) { return true; });
  return location;
}

}  // namespace causalctl::symbols
