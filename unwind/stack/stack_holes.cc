#include "unwind/stack/stack_holes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "controller/base/procfs.h"
#include "unwind/modules/target_memory.h"
#include "unwind/tables/elf_image.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kRead = 65536;  // the kernel copies less than this of a stack
constexpr std::size_t kMostTops = 4096;
constexpr Address kLargestStack = 64U << 20U;  // of which mend_all() reads no more

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

bool StackHoles::read_to_end(Address start, Address end) {
  buffer_.resize(kRead);
  for (Address at = start; at < end;) {
    const std::size_t size = std::min<std::size_t>(kRead, end - at);
    const std::size_t got = read_target_until_gap(target_, at, std::span(buffer_).first(size));
    if (got == 0) return at != start;
    at += got;
  }
  return start < end;
}

std::size_t StackHoles::mend_all() {
  const auto maps = procfs::maps(target_);
  if (!maps) return 0;
  std::size_t read = 0;
  std::error_code error;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", target_), error)) {
    const auto text = procfs::read_text(task.path() / "syscall");
    const auto sp = text ? parse_stack_pointer(*text) : std::nullopt;
    if (!sp) continue;
    const auto map = std::find_if(maps->begin(), maps->end(), [&](const procfs::Map& each) {
      return each.start <= *sp && *sp < each.end;
    });
    if (map == maps->end() || !map->writable) continue;
    if (read_to_end(*sp, std::min(map->end, *sp + kLargestStack))) ++read;
  }
  return read;
}

std::optional<Address> parse_stack_pointer(std::string_view syscall) {
  // "NUMBER six arguments SP PC", "-1 SP PC" outside of a call, or "running".
  std::vector<std::string_view> words;
  while (!syscall.empty()) {
    const std::size_t size = std::min(syscall.find_first_of(" \n"), syscall.size());
    if (size > 0) words.push_back(syscall.substr(0, size));
    syscall.remove_prefix(std::min(size + 1, syscall.size()));
  }
  if (words.size() != 9 && words.size() != 3) return std::nullopt;
  std::string_view word = words[words.size() - 2];
  if (!word.starts_with("0x")) return std::nullopt;
  word.remove_prefix(2);
  Address sp = 0;
  const auto [rest, failed] = std::from_chars(word.data(), word.data() + word.size(), sp, 16);
  if (failed != std::errc() || rest != word.data() + word.size()) return std::nullopt;
  return sp;
}

}  // namespace causalctl::unwind
