// The files that a process has mapped, with what unwinding needs of them: bytes, tables, and where
// functions begin.
//
// What does not depend on where a file is mapped is kept by the file itself, not by its name or
// address. A library that is loaded twice, or again, is read once.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "unwind/elf_image.h"
#include "unwind/followed_files.h"
#include "unwind/frame_table.h"
#include "unwind/function_bounds.h"
#include "unwind/go_table.h"
#include "unwind/mapped_file.h"
#include "unwind/range_map.h"

namespace causalctl::unwind {

// The contents of one file. Each part is read when it is first asked for. All addresses are those
// of link time.
class ImageFile {
 public:
  ImageFile() = default;  // of a file that cannot be read
  explicit ImageFile(Mapping mapping);
  explicit ImageFile(std::vector<std::byte> copy);
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;

  const ElfImage& elf() const { return elf_; }
  FrameTable& frames();
  const GoTable& go();
  // Returns the last place at or before the address to which a call in this file leads, or 0.
  Address last_call_target(Address address);

 private:
  Mapping mapping_;
  std::vector<std::byte> copy_;
  ElfImage elf_;
  std::optional<FrameTable> frames_;
  std::optional<GoTable> go_;
  std::optional<std::vector<Address>> call_targets_;  // sorted
};

// One loaded copy of a file.
class Image {
 public:
  explicit Image(MappedFile place) : place_(std::move(place)) {}

  const MappedFile& place() const { return place_; }

 private:
  friend class TargetImages;
  MappedFile place_;
  std::shared_ptr<ImageFile> file_;  // null until it is needed
};

class TargetImages {
 public:
  // Throws TargetGone, or Error if the maps may not be read.
  explicit TargetImages(Pid target);

  // Reads the maps again. Returns whether anything is different; nothing is if they cannot be read.
  bool load();
  bool load(std::vector<procfs::Map> maps);  // that were read before
  // Takes one executable mapping, in place of what was there. It may be gone already: so addresses
  // mean what they meant at the time of a record. What was unmapped stays until something else is
  // mapped there. Returns whether anything is different.
  bool mapped(const procfs::Map& line);

  Pid target() const { return target_; }
  Image* at(Address address);  // null where no file is mapped
  ImageFile& file(Image& image);
  Address bias(Image& image);
  bool is_code(Address address) const { return executable_.find(address) != nullptr; }
  // Returns the bytes from the address on if they are constant, or none.
  std::span<const std::byte> constant_bytes(Address address);
  // Fills all of the bytes from the address on if they are constant, or returns false.
  bool read_constant(Address address, std::span<std::byte> bytes);

 private:
  struct FileKey {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t modified_ns = 0, changed_ns = 0;
    auto operator<=>(const FileKey&) const = default;
  };

  bool take(std::vector<MappedFile> files);
  std::shared_ptr<ImageFile> open(const MappedFile& place);

  Pid target_;
  FollowedFiles followed_;
  std::vector<Image> images_;     // sorted by address
  RangeMap<NoValue> executable_;  // includes code outside of files
  std::map<FileKey, std::shared_ptr<ImageFile>> files_;
};

}  // namespace causalctl::unwind
