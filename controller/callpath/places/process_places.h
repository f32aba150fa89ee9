// Which place (places.h) an address of one process is, at the time of each sample.
//
// It follows the records of new mappings in time order, so that a sample is never looked up in what
// was mapped at its address later. What was unmapped stays until something else is mapped there:
// no sample can lie in it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "controller/callpath/places/places.h"
#include "controller/callpath/record/recording.h"
#include "controller/perf/events.h"
#include "controller/symbols/mappings.h"
#include "controller/symbols/perf_map.h"
#include "controller/symbols/pieces.h"

namespace causalctl::callpath {

// The modules that a process has mapped, by path. Those of another one may have other modules at
// the same paths, as in a container.
using ModulesByPath = std::map<std::string, std::uint32_t>;

class ProcessPlaces final : public symbols::MappingFollower {
 public:
  // Begins with nothing mapped. The process may be gone. `places` must outlive it.
  ProcessPlaces(Pid process, Places& places);
  // Begins with what the parent has mapped, as a child does.
  ProcessPlaces(Pid process, const ProcessPlaces& parent);

  void read();  // takes what is mapped at present; nothing if the process is gone
  void take(const std::vector<procfs::Map>& maps) override;
  void mapped(const perf::MapEvent& event) override;
  void unmap_all() override;
  void runs(const std::string& program) { program_.name = program; }  // in a set
  // Reads what has been added to the names of code that the process compiles at run time, once such
  // code was met. Call it before the samples since the last call are looked up: memory of code is
  // used again, and a name holds from then on.
  void read_compiled();

  // `is_call`: the address is one that a call returns to.
  LocationId at(Address address, bool is_call);
  // Where a location is now, by its number; nullopt if its module is not mapped.
  std::optional<Address> address_of(LocationId location) const;
  // Changes whenever what is mapped does. No other process has the same number.
  std::uint64_t mappings() const { return mappings_; }
  std::shared_ptr<const ModulesByPath> modules();  // that are mapped at present

  Places& shared() { return places_; }

 private:
  LocationId compiled(Address address, bool is_call);
  void put(Address start, Address end, std::uint32_t module, Address bias);
  void mappings_changed();

  Pid process_;
  Places& places_;
  Places::Program program_;
  symbols::Pieces pieces_;  // their files are modules, their places offsets of locations
  std::uint64_t mappings_ = 0;
  std::shared_ptr<const ModulesByPath> modules_;  // null until they are asked for
  symbols::PerfMapFile perf_map_;
  bool met_compiled_ = false;
  std::unordered_map<Address, LocationId> cache_[2];  // by is_call, while pieces_ is the same
};

}  // namespace causalctl::callpath
