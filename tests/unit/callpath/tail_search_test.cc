#include "controller/callpath/places/tail_search.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "controller/callpath/places/jumps.h"
#include "unwind/tables/call_site.h"

namespace causalctl::callpath {
namespace {

// A program in which each function has 256 bytes. Function number n begins at kBase + n * 256.
constexpr Address kBase = 0x10000;
constexpr std::size_t kSize = 256;
constexpr std::size_t kFunctions = 16;

class TailProgram {
 public:
  TailProgram() : code_(kFunctions * kSize, std::byte{0x90}) {}

  static Address begin(std::size_t function) { return kBase + function * kSize; }
  // Each puts an instruction behind those that the function has, and returns its address.
  Address call(std::size_t from, std::size_t to) { return put(from, {0xe8}, begin(to)); }
  Address jump(std::size_t from, std::size_t to) { return put(from, {0xe9}, begin(to)); }
  Address branch(std::size_t from, Address to) { return put(from, {0x0f, 0x84}, to); }
  Address jump_to(std::size_t from, Address to) { return put(from, {0xe9}, to); }
  void pointer_jump(std::size_t from) { bytes(from, {0xff, 0xe0}); }  // jmp *%rax
  void number(std::size_t from) { bytes(from, {0x48, 0xb8, 0xe9, 0, 0xf, 0, 0, 0xe9, 0, 0}); }

  std::map<std::size_t, std::string> names;
  std::vector<std::size_t> begins_with_frame;
  std::map<Address, Address> linkage;

  TailSearch search() {
    return TailSearch({[this](Address address) { return function_at(address); },
                       [this](Address address) {
                         const bool inside = address - kBase < code_.size();
                         return std::span<const std::byte>(code_).subspan(inside ? address - kBase
                                                                                 : code_.size());
                       },
                       [this](Address address) {
                         const auto entry = linkage.find(address);
                         return entry == linkage.end() ? address : entry->second;
                       },
                       [this](Address address) { return names[(address - kBase) / kSize]; }});
  }
  // The answer for a call from function 0 to `to` that is found above `callee`.
  std::optional<TailCall> ask(std::size_t to, std::size_t callee) {
    return search().find(call(0, to) + 5, begin(callee) + 7);
  }

 private:
  std::optional<CodeFunction> function_at(Address address) const {
    if (address - kBase >= code_.size()) return std::nullopt;
    const std::size_t number = (address - kBase) / kSize;
    const bool framed = std::count(begins_with_frame.begin(), begins_with_frame.end(), number) > 0;
    return CodeFunction{begin(number), begin(number) + kSize, !framed};
  }
  void bytes(std::size_t function, const std::vector<std::uint8_t>& all) {
    for (const std::uint8_t each : all) {
      code_[function * kSize + used_[function]++] = std::byte{each};
    }
  }
  Address put(std::size_t from, const std::vector<std::uint8_t>& opcode, Address to) {
    const Address at = begin(from) + used_[from];
    bytes(from, opcode);
    const auto offset = static_cast<std::int32_t>(to - (at + opcode.size() + 4));
    std::memcpy(&code_[from * kSize + used_[from]], &offset, sizeof offset);
    used_[from] += 4;
    return at;
  }

  std::vector<std::byte> code_;
  std::map<std::size_t, std::size_t> used_{{0, unwind::kLongestCall}};  // room before a call
};

TailCall found(std::vector<Address> jumps) { return {TailKind::found, std::move(jumps)}; }

}  // namespace

TEST_CASE("a call that leads to the callee misses nothing", "[callpath][tail]") {
  TailProgram program;
  CHECK(program.ask(1, 1) == std::nullopt);
}

TEST_CASE("one jump, and a chain of two, are found", "[callpath][tail]") {
  TailProgram program;
  const Address first = program.jump(1, 2);
  CHECK(program.ask(1, 2) == found({first}));
  const Address second = program.jump(2, 3);
  CHECK(program.ask(1, 3) == found({first, second}));
}

TEST_CASE("several places that jump to one function give its beginning", "[callpath][tail]") {
  TailProgram program;
  program.jump(1, 2);
  program.jump(1, 2);
  CHECK(program.ask(1, 2) == found({TailProgram::begin(1)}));
}

TEST_CASE("two ways to the callee are ambiguous", "[callpath][tail]") {
  TailProgram program;
  program.jump(1, 2);
  program.jump(1, 3);
  program.jump(2, 4);
  program.jump(3, 4);
  CHECK(program.ask(1, 4) == TailCall{TailKind::ambiguous, {}});
  CHECK(program.ask(1, 3)->kind == TailKind::found);
  // A shorter and a longer way are two as well.
  program.jump(2, 3);
  CHECK(program.ask(1, 3)->kind == TailKind::ambiguous);
}

TEST_CASE("a jump by a pointer ends the chain", "[callpath][tail]") {
  TailProgram program;
  program.jump(1, 2);
  program.pointer_jump(2);
  CHECK(program.ask(1, 3) == TailCall{TailKind::unexplained, {}});
}

TEST_CASE("functions that jump in a circle occur once", "[callpath][tail]") {
  TailProgram program;
  const Address out = program.jump(1, 2);
  program.jump(2, 1);
  program.jump(2, 2);
  const Address on = program.jump(2, 3);
  CHECK(program.ask(1, 2) == found({out}));
  CHECK(program.ask(1, 3) == found({out, on}));
}

TEST_CASE("parts of a function are no functions", "[callpath][tail]") {
  TailProgram program;
  SECTION("by their frame") {
    program.begins_with_frame = {2};
    program.jump(1, 2);
  }
  SECTION("by a condition, without names") { program.branch(1, TailProgram::begin(2)); }
  SECTION("by a condition and the name") {
    program.names = {{1, "f"}, {2, "f"}};
    program.branch(1, TailProgram::begin(2));
  }
  SECTION("by a jump into their middle") { program.jump_to(1, TailProgram::begin(2) + 9); }
  CHECK(program.ask(1, 2) == std::nullopt);
  // What the part jumps to is called by the function.
  const Address jump = program.jump(2, 3);
  CHECK(program.ask(1, 3) == found({jump}));
}

TEST_CASE("a conditional jump to another function is a tail call", "[callpath][tail]") {
  TailProgram program;
  program.names = {{1, "f"}, {2, "g"}};
  const Address jump = program.branch(1, TailProgram::begin(2));
  CHECK(program.ask(1, 2) == found({jump}));
}

TEST_CASE("functions of one name and thunks are left out", "[callpath][tail]") {
  TailProgram program;
  program.names = {{1, "f"}, {2, "f"}, {3, "non-virtual thunk to g()"}, {4, "g()"}, {5, "h()"}};
  program.jump(1, 2);
  CHECK(program.ask(1, 2) == std::nullopt);
  const Address last = program.jump(2, 5);
  CHECK(program.ask(1, 5) == found({last}));
  program.jump(3, 4);
  CHECK(program.ask(3, 4) == std::nullopt);
}

TEST_CASE("entries of the linkage table are where they lead", "[callpath][tail]") {
  TailProgram program;
  program.linkage = {{TailProgram::begin(9), TailProgram::begin(2)}, {TailProgram::begin(10), 0}};
  CHECK(program.ask(9, 2) == std::nullopt);   // a call through it
  CHECK(program.ask(10, 2) == std::nullopt);  // it is not known where it leads
  const Address jump = program.jump(1, 9);
  CHECK(program.ask(1, 2) == found({jump}));
}

TEST_CASE("too many functions to follow are ambiguous", "[callpath][tail]") {
  TailProgram program;
  for (std::size_t from = 1; from + 1 < kFunctions; ++from) {
    for (std::size_t to = 1; to < kFunctions; ++to) {
      if (to != from) program.jump(from, to);
    }
  }
  CHECK(program.ask(1, 15)->kind == TailKind::ambiguous);
}

TEST_CASE("jumps are found where instructions begin", "[callpath][tail]") {
  TailProgram program;
  program.number(1);  // has E9 in its operand
  CHECK(program.ask(1, 2)->kind == TailKind::unexplained);
  const std::byte code[] = {std::byte{0xf2}, std::byte{0xe9}, std::byte{0x10}, std::byte{0},
                            std::byte{0},    std::byte{0},    std::byte{0x74}, std::byte{0xf0},
                            std::byte{0xeb}, std::byte{0xfe}, std::byte{0xe3}, std::byte{0x7f}};
  disasm::Decoder decoder;
  CHECK(jumps_out(code, 0x1000, decoder) == std::vector<OutwardJump>{{0x1000, 0x1016, false},
                                                                     {0x1006, 0xff8, true},
                                                                     {0x100a, 0x108b, true}});
}

}  // namespace causalctl::callpath
