// The contents of one file with code: its bytes, its tables, and where its functions begin.
//
// Nothing of it depends on where the file is mapped, so that all processes share it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "unwind/modules/mapped_file.h"
#include "unwind/tables/elf_image.h"
#include "unwind/tables/frame_table.h"
#include "unwind/tables/go_table.h"

namespace causalctl::unwind {

// Each part is read when it is first asked for. All addresses are those of link time.
class ImageFile {
 public:
  ImageFile() = default;  // of a file that cannot be read
  explicit ImageFile(Mapping mapping);
  explicit ImageFile(std::vector<std::byte> copy);
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;

  const ElfImage& elf() const { return elf_; }
  const std::vector<LoadSegment>& segments();
  FrameTable& frames();
  const GoTable& go();
  // Returns the last place at or before the address to which a call in this file leads, or 0.
  Address last_call_target(Address address);

 private:
  Mapping mapping_;
  std::vector<std::byte> copy_;
  ElfImage elf_;
  std::optional<std::vector<LoadSegment>> segments_;
  std::optional<FrameTable> frames_;
  std::optional<GoTable> go_;
  std::optional<std::vector<Address>> call_targets_;  // sorted
};

}  // namespace causalctl::unwind
