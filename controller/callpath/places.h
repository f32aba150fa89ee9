// Which place in which file an address of the target is, at the time of each sample.
//
// It follows the records of new mappings in time order, so that a sample is never looked up in what
// was mapped at its address later. What was unmapped stays until something else is mapped there:
// no sample can lie in it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "controller/base/types.h"
#include "controller/callpath/module_files.h"
#include "controller/callpath/recording.h"
#include "controller/perf/events.h"
#include "controller/symbols/mappings.h"
#include "controller/symbols/perf_map.h"
#include "controller/symbols/pieces.h"
#include "unwind/loaded_files.h"

namespace causalctl::callpath {

// The module of code that is in no file, such as what the target compiles at run time.
inline constexpr const char* kAnonymous = "[anonymous]";

class Places final : public symbols::MappingFollower {
 public:
  // Reads what is mapped. It adds to the recording's modules and locations, and to nothing else.
  Places(Pid target, Recording& recording);

  void take(const std::vector<procfs::Map>& maps) override;
  void mapped(const perf::MapEvent& event) override;
  void read_again() override;
  // Reads what has been added to the names of code that the target compiles at run time, once such
  // code was met. Call it before the samples since the last call are looked up: memory of code is
  // used again, and a name holds from then on.
  void read_compiled();

  // `is_call`: the address is one that a call returns to.
  LocationId at(Address address, bool is_call);

  // The location that stands for what has no code in the target; `name` is in brackets.
  LocationId outside(const char* name);
  // Where a location is now, by its number; nullopt if its module is not mapped.
  std::optional<Address> address_of(LocationId location) const;
  // Changes whenever what is mapped does.
  std::uint64_t mappings() const { return mappings_; }

  ModuleFiles& files() { return files_; }
  // Of a module, as in the maps. It does not move.
  const std::string& path(std::uint32_t module) const { return paths_.at(module); }

 private:
  using FileKey = std::tuple<std::uint64_t, std::uint64_t, std::string>;  // device, inode, path

  LocationId compiled(Address address, bool is_call);
  std::uint32_t module_of(const unwind::MappedFile& file);
  void put(Address start, Address end, std::uint32_t module, Address bias);

  Pid target_;
  Recording& recording_;
  unwind::LoadedFiles loaded_;
  std::map<FileKey, std::uint32_t> modules_;
  ModuleFiles files_;
  std::deque<std::string> paths_;  // by module; they do not move
  symbols::Pieces pieces_;         // their files are modules, their places offsets of locations
  std::uint64_t mappings_ = 0;
  std::map<std::tuple<std::uint32_t, Address, bool>, LocationId> locations_;
  symbols::PerfMapFile perf_map_;
  bool met_compiled_ = false;
  std::map<std::tuple<Address, bool, std::string>, LocationId> compiled_;  // by name, too
  std::unordered_map<Address, LocationId> cache_[2];  // by is_call, while pieces_ is the same
};

}  // namespace causalctl::callpath
