#include "controller/callpath/places/process_places.h"

#include <string>
#include <utility>

#include "unwind/modules/loaded_files.h"
#include "unwind/modules/vdso.h"

namespace causalctl::callpath {
namespace {

constexpr int kMostPieces = 64;  // of a perf map that are read at once: its writer may not end

// As the kernel names a mapping in a record.
bool is_file(const perf::MapEvent& event) {
  return event.inode != 0 && !event.path.empty() && event.path.front() == '/' &&
         !event.path.starts_with("//");
}

}  // namespace

ProcessPlaces::ProcessPlaces(Pid process, Places& places)
    : process_(process), places_(places), program_{places.new_program()}, perf_map_(process) {
  mappings_ = program_.number << 32U;  // no two processes have one number
}

ProcessPlaces::ProcessPlaces(Pid process, const ProcessPlaces& parent)
    : ProcessPlaces(process, parent.places_) {
  pieces_ = parent.pieces_;
  program_.name = parent.program_.name;
}

void ProcessPlaces::read() {
  if (const auto maps = procfs::maps(process_)) take(*maps);
}

void ProcessPlaces::take(const std::vector<procfs::Map>& maps) {
  const auto files = unwind::LoadedFiles(process_, places_.images()).read(maps);
  if (files.empty()) return;  // the process is gone
  pieces_.clear();
  mappings_changed();
  for (const unwind::MappedFile& file : files) {
    const std::uint32_t module = places_.module_of(process_, file, 0);
    for (const unwind::MappedRange& range : file.code) {
      put(range.start, range.end, module, file.bias.value_or(file.start));
    }
  }
}

void ProcessPlaces::mapped(const perf::MapEvent& event) {
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
  const std::uint32_t module = places_.module_of(process_, file, event.generation);
  if (module == 0) return put(event.start, end, 0, 0);
  const auto address = places_.files().get(module)->link_address(event.file_offset);
  put(event.start, end, module, event.start - address.value_or(event.file_offset));
}

void ProcessPlaces::unmap_all() {
  pieces_.clear();
  mappings_changed();
  program_.number = places_.new_program();
  perf_map_ = symbols::PerfMapFile(process_);
  met_compiled_ = false;
}

void ProcessPlaces::put(Address start, Address end, std::uint32_t module, Address bias) {
  pieces_.put(start, {end, module, bias});
  mappings_changed();
}

void ProcessPlaces::mappings_changed() {
  ++mappings_;
  modules_.reset();
  for (auto& each : cache_) each.clear();
}

std::shared_ptr<const ModulesByPath> ProcessPlaces::modules() {
  if (modules_) return modules_;
  auto modules = std::make_shared<ModulesByPath>();
  for (const auto& [start, piece] : pieces_.all()) {
    if (piece.file != 0) (*modules)[places_.path(piece.file)] = piece.file;
  }
  return modules_ = std::move(modules);
}

std::optional<Address> ProcessPlaces::address_of(LocationId number) const {
  const Location& location = places_.at(number);
  for (const auto& [start, piece] : pieces_.all()) {
    const Address within = location.offset - (location.is_call ? 1 : 0) + piece.bias;
    if (piece.file == location.module && within >= start && within < piece.end) {
      return location.offset + piece.bias;
    }
  }
  return std::nullopt;
}

LocationId ProcessPlaces::at(Address address, bool is_call) {
  auto& cache = cache_[is_call ? 1 : 0];
  if (const auto known = cache.find(address); known != cache.end()) return known->second;
  // A return address may be the first byte behind the code.
  const auto* piece = pieces_.find(is_call ? address - 1 : address);
  if (piece == nullptr || piece->file == 0) return compiled(address, is_call);
  return cache[address] = places_.location(piece->file, address - piece->bias, is_call);
}

void ProcessPlaces::read_compiled() {
  if (!met_compiled_) return;
  for (int piece = 0; piece < kMostPieces && perf_map_.read_on(); ++piece) {
  }
}

LocationId ProcessPlaces::compiled(Address address, bool is_call) {
  if (!met_compiled_) {
    met_compiled_ = true;
    read_compiled();
  }
  const auto* function = perf_map_.map().find(is_call ? address - 1 : address);
  return places_.compiled(program_, address, is_call,
                          function != nullptr ? function->name : std::string());
}

}  // namespace causalctl::callpath
