#include "controller/causal/engine/spinning.h"

#include <algorithm>
#include <array>
#include <utility>

namespace causalctl::causal {
namespace {

constexpr std::size_t kReach = 32;     // bytes before and after: a waiting loop is short
constexpr std::uint64_t kEnough = 50;  // samples, to say anything
constexpr std::array<std::byte, 2> kPause = {std::byte{0xf3}, std::byte{0x90}};

bool near_pause(Address address, const Spinning::Read& read) {
  std::array<std::byte, 2 * kReach> code{};
  if (address < kReach || !read || !read(address - kReach, code)) return false;
  return std::search(code.begin(), code.end(), kPause.begin(), kPause.end()) != code.end();
}

}  // namespace

bool Spinning::near(Address address, const Read& read) {
  const auto [at, first] = near_.try_emplace(address, false);
  if (first) at->second = near_pause(address, read);
  return at->second;
}

double Spinning::share(const Read& read) {
  surveyed_ = true;
  std::uint64_t all = 0;
  std::uint64_t spinning = 0;
  for (const auto& [address, count] : std::exchange(counts_, {})) {
    all += count;
    if (near(address, read)) spinning += count;
  }
  return all < kEnough ? 0 : static_cast<double>(spinning) / static_cast<double>(all);
}

}  // namespace causalctl::causal
