#include "unwind/modules/image_file.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "unwind/modules/load_segments.h"
#include "unwind/tables/call_site.h"

namespace causalctl::unwind {

ImageFile::ImageFile(Mapping mapping)
    : mapping_(std::move(mapping)), elf_(std::span(mapping_.data(), mapping_.size())) {}

ImageFile::ImageFile(std::vector<std::byte> copy) : copy_(std::move(copy)), elf_(copy_) {}

const std::vector<LoadSegment>& ImageFile::segments() {
  if (!segments_) segments_ = load_segments(elf_.file());
  return *segments_;
}

FrameTable& ImageFile::frames() {
  if (!frames_) frames_.emplace(elf_);
  return *frames_;
}

const GoTable& ImageFile::go() {
  if (!go_) go_ = GoTable(elf_);
  return *go_;
}

Address ImageFile::last_call_target(Address address) {
  if (!call_targets_) {
    call_targets_.emplace();
    for (const ImageBytes& code : elf_.code_segments()) {
      const auto found = call_targets(code.bytes, code.address);
      call_targets_->insert(call_targets_->end(), found.begin(), found.end());
    }
  }
  const auto after = std::upper_bound(call_targets_->begin(), call_targets_->end(), address);
  return after == call_targets_->begin() ? 0 : *std::prev(after);
}

}  // namespace causalctl::unwind
