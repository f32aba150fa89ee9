// A libdwfl session over what a process has mapped.
//
// Modules are reported by address range alone; a file is opened, and its debug information looked
// for, at the first look-up in it. Debug files: by build-id and .gnu_debuglink below /usr/lib/debug
// (ours, then the target's), beside the file, in the directories of CAUSALCTL_DEBUG_PATH, and from
// debuginfod where DEBUGINFOD_URLS is set (bounded in time).
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "unwind/mapped_file.h"

namespace causalctl::unwind {

struct LoadedModule {
  std::uint64_t serial = 0;  // never reused, unlike its address
  Pid target = 0;
  MappedFile file;
  Dwfl_Module* dwfl = nullptr;
  std::string host_path;         // not empty: opened by this name instead of through the target
  std::vector<std::byte> image;  // the vdso, as read from the target; libelf borrows it
};

class Modules {
 public:
  explicit Modules(Pid target);  // throws TargetGone, Error where /proc/PID/maps may not be read
  // One file as if it were mapped, without a process: for tests and for reading a file on its own.
  // The file may be damaged or no ELF file at all; it must exist.
  explicit Modules(const std::string& file);
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // Reads the mappings again. Modules that are still there keep what was loaded for them; pointers
  // to the others become invalid. A target that is gone changes nothing.
  void refresh();

  const std::vector<std::unique_ptr<LoadedModule>>& all() const { return modules_; }
  LoadedModule* at(Address address) const;  // nullptr: in no module

 private:
  void begin_session();
  void report(std::vector<MappedFile> files, const std::string& host_path);

  Pid target_ = 0;
  std::string debug_path_;
  char* debug_path_text_ = nullptr;  // libdwfl wants a char**
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  std::uint64_t last_serial_ = 0;
  std::vector<std::unique_ptr<LoadedModule>> modules_;  // by address
};

}  // namespace causalctl::unwind
