// Keeps the files in which time was spent (record/kept_file.h), one at a time, so that the recorder
// does nothing else for a moment only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "controller/base/types.h"
#include "controller/continuous/collect/process_maps.h"
#include "controller/continuous/record/counts.h"
#include "controller/continuous/record/database.h"
#include "unwind/modules/module_file.h"

namespace causalctl::continuous {

// Opens the file that the process has, or had, mapped there.
unwind::ModuleFile open_mapped(Pid process, Address begin, const MappedCode& code);

// A file with a build-id that is met for the first time, and where it is mapped.
struct NewFile {
  Image image;
  Pid process = 0;
  Address begin = 0;
  MappedCode code = {};
};

class FileKeeper {
 public:
  void add(std::vector<NewFile> files);
  // Takes what a drain has counted: a file is kept once it has samples enough.
  void count(const Profile& profile);
  // Keeps the next file, if all together take no more than that. Returns whether there was one.
  // Throws Error if it cannot be written, and tries it again a minute later.
  bool keep_next(Database& database, std::uint64_t most_bytes);
  // Those that were kept are to be kept again, in another database.
  void keep_again();

 private:
  struct Waiting {
    NewFile file;
    std::uint64_t samples = 0;
  };

  std::map<Image, Waiting> waiting_;  // for samples
  std::deque<NewFile> ready_;
  std::deque<NewFile> kept_;  // the latest ones
  Nanoseconds again_ns_ = 0;  // nothing is kept until then
};

}  // namespace causalctl::continuous
