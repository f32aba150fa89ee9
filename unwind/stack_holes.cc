#include "unwind/stack_holes.h"

#include "unwind/elf_image.h"
#include "unwind/target_memory.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kRead = 65536;  // the kernel copies less than this of a stack
constexpr std::size_t kMostTops = 4096;

}  // namespace

bool StackHoles::mend(Address sp, std::span<const std::byte> stack) {
  const Address end = sp + stack.size();
  if (stack.empty() || end % kPageBytes != 0 || tops_.contains(end)) return false;
  buffer_.resize(kRead);
  if (read_target_until_gap(target_, end, buffer_) > 0) return true;
  if (tops_.size() == kMostTops) tops_.clear();
  tops_.insert(end);
  return false;
}

}  // namespace causalctl::unwind
