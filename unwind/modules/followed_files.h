// The files with code that a process has mapped, followed in time order by what the kernel records
// of new executable mappings.
//
// No record tells of an unmapping, nor of a mapping that is not executable. So a copy of a file
// that is mapped takes the place of all files that were in its span: a loader reserves the whole
// span of a library before it maps the parts.
//
// Many processes are over before anybody asks for their files. So a mapping that is noted costs
// little, and is taken once files() or maps() is called.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "unwind/modules/image_files.h"
#include "unwind/modules/loaded_files.h"
#include "unwind/modules/mapped_file.h"

namespace causalctl::unwind {

class FollowedFiles {
 public:
  explicit FollowedFiles(Pid target) : loaded_(target) {}
  // Begins with these mappings, and shares files with other processes (LoadedFiles).
  FollowedFiles(Pid target, std::shared_ptr<ImageFiles> shared, std::vector<procfs::Map> maps)
      : loaded_(target, std::move(shared)), maps_(std::move(maps)) {}

  // Takes all mappings anew, as /proc/PID/maps has them. Returns the files (mapped_files()).
  std::vector<MappedFile> take(std::vector<procfs::Map> maps);
  // Takes one executable mapping, in place of what was there. It may be gone already.
  std::vector<MappedFile> mapped(const procfs::Map& line);

  // Does the same later, but opens its file now, while it has its name.
  void note(const procfs::Map& line);
  std::vector<MappedFile> files();
  // The process runs another program: nothing is mapped until there are records of it.
  void unmap_all();

  const std::vector<procfs::Map>& maps();  // sorted by address

 private:
  struct Span {
    MappedRange range;
    const procfs::Map* line = nullptr;
    std::optional<Address> bias;  // of a copy whose headers are known
  };

  void take_noted();
  bool may_displace();
  Span span_of(const procfs::Map& line);
  void drop_others(const std::vector<MappedFile>& files, const procfs::Map& line);

  LoadedFiles loaded_;
  std::vector<procfs::Map> maps_;
  std::vector<procfs::Map> noted_;  // which maps_ lacks, in time order
};

}  // namespace causalctl::unwind
