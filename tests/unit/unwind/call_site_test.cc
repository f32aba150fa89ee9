#include "unwind/tables/call_site.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "disasm/decoder.h"

namespace causalctl::unwind {
namespace {

using Code = std::vector<std::uint8_t>;

std::optional<CallSite> call_in(const Code& code) {
  return call_before(std::as_bytes(std::span(code)), 0x1000);
}

std::optional<Jump> jump_in(const Code& code) {
  return jump_at(std::as_bytes(std::span(code)), 0x1000);
}

}  // namespace

TEST_CASE("Calls of all lengths are found before a return address", "[unwind]") {
  CHECK(call_in({0xff, 0xd0}));                                       // call *%rax
  CHECK(call_in({0x41, 0xff, 0xd4}));                                 // call *%r12
  CHECK(call_in({0xff, 0x50, 0x18}));                                 // call *0x18(%rax)
  CHECK(call_in({0xff, 0x14, 0xc5, 1, 0, 0, 0}));                     // call *1(,%rax,8)
  CHECK(call_in({0xff, 0x15, 1, 2, 0, 0}));                           // call *x(%rip)
  CHECK(call_in({0x41, 0xff, 0x94, 0xc4, 1, 2, 0, 0}));               // call *x(%r12,%rax,8)
  const auto direct = call_in({0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff});  // call to itself
  REQUIRE(direct);
  CHECK(direct->target == 0x1000 - 5);
}

TEST_CASE("What is no call is not taken for one", "[unwind]") {
  CHECK_FALSE(call_in({}));
  CHECK_FALSE(call_in({0xff}));
  CHECK_FALSE(call_in({0xff, 0xe0}));              // jmp *%rax
  CHECK_FALSE(call_in({0xff, 0x30}));              // push (%rax)
  CHECK_FALSE(call_in({0x0f, 0x1f, 0x44, 0, 0}));  // nop
  CHECK_FALSE(call_in({0xe8, 0, 0, 0}));           // cut off
  CHECK_FALSE(call_in({0xe9, 0, 0, 0, 0}));        // jmp
}

TEST_CASE("Calls are those that capstone decodes", "[unwind]") {
  std::mt19937 random(1);
  disasm::Decoder decoder;
  int calls = 0;
  for (int i = 0; i < 200'000; ++i) {
    Code code(1 + random() % kLongestCall);
    for (auto& each : code) each = static_cast<std::uint8_t>(random());
    code[0] = 0xff;
    if (code.size() > 3 && random() % 2 == 0) {
      code[0] = static_cast<std::uint8_t>(0x40 + random() % 16);
      code[1] = 0xff;
    }
    const auto bytes = std::as_bytes(std::span(code));
    const auto decoded = decoder.decode(bytes, 0x1000);
    if (!decoded || decoded->size != code.size() || decoded->mnemonic != "call") continue;
    ++calls;
    CHECK(call_in(code));
  }
  CHECK(calls > 1000);
}

TEST_CASE("Jumps of linkage tables and thunks lead on", "[unwind]") {
  const auto plain = jump_in({0xff, 0x25, 0x10, 0, 0, 0});
  REQUIRE(plain);
  CHECK(plain->indirect);
  CHECK(plain->address == 0x1016);
  const auto guarded = jump_in({0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0});
  REQUIRE(guarded);
  CHECK(guarded->address == 0x101b);
  const auto direct = jump_in({0xe9, 0, 1, 0, 0});
  REQUIRE(direct);
  CHECK_FALSE(direct->indirect);
  CHECK(direct->address == 0x1105);
  const auto near = jump_in({0xeb, 0xfe});
  REQUIRE(near);
  CHECK(near->address == 0x1000);
  CHECK_FALSE(jump_in({}));
  CHECK_FALSE(jump_in({0xf3, 0x0f, 0x1e, 0xfa}));
  CHECK_FALSE(jump_in({0xff, 0x25, 0}));
  CHECK_FALSE(jump_in({0xc3, 0, 0, 0, 0, 0}));
}

TEST_CASE("Functions begin where calls lead", "[unwind]") {
  Code code(64, 0x90);
  const auto put = [&](std::size_t at, std::uint8_t opcode, std::uint8_t distance) {
    code.at(at) = opcode;
    std::fill_n(code.begin() + static_cast<std::ptrdiff_t>(at) + 1, 4, std::uint8_t{0});
    code.at(at + 1) = distance;
  };
  put(0, 0xe8, 27);   // to 32
  put(10, 0xe8, 17);  // to 32
  put(20, 0xe8, 5);   // to 30
  put(40, 0xe8, 200);
  put(50, 0xe9, 3);  // to 58
  const auto bytes = std::as_bytes(std::span(code));
  CHECK(call_targets(bytes, 0x1000) == std::vector<Address>{0x101e, 0x1020});
  CHECK(call_targets({}, 0x1000).empty());
  CHECK(jumps_into(bytes, 0x1000, 0x103a, 0x103a));
  CHECK_FALSE(jumps_into(bytes, 0x1000, 0x1000, 0x1039));
}

}  // namespace causalctl::unwind
