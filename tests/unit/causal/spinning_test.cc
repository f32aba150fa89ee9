#include "controller/causal/engine/spinning.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace causalctl::causal {
namespace {

constexpr Address kCode = 0x1000;

// `bytes` of NOP, with PAUSE at `pause`.
Spinning::Read memory_with_pause(std::size_t bytes, std::size_t pause) {
  std::vector<std::byte> code(bytes, std::byte{0x90});
  code[pause] = std::byte{0xf3};
  return [code](Address address, std::span<std::byte> out) {
    if (address < kCode || address + out.size() > kCode + code.size()) return false;
    std::copy_n(code.begin() + static_cast<std::ptrdiff_t>(address - kCode), out.size(),
                out.begin());
    return true;
  };
}

}  // namespace

TEST_CASE("samples near PAUSE are time spent spinning", "[causal][spinning]") {
  const auto read = memory_with_pause(1024, 500);
  Spinning spinning;
  for (int i = 0; i < 10; ++i) {
    for (const Address offset : {490, 505, 530}) spinning.sampled(kCode + offset);
    for (const Address offset : {440, 560, 100}) spinning.sampled(kCode + offset);
  }
  CHECK(spinning.share(read) == Approx(0.5));
  CHECK(spinning.share(read) == 0);  // the samples are forgotten
}

TEST_CASE("an address near PAUSE is looked up once", "[causal][spinning]") {
  int reads = 0;
  const auto memory = memory_with_pause(1024, 500);
  const Spinning::Read read = [&](Address address, std::span<std::byte> out) {
    ++reads;
    return memory(address, out);
  };
  Spinning spinning;
  for (int i = 0; i < 3; ++i) {
    CHECK(spinning.near(kCode + 505, read));
    CHECK_FALSE(spinning.near(kCode + 600, read));
  }
  CHECK(reads == 2);
}

TEST_CASE("what cannot be read does not spin", "[causal][spinning]") {
  const auto read = memory_with_pause(64, 2);
  Spinning spinning;
  for (int i = 0; i < 50; ++i) {
    spinning.sampled(0);
    spinning.sampled(kCode + 8);  // there is no PAUSE in the 32 bytes before it
  }
  CHECK(spinning.share(read) == 0);
}

TEST_CASE("a handful of samples says nothing", "[causal][spinning]") {
  const auto read = memory_with_pause(1024, 500);
  Spinning spinning;
  spinning.sampled(kCode + 500);
  CHECK(spinning.share(read) == 0);
}

}  // namespace causalctl::causal
