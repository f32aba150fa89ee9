// The places of a recording: which modules its code is in, and where in them. All processes share
// them, so that a library is one module, whoever has loaded it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/places/module_files.h"
#include "controller/callpath/record/recording.h"
#include "unwind/modules/image_files.h"
#include "unwind/modules/mapped_file.h"

namespace causalctl::callpath {

class Places {
 public:
  // It adds to the recording's modules and locations, counts in its account what is beyond the
  // limit, and changes nothing else.
  explicit Places(Recording& recording);
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // Returns the module of a file that the process has mapped, which is that of kAnonymous, 0, for
  // memory that is shared by a name. `generation` is that of the inode, whose number may be given
  // to another file; 0 if it is not known.
  std::uint32_t module_of(Pid process, const unwind::MappedFile& file, std::uint64_t generation);
  // `is_call`: the offset is one that a call returns to.
  LocationId location(std::uint32_t module, Address offset, bool is_call);
  // What one process runs from one exec to the next.
  struct Program {
    std::uint64_t number = 0;  // differs from that of any other, whatever process it is of
    std::string name = {};     // empty in a recording of one process
  };
  // Returns the location of code in no file. One without a name is of its program alone, because
  // the same address is other code in another one.
  LocationId compiled(const Program& program, Address address, bool is_call,
                      const std::string& name);
  std::uint64_t new_program() { return ++programs_; }  // a number
  // The location that stands for what has no code in a process; `name` is in brackets.
  LocationId outside(const char* name);
  LocationId in_kernel(const std::string& function);  // a new one at each call
  void begin_kernel() { (void)module_named(kKernel); }

  const Location& at(LocationId location) const { return recording_.locations.at(location); }
  ModuleFiles& files() { return files_; }
  // Of a module, as in the maps. It does not move.
  const std::string& path(std::uint32_t module) const { return paths_.at(module); }
  // The contents of the files, for unwinders to share.
  const std::shared_ptr<unwind::ImageFiles>& images() const { return images_; }

 private:
  using FileKey = std::tuple<std::uint64_t, std::uint64_t, std::string>;  // device, inode, path
  struct Known {
    std::uint32_t module = 0;
    std::uint64_t generation = 0;
    int tries = 0;  // to open its file, all in vain; 0: it is open, or there is none
  };

  static Known* find(std::vector<Known>& files, std::uint64_t generation);
  Known open(Pid process, const unwind::MappedFile& file);
  void add(unwind::ModuleFile file, const std::string& path);
  std::uint32_t module_named(const std::string& name);  // in brackets

  Recording& recording_;
  std::shared_ptr<unwind::ImageFiles> images_ = std::make_shared<unwind::ImageFiles>();
  std::map<FileKey, std::vector<Known>> modules_;
  ModuleFiles files_;
  std::deque<std::string> paths_;  // by module; they do not move
  std::map<std::tuple<std::uint32_t, Address, bool>, LocationId> locations_;
  // By program (0 of those with a name), address, is_call and name.
  std::map<std::tuple<std::uint64_t, Address, bool, std::string>, LocationId> compiled_;
  std::uint64_t programs_ = 0;
};

}  // namespace causalctl::callpath
