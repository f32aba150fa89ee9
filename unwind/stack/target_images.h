// The files that a process has mapped, with what unwinding needs of them: bytes, tables, and where
// functions begin.
//
// What does not depend on where a file is mapped is kept by the file itself, not by its name or
// address. A library that is loaded twice, or again, is read once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "unwind/modules/followed_files.h"
#include "unwind/modules/image_file.h"
#include "unwind/modules/image_files.h"
#include "unwind/modules/mapped_file.h"
#include "unwind/tables/elf_image.h"
#include "unwind/tables/function_bounds.h"
#include "unwind/tables/range_map.h"

namespace causalctl::unwind {

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
  // Shares files with other processes, and begins with these mappings, which may be none. The
  // process may be gone. REQUIRES: update() comes before anything is asked for.
  TargetImages(Pid target, std::shared_ptr<ImageFiles> shared, std::vector<procfs::Map> maps);

  // Reads the maps again. Returns whether anything is different; nothing is if they cannot be read.
  bool load();
  bool load(std::vector<procfs::Map> maps);  // that were read before
  // Takes one executable mapping, in place of what was there, from the next update() on. It may be
  // gone already: so addresses mean what they meant at the time of a record. What was unmapped
  // stays until something else is mapped there.
  void mapped(const procfs::Map& line);
  // The process runs another program. Nothing is mapped, from the next update() on, until records
  // tell.
  void unmap_all();
  bool update();  // returns whether anything is different

  Pid target() const { return target_; }
  const std::vector<procfs::Map>& maps() { return followed_.maps(); }  // those of mapped(), too
  Image* at(Address address);  // null where no file is mapped
  ImageFile& file(Image& image);
  Address bias(Image& image);
  bool is_code(Address address) const { return executable_.find(address) != nullptr; }
  // Returns the bytes from the address on if they are constant, or none.
  std::span<const std::byte> constant_bytes(Address address);
  // Fills all of the bytes from the address on if they are constant, or returns false.
  bool read_constant(Address address, std::span<std::byte> bytes);

 private:
  bool take(std::vector<MappedFile> files);
  bool take_executable();

  Pid target_;
  std::shared_ptr<ImageFiles> shared_;
  FollowedFiles followed_;
  bool is_other_program_ = false;  // than at the last update()
  bool is_old_ = true;             // what is below
  std::vector<Image> images_;      // sorted by address
  RangeMap<NoValue> executable_;   // includes code outside of files
};

}  // namespace causalctl::unwind
