// Finds the files with code that a live process has mapped: the lines of its maps, the program
// headers of the files, and where these cannot be read, those in the target's memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "unwind/mapped_file.h"

namespace causalctl::unwind {

// Returns the loaded segments of an ELF file in ascending order, or none if it is no such file.
std::vector<LoadSegment> load_segments(int fd);

class LoadedFiles {
 public:
  explicit LoadedFiles(Pid target) : target_(target) {}

  // Reads /proc/PID/maps again. Returns none if it is gone or may not be read. What was learnt of
  // files that are still mapped is kept.
  std::vector<MappedFile> read();
  std::vector<MappedFile> read(const std::vector<procfs::Map>& maps);

 private:
  using FileKey = std::tuple<std::uint64_t, std::uint64_t, std::string>;  // device, inode, path
  using TextKey = std::tuple<Address, Address, Address, FileKey>;         // start, end, bias

  struct Known {
    std::vector<LoadSegment> segments;
    std::uint64_t seen = 0;  // in which reading of the maps
  };
  struct KnownText {
    bool same = false;
    std::uint64_t seen = 0;
  };

  const Known& known(const procfs::Map& map, const std::vector<procfs::Map>& maps);
  bool same_bytes(const procfs::Map& map, Address bias, const MappedRange& range);
  void find_main(std::vector<MappedFile>& files, const std::string& executable) const;

  Pid target_;
  std::uint64_t reading_ = 0;
  std::map<FileKey, Known> files_;
  std::map<TextKey, KnownText> texts_;
};

}  // namespace causalctl::unwind
