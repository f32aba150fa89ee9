// The files with code that a process has mapped, followed in time order by what the kernel records
// of new executable mappings.
//
// No record tells of an unmapping, nor of a mapping that is not executable. So a copy of a file
// that is mapped takes the place of all files that were in its span: a loader reserves the whole
// span of a library before it maps the parts.
#pragma once

#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "unwind/loaded_files.h"
#include "unwind/mapped_file.h"

namespace causalctl::unwind {

class FollowedFiles {
 public:
  explicit FollowedFiles(Pid target) : loaded_(target) {}

  // Takes all mappings anew, as /proc/PID/maps has them. Returns the files (mapped_files()).
  std::vector<MappedFile> take(std::vector<procfs::Map> maps);
  // Takes one executable mapping, in place of what was there. It may be gone already.
  std::vector<MappedFile> mapped(const procfs::Map& line);

  const std::vector<procfs::Map>& maps() const { return maps_; }  // sorted by address

 private:
  bool drop_others(const std::vector<MappedFile>& files, const procfs::Map& line);

  LoadedFiles loaded_;
  std::vector<procfs::Map> maps_;
};

}  // namespace causalctl::unwind
