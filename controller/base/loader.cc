#include "controller/base/loader.h"

#include <elf.h>

#include <array>
#include <optional>

namespace causalctl {
namespace {

constexpr std::uint64_t kMostWords = 1U << 18U;
constexpr std::uint64_t kMostEntries = 64;
constexpr std::size_t kPage = 4096;

// Reads word by word. A page is read as a whole, because the next one may not be mapped.
class Words {
 public:
  Words(Address from, const ReadMemory& read) : from_(from), read_(read) {}

  std::optional<std::uint64_t> next() {
    if (used_ == page_.size()) {
      used_ = from_ % kPage / sizeof(std::uint64_t);
      const auto fresh = std::span(page_).subspan(used_);
      if (!read_(from_, std::as_writable_bytes(fresh))) return std::nullopt;
      from_ += fresh.size_bytes();
    }
    return page_[used_++];
  }

  bool skip(std::uint64_t count) {
    for (; count > 0; --count) {
      if (!next()) return false;
    }
    return true;
  }

 private:
  Address from_;
  const ReadMemory& read_;
  std::array<std::uint64_t, kPage / sizeof(std::uint64_t)> page_{};
  std::size_t used_ = page_.size();
};

}  // namespace

bool is_loader(const std::string& executable) {
  const std::string name = executable.substr(executable.rfind('/') + 1);
  return name.starts_with("ld-linux") || name == "ld.so" || name.starts_with("ld-musl") ||
         (name.starts_with("ld-2.") && name.ends_with(".so"));
}

std::uint64_t auxiliary_on_stack(Address stack_begin, std::uint64_t type, const ReadMemory& read) {
  if (stack_begin == 0 || stack_begin % sizeof(std::uint64_t) != 0) return 0;
  Words words(stack_begin, read);
  const auto arguments = words.next();
  if (!arguments || *arguments > kMostWords || !words.skip(*arguments + 1)) return 0;
  auto word = words.next();
  for (std::uint64_t i = 0; word && *word != 0 && i < kMostWords; ++i) word = words.next();
  // A program that removed variables (unsetenv(3)) has left as many more zeros.
  for (std::uint64_t i = 0; word && *word == 0 && i < kMostWords; ++i) word = words.next();
  for (std::uint64_t i = 0; word && *word != AT_NULL && i < kMostEntries; ++i) {
    const auto value = words.next();
    if (!value) return 0;
    if (*word == type) return *value;
    word = words.next();
  }
  return 0;
}

}  // namespace causalctl
