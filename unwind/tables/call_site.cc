#include "unwind/tables/call_site.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace causalctl::unwind {
namespace {

constexpr std::size_t kDirectCall = 5;
constexpr std::array<std::uint8_t, 4> kEndBranch = {0xf3, 0x0f, 0x1e, 0xfa};

std::uint8_t byte(std::span<const std::byte> code, std::size_t index) {
  return std::to_integer<std::uint8_t>(code[index]);
}

Address relative32(std::span<const std::byte> displacement, Address next) {
  std::int32_t offset = 0;
  std::memcpy(&offset, displacement.data(), sizeof offset);
  return next + static_cast<Address>(std::int64_t{offset});
}

// Returns the length of the instruction FF /2 at the start of `code`; 0 if it is another one.
std::size_t indirect_call_size(std::span<const std::byte> code) {
  std::size_t at = 0;
  if (code.size() > 2 && (byte(code, 0) & 0xf0U) == 0x40) ++at;  // REX
  if (code.size() < at + 2 || byte(code, at) != 0xff) return 0;
  const unsigned mod_rm = byte(code, at + 1);
  const unsigned mode = mod_rm >> 6U;
  const unsigned memory = mod_rm & 7U;
  if (((mod_rm >> 3U) & 7U) != 2) return 0;
  at += 2;
  if (mode == 3) return at;
  bool no_base = mode == 0 && memory == 5;  // relative to RIP
  if (memory == 4) {
    if (code.size() <= at) return 0;
    no_base = mode == 0 && (byte(code, at) & 7U) == 5;
    ++at;
  }
  if (mode == 1) return at + 1;
  return mode == 2 || no_base ? at + 4 : at;
}

}  // namespace

std::optional<CallSite> call_before(std::span<const std::byte> code, Address return_address) {
  if (code.size() >= kDirectCall && byte(code, code.size() - kDirectCall) == 0xe8) {
    return CallSite{relative32(code.last(kDirectCall - 1), return_address)};
  }
  for (std::size_t size = 2; size <= std::min(kLongestCall, code.size()); ++size) {
    if (indirect_call_size(code.last(size)) == size) return CallSite{};
  }
  return std::nullopt;
}

std::vector<Address> call_targets(std::span<const std::byte> code, Address address) {
  std::vector<Address> targets;
  for (std::size_t at = 0; at + kDirectCall <= code.size(); ++at) {
    if (byte(code, at) != 0xe8) continue;
    const Address target = relative32(code.subspan(at + 1, 4), address + at + kDirectCall);
    if (target >= address && target - address < code.size()) targets.push_back(target);
  }
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

std::optional<Jump> jump_at(std::span<const std::byte> code, Address address) {
  const auto skip = [&](std::size_t count) {
    code = code.subspan(count);
    address += count;
  };
  const auto is_end_branch = [&] {
    return std::equal(
        kEndBranch.begin(), kEndBranch.end(), code.begin(),
        [](std::uint8_t wanted, std::byte each) { return std::byte{wanted} == each; });
  };
  if (code.size() >= kEndBranch.size() && is_end_branch()) skip(kEndBranch.size());
  if (code.size() > 1 && byte(code, 0) == 0xf2) skip(1);  // BND
  if (code.size() >= 6 && byte(code, 0) == 0xff && byte(code, 1) == 0x25) {
    return Jump{relative32(code.subspan(2, 4), address + 6), true};
  }
  if (code.size() >= 5 && byte(code, 0) == 0xe9) {
    return Jump{relative32(code.subspan(1, 4), address + 5), false};
  }
  if (code.size() >= 2 && byte(code, 0) == 0xeb) {
    const auto offset = static_cast<std::int8_t>(byte(code, 1));
    return Jump{address + 2 + static_cast<Address>(std::int64_t{offset}), false};
  }
  return std::nullopt;
}

bool jumps_into(std::span<const std::byte> code, Address address, Address low, Address high) {
  for (std::size_t at = 0; at + kDirectCall <= code.size(); ++at) {
    if (byte(code, at) != 0xe9) continue;
    const Address target = relative32(code.subspan(at + 1, 4), address + at + kDirectCall);
    if (target >= low && target <= high) return true;
  }
  return false;
}

}  // namespace causalctl::unwind
