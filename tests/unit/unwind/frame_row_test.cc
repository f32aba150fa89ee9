// Tests rows of entries whose instructions are written by hand, mainly damaged ones; those of real
// files are compared with libdw's in frame_table_test.cc.
#include "unwind/tables/frame_row.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace causalctl::unwind {
namespace {

using Kind = FrameRule::Kind;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> made;
  for (const int value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

constexpr Address kLow = 0x1000;
constexpr Address kHigh = 0x1100;

// As compilers write it: the CFA is RSP + 8, and the return address is below it.
const auto kInitial = bytes({0x0c, 7, 8, 0x90, 1});

std::optional<FrameRow> row(const std::vector<std::byte>& instructions, Address address = kLow,
                            const std::vector<std::byte>& initial = kInitial) {
  FrameEntry entry;
  entry.low = kLow;
  entry.high = kHigh;
  entry.initial = initial;
  entry.instructions = instructions;
  entry.data_alignment = -8;
  entry.return_address = 16;
  return frame_row(entry, address);
}

// A register's number of four bytes, more than 200 million.
const std::initializer_list<int> kHuge = {0xff, 0xff, 0xff, 0x7f};

std::vector<std::byte> with_huge(std::initializer_list<int> before,
                                 std::initializer_list<int> after) {
  std::vector<std::byte> made = bytes(before);
  for (const auto& part : {bytes(kHuge), bytes(after)})
    made.insert(made.end(), part.begin(), part.end());
  return made;
}

}  // namespace

TEST_CASE("a row lasts until the next advance", "[unwind]") {
  const auto push = bytes({0x44, 0x0e, 16, 0x86, 2, 0x48, 0x0d, 6});
  REQUIRE(row(push));
  CHECK(row(push)->low == kLow);
  CHECK(row(push)->high == kLow + 4);
  CHECK(row(push)->rule.cfa_offset == 8);
  CHECK(row(push, kLow + 4)->rule.bp == FrameRule::Bp::saved);
  CHECK(row(push, kLow + 11)->high == kLow + 12);
  CHECK(row(push, kLow + 12)->rule.cfa == FrameRule::Cfa::bp);
  CHECK(row(push, kHigh - 1)->high == kHigh);
  CHECK_FALSE(row(push, kHigh));
  CHECK_FALSE(row(push, kLow - 1));
}

TEST_CASE("what an entry costs does not depend on the registers that it names", "[unwind]") {
  // libdw makes room for all registers up to the number: 2 GB for this one.
  for (const int instruction : {0x05, 0x11, 0x09, 0x14, 0x15, 0x2f}) {
    CAPTURE(instruction);
    CHECK(row(with_huge({instruction}, {1}))->rule.kind == Kind::simple);
  }
  for (const int instruction : {0x06, 0x07, 0x08}) {
    CAPTURE(instruction);
    CHECK(row(with_huge({instruction}, {}))->rule.kind == Kind::simple);
  }
  for (const int instruction : {0x10, 0x16}) {
    CHECK(row(with_huge({instruction}, {2, 0x76, 0}))->rule.kind == Kind::simple);
  }
  CHECK(row(with_huge({0x0d}, {}))->rule.kind == Kind::other);
  const std::vector<std::byte> states(1000, std::byte{0x0a});
  CHECK_FALSE(row(states));
  CHECK(row(std::vector<std::byte>(200, std::byte{0x0a})));
}

TEST_CASE("damaged instructions make no row", "[unwind]") {
  const std::initializer_list<int> cases[] = {
      {0x0e},                          // without its operand
      {0x0e, 0x80},                    // a number that does not end
      {0x0f, 5, 0x77},                 // an expression that is longer than the rest
      {0x0b},                          // no state to restore
      {0x04, 1, 2},                    // an advance that is cut off
      {0x01, 0, 0, 0, 0, 0, 0, 0, 0},  // DW_CFA_set_loc
      {0x1c},                          // unknown
      {0x0f, 1, 0x77, 0x0e, 8},        // the offset of a CFA that is an expression
      {0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}};
  for (const auto& instructions : cases) {
    CAPTURE(*instructions.begin(), instructions.size());
    CHECK_FALSE(row(bytes(instructions)));
  }
  // Behind the row that was asked for, nothing is read.
  CHECK(row(bytes({0x41, 0x1c})));
  CHECK_FALSE(row(bytes({0x41, 0x1c}), kLow + 1));
  // The CIE's instructions are for all addresses.
  CHECK_FALSE(row({}, kLow, bytes({0x0c, 7, 8, 0x41, 0x90, 1})));
}

TEST_CASE("offsets that a rule cannot hold are left to libunwind", "[unwind]") {
  CHECK(row(bytes({0x0e, 0xff, 0xff, 0xff, 0xff, 0x7f}))->rule.kind == Kind::other);
  CHECK(row(bytes({0x86, 0xff, 0xff, 0xff, 0xff, 0x7f}))->rule.kind == Kind::other);
  CHECK(row(bytes({0x90, 2}))->rule.kind == Kind::other);  // a return address elsewhere
  FrameEntry by_another_register;
  by_another_register.low = kLow;
  by_another_register.high = kHigh;
  by_another_register.initial = kInitial;
  by_another_register.data_alignment = -8;
  by_another_register.return_address = 17;
  CHECK(frame_row(by_another_register, kLow)->rule.kind == Kind::other);
  CHECK(row({}, kLow, {})->rule.kind == Kind::other);  // no CFA
}

}  // namespace causalctl::unwind
