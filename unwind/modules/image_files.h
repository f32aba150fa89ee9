// The files that processes have mapped. Each is opened, mapped here and read once for all of them.
//
// The inode of a file that is mapped here cannot be given to another file. So a mapping of the same
// device, inode and name has the same file, even if its process is gone. Only its contents may have
// been written anew. Its size and times tell that, wherever a name still leads to it.
//
// Not thread-safe, and neither are the files.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "controller/base/types.h"
#include "unwind/modules/image_file.h"
#include "unwind/modules/mapped_file.h"

namespace causalctl::unwind {

class ImageFiles {
 public:
  static constexpr std::size_t kMostUnused = 64;  // that are kept although no process has them

  // Returns the file that the process has mapped, as long as that can be found: without contents
  // if it cannot be had, or is no ELF file; never null. The process may be gone.
  std::shared_ptr<ImageFile> of(Pid target, const MappedFile& place);
  std::size_t size() const { return files_.size(); }  // the number of files that are mapped here

 private:
  struct Contents {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t modified_ns = 0, changed_ns = 0;
    auto operator<=>(const Contents&) const = default;
  };
  struct Kept {
    std::shared_ptr<ImageFile> file;
    std::uint64_t used = 0;  // the number of the last use
  };
  using Mapped = std::tuple<std::uint64_t, std::uint64_t, std::string>;  // device, inode, path

  static std::optional<Contents> contents_by_name(Pid target, const std::string& path,
                                                  const Contents& known);
  std::shared_ptr<ImageFile> known(Pid target, const MappedFile& place);
  std::shared_ptr<ImageFile> open(Pid target, const MappedFile& place);
  std::shared_ptr<ImageFile> vdso(Pid target, const MappedFile& place);
  void drop_unused();

  std::uint64_t uses_ = 0;
  std::map<Contents, Kept> files_;
  std::map<Mapped, Contents> by_mapping_;  // all are those of files_
  std::shared_ptr<ImageFile> vdso_;        // null until one was asked for
};

}  // namespace causalctl::unwind
