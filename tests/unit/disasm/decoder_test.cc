#include "disasm/decoder.h"

#include <array>
#include <catch2/catch.hpp>
#include <random>

namespace causalctl::disasm {
namespace {

// push %rbp · mov %rsp,%rbp · movabs $…,%rax · lock cmpxchg %rcx,(%rdi) · ret · not an instruction
constexpr std::array<unsigned char, 22> kCode = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0xc3, 0x90,
                                                 0x55, 0xc3, 0x01, 0x02, 0x03, 0x04, 0xf0, 0x48,
                                                 0x0f, 0xb1, 0x0f, 0xc3, 0x06, 0x06};
constexpr Address kStart = 0x401000;

std::span<const std::byte> code() { return std::as_bytes(std::span(kCode)); }

}  // namespace

TEST_CASE("Instructions have their size and text", "[disasm]") {
  Decoder decoder;
  const auto push = decoder.decode(code(), kStart);
  REQUIRE(push);
  CHECK(push->address == kStart);
  CHECK(push->size == 1);
  CHECK(push->mnemonic == "push");
  CHECK(push->text == "rbp");
  const auto load = decoder.decode(code().subspan(4), kStart + 4);
  REQUIRE(load);
  CHECK(load->mnemonic == "movabs");
  CHECK(load->size == 10);
  const auto exchange = decoder.decode(code().subspan(14), kStart + 14);
  REQUIRE(exchange);
  CHECK(exchange->mnemonic == "lock cmpxchg");
}

TEST_CASE("What is no instruction, or cut off, is not decoded", "[disasm]") {
  Decoder decoder;
  CHECK_FALSE(decoder.decode(code().subspan(20), kStart));    // push es: not in 64-bit mode
  CHECK_FALSE(decoder.decode(code().subspan(4, 9), kStart));  // one byte short
  CHECK_FALSE(decoder.decode({}, kStart));
}

TEST_CASE("Boundaries are the instructions' first bytes only", "[disasm]") {
  Decoder decoder;
  const std::array<unsigned, 5> starts = {0, 1, 4, 14, 19};
  for (unsigned offset = 0; offset < kCode.size(); ++offset) {
    INFO("offset " << offset);
    const bool expected = std::find(starts.begin(), starts.end(), offset) != starts.end();
    CHECK(decoder.is_boundary(code(), kStart, kStart + offset) == expected);
  }
  CHECK_FALSE(decoder.is_boundary(code(), kStart, kStart - 1));
  CHECK_FALSE(decoder.is_boundary(code(), kStart, kStart + 100));
  CHECK_FALSE(decoder.is_boundary(code().first(14), kStart, kStart + 14));  // the bytes end there
  CHECK_FALSE(decoder.is_boundary({}, kStart, kStart));
}

TEST_CASE("Random bytes decode or not, within their bounds", "[disasm]") {
  Decoder decoder;
  std::minstd_rand random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::array<std::byte, 16> bytes;
    for (std::byte& each : bytes) each = static_cast<std::byte>(random());
    const auto size = random() % bytes.size();
    const auto found = decoder.decode(std::span(bytes).first(size), kStart);
    if (found) REQUIRE((found->size >= 1 && found->size <= size));
  }
}

}  // namespace causalctl::disasm
