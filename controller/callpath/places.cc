#include "controller/callpath/places.h"

#include <algorithm>
#include <utility>

#include "unwind/shared_memory.h"
#include "unwind/vdso.h"

namespace causalctl::callpath {
namespace {

constexpr int kMostPieces = 64;  // of a perf map that are read at once: its writer may not end

// As the kernel names a mapping in a record.
bool is_file(const perf::MapEvent& event) {
  return event.inode != 0 && !event.path.empty() && event.path.front() == '/' &&
         !event.path.starts_with("//");
}

}  // namespace

Places::Places(Pid target, Recording& recording)
    : target_(target), recording_(recording), loaded_(target), files_(target), perf_map_(target) {
  unwind::MappedFile none;
  none.path = kAnonymous;
  module_of(none);  // number 0
  read_again();
}

void Places::read_again() {
  if (const auto maps = procfs::maps(target_)) take(*maps);
}

void Places::take(const std::vector<procfs::Map>& maps) {
  const std::vector<unwind::MappedFile> files = loaded_.read(maps);
  if (files.empty()) return;  // the target is gone
  pieces_.clear();
  for (auto& each : cache_) each.clear();
  for (const unwind::MappedFile& file : files) {
    const std::uint32_t module = module_of(file);
    for (const unwind::MappedRange& range : file.code) {
      put(range.start, range.end, module, file.bias.value_or(file.start));
    }
  }
}

void Places::mapped(const perf::MapEvent& event) {
  const Address end = event.start + event.length;
  if (end <= event.start) return;
  if (!is_file(event) && event.path != unwind::kVdso) return put(event.start, end, 0, 0);
  unwind::MappedFile file;
  file.path = event.path;
  file.device = event.device;
  file.inode = event.inode;
  file.start = file.link_start = event.start;
  file.end = end;
  file.first = {event.start, end};
  file.first_offset = event.file_offset;
  const std::uint32_t module = module_of(file);
  if (module == 0) return put(event.start, end, 0, 0);
  const auto address = files_.get(module)->link_address(event.file_offset);
  put(event.start, end, module, event.start - address.value_or(event.file_offset));
}

std::uint32_t Places::module_of(const unwind::MappedFile& file) {
  const auto [known, is_new] = modules_.try_emplace(
      {file.device, file.inode, file.path}, static_cast<std::uint32_t>(recording_.modules.size()));
  if (is_new) {
    const bool has_file =
        !file.path.empty() && (file.path.front() == '/' || file.path == unwind::kVdso);
    auto opened = has_file ? files_.open(file) : unwind::ModuleFile();
    if (unwind::is_shared_memory(file.path) && opened.segments.empty()) return known->second = 0;
    recording_.modules.push_back({file.path, opened.build_id});
    files_.add(std::move(opened), file.path);
    paths_.push_back(file.path);
  }
  return known->second;
}

void Places::put(Address start, Address end, std::uint32_t module, Address bias) {
  pieces_.put(start, {end, module, bias});
  ++mappings_;
  for (auto& each : cache_) each.clear();
}

std::optional<Address> Places::address_of(LocationId number) const {
  const Location& location = recording_.locations.at(number);
  for (const auto& [start, piece] : pieces_.all()) {
    const Address within = location.offset - (location.is_call ? 1 : 0) + piece.bias;
    if (piece.file == location.module && within >= start && within < piece.end) {
      return location.offset + piece.bias;
    }
  }
  return std::nullopt;
}

LocationId Places::at(Address address, bool is_call) {
  auto& cache = cache_[is_call ? 1 : 0];
  if (const auto known = cache.find(address); known != cache.end()) return known->second;
  std::uint32_t module = 0;
  Address offset = address;
  // A return address may be the first byte behind the code.
  const Address within = is_call ? address - 1 : address;
  if (const auto* piece = pieces_.find(within)) {
    module = piece->file;
    offset = address - piece->bias;
  }
  if (module == 0) return compiled(address, is_call);
  const auto [place, is_new] = locations_.try_emplace(
      {module, offset, is_call}, static_cast<LocationId>(recording_.locations.size()));
  if (is_new) recording_.locations.push_back({module, offset, is_call, {}});
  return cache[address] = place->second;
}

LocationId Places::outside(const char* name) {
  unwind::MappedFile none;
  none.path = name;
  const auto [place, is_new] = locations_.try_emplace(
      {module_of(none), 0, false}, static_cast<LocationId>(recording_.locations.size()));
  if (is_new) recording_.locations.push_back({std::get<0>(place->first), 0, false, {}});
  return place->second;
}

void Places::read_compiled() {
  if (!met_compiled_) return;
  for (int piece = 0; piece < kMostPieces && perf_map_.read_on(); ++piece) {
  }
}

LocationId Places::compiled(Address address, bool is_call) {
  if (!met_compiled_) {
    met_compiled_ = true;
    read_compiled();
  }
  const auto* function = perf_map_.map().find(is_call ? address - 1 : address);
  const std::string name = function != nullptr ? function->name : std::string();
  const auto [place, is_new] = compiled_.try_emplace(
      {address, is_call, name}, static_cast<LocationId>(recording_.locations.size()));
  if (is_new) {
    recording_.locations.push_back({0, address, is_call, {}});
    if (!name.empty()) recording_.locations.back().frames = {{name, "", 0}};
  }
  return place->second;
}

}  // namespace causalctl::callpath
