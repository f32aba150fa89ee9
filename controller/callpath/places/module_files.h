// The files of a recording's modules, for the names of their functions.
//
// A program may load any number of libraries, so that few files are open at a time. The one that
// was not asked for the longest is closed. If it is asked for again, it is opened by its name,
// where that still leads to the same file. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "controller/base/types.h"
#include "controller/callpath/record/recording.h"
#include "unwind/modules/mapped_file.h"
#include "unwind/modules/module_file.h"

namespace causalctl::callpath {

class ModuleFiles {
 public:
  using File = std::shared_ptr<const unwind::ModuleFile>;  // without a descriptor if it is not open

  ModuleFiles();

  // Opens a file that the process has mapped. If there are too many open ones, others are closed
  // for it.
  unwind::ModuleFile open(Pid target, const unwind::MappedFile& file);
  void add(unwind::ModuleFile file, const std::string& path);  // as that of the next module
  // REQUIRES: it was added.
  File get(std::uint32_t module);
  // How many are open, at most.
  std::size_t most_open() const { return most_open_; }
  // Tells how much of the CPU time has no names, because files of the modules could not be opened.
  void warn(Recording& recording) const;

 private:
  // Device, inode, size and the time of the last change.
  using Identity = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, long>;
  struct Kept {
    File file;
    std::string path;   // as in the maps
    Identity identity;  // of a file that was opened
    bool was_open = false;
    int error = 0;  // the errno with which it could not be opened
  };

  static Identity identity_of(const unwind::ModuleFile& file);
  void keep(std::uint32_t module, unwind::ModuleFile file);
  void close_all_but(std::size_t count);

  std::size_t most_open_;
  mutable std::mutex mutex_;        // of all below
  std::deque<Kept> all_;            // by module
  std::deque<std::uint32_t> open_;  // by when they were asked for, the latest last
};

}  // namespace causalctl::callpath
