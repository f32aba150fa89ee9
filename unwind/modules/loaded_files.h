// Finds the files with code that a process has mapped: the lines of its maps, the program headers
// of the files, and where these cannot be read, those in the target's memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "unwind/modules/image_files.h"
#include "unwind/modules/mapped_file.h"

namespace causalctl::unwind {

class LoadedFiles {
 public:
  explicit LoadedFiles(Pid target) : target_(target) {}
  // Shares what is read of files with other processes. The process may be gone. None of its files
  // is told to be the executable.
  LoadedFiles(Pid target, std::shared_ptr<ImageFiles> shared)
      : target_(target), shared_(std::move(shared)) {}

  // Reads /proc/PID/maps again. Returns none if it is gone or may not be read. What was learnt of
  // files that are still mapped is kept.
  std::vector<MappedFile> read();
  // `more_to_come`: keeps what open() has opened, because a later reading will have it.
  std::vector<MappedFile> read(const std::vector<procfs::Map>& maps, bool more_to_come = false);
  // Opens the file of a line that the next reading will have, while it has its name.
  void open(const procfs::Map& line);
  // Returns the segments of the file of a line, as far as they are known. Valid until read().
  std::span<const LoadSegment> segments(const procfs::Map& line) {
    return known(line, {}).segments;
  }
  // The process runs another program.
  void forget();
  void forget_program() { program_.reset(); }  // what /proc tells of it is read again

 private:
  using FileKey = std::tuple<std::uint64_t, std::uint64_t, std::string>;  // device, inode, path
  using TextKey = std::tuple<Address, Address, Address, FileKey>;         // start, end, bias

  struct Known {
    std::shared_ptr<ImageFile> file;  // which stays known as long as it is mapped; null: not shared
    std::vector<LoadSegment> segments;
    std::uint64_t seen = 0;  // in which reading of the maps
  };
  struct KnownText {
    bool same = false;
    std::uint64_t seen = 0;
  };

  struct Program {  // as /proc tells it
    std::string executable;
    Address headers = 0;
    bool has_loader = false;  // otherwise the headers may be others once a loader is done
  };

  const Program& program();
  const Known& known(const procfs::Map& map, const std::vector<procfs::Map>& maps);
  void find_segments(Known& file, const procfs::Map& part) const;
  bool same_bytes(const procfs::Map& map, Address bias, const MappedRange& range);
  void find_main(std::vector<MappedFile>& files);

  Pid target_;
  std::shared_ptr<ImageFiles> shared_;
  std::optional<Program> program_;
  std::uint64_t reading_ = 0;
  std::map<FileKey, Known> files_;
  std::map<TextKey, KnownText> texts_;
};

}  // namespace causalctl::unwind
