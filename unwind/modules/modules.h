// A libdwfl session over the files that a process has mapped.
//
// Modules are reported by address range alone. At the first look-up in one, its file is opened and
// its debug information is looked for: by build-id and .gnu_debuglink below /usr/lib/debug (ours,
// then the target's), beside the file, in the directories of CAUSALCTL_DEBUG_PATH, and from
// debuginfod if DEBUGINFOD_URLS is set (for a limited time).
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "unwind/modules/followed_files.h"
#include "unwind/modules/mapped_file.h"

namespace causalctl::unwind {

struct LoadedModule {
  std::uint64_t serial = 0;  // never reused, unlike its address
  Pid target = 0;
  MappedFile file;
  Dwfl_Module* dwfl = nullptr;
  std::string host_path;  // if not empty, it is opened by this name instead of through the target
  std::vector<std::byte> image;  // the vdso, as read from the target; libelf borrows it
};

class Modules {
 public:
  explicit Modules(Pid target);  // throws TargetGone, or Error if /proc/PID/maps may not be read
  // Opens one file as if it were mapped, without a process, for tests and for reading a file on its
  // own. The file must exist, but it may be damaged or no ELF file at all. `name` is its name, if
  // it is opened by another one.
  explicit Modules(const std::string& file, const std::string& name = "");
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // Reads the mappings again. Modules that still exist keep what was loaded for them; pointers to
  // others become invalid. Does nothing if the target is gone.
  void refresh();
  void refresh(std::vector<procfs::Map> maps);  // the same, with those that were read before
  // The same for one executable mapping, as a record tells of it (followed_files.h).
  void mapped(const procfs::Map& line);
  // The target runs another program: nothing is mapped until there are records of it.
  void unmap_all();

  const std::vector<std::unique_ptr<LoadedModule>>& all() const { return modules_; }
  LoadedModule* at(Address address) const;  // nullptr if it is in no module

 private:
  void begin_session();
  void report(std::vector<MappedFile> files, const std::string& host_path);

  Pid target_ = 0;
  FollowedFiles followed_;
  std::string debug_path_;
  char* debug_path_text_ = nullptr;  // libdwfl needs a char**
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  std::uint64_t last_serial_ = 0;
  std::vector<std::unique_ptr<LoadedModule>> modules_;  // sorted by address
};

}  // namespace causalctl::unwind
