#include "disasm/jump_table.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <vector>

#include "disasm/decoder.h"

namespace causalctl::disasm {
namespace {

constexpr Address kFunction = 0x1000;
constexpr Address kCold = 0x8000;  // code of another function
using Kind = ComputedJump::Kind;
using Targets = std::vector<Address>;

// A function, and the constants beside it.
class Function {
 public:
  explicit Function(std::initializer_list<unsigned> bytes) {
    for (const unsigned byte : bytes) bytes_.push_back(static_cast<std::byte>(byte));
  }
  // Makes the instruction that ends at `end` mean the constant at `address`, relative to it.
  Function& link(std::size_t end, Address address) {
    const auto distance = static_cast<std::int32_t>(address - (kFunction + end));
    std::memcpy(bytes_.data() + end - sizeof distance, &distance, sizeof distance);
    return *this;
  }
  Function& differences(Address table, const Targets& targets, Address base) {
    for (const Address target : targets) {
      numbers_[table] = static_cast<std::int32_t>(target - base);
      table += sizeof(std::int32_t);
    }
    return *this;
  }
  Function& differences(Address table, const Targets& targets) {
    return differences(table, targets, table);
  }
  Function& pointers(Address table, const Targets& targets) {
    for (const Address target : targets) {
      pointers_[table] = target;
      table += sizeof(Address);
    }
    return *this;
  }

  // By the place of the jump.
  std::map<Address, ComputedJump> jumps() const {
    const auto code = Decoder().decode_all(bytes_, kFunction);
    const Constants constants{[this](Address at) { return word(numbers_, at); },
                              [this](Address at) { return word(pointers_, at); },
                              [](Address at) { return at >= kCold && at < kCold + 0x100; }};
    std::map<Address, ComputedJump> found;
    for (const auto& [index, jump] : JumpTables(code, constants).read_all()) {
      found[code[index].address - kFunction] = jump;
    }
    return found;
  }

 private:
  template <typename Word>
  static std::optional<Word> word(const std::map<Address, Word>& words, Address at) {
    const auto found = words.find(at);
    return found == words.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<std::byte> bytes_;
  std::map<Address, std::int32_t> numbers_;
  std::map<Address, Address> pointers_;
};

Targets at(std::initializer_list<Address> places) {
  Targets targets;
  for (const Address place : places) targets.push_back(kFunction + place);
  return targets;
}

//  0: cmp edi, 3; 3: ja 0x1d; 5: lea rdx, [rip + TABLE]; 0xc: movsxd rax, [rdx + rdi*4];
//  0x10: add rax, rdx; 0x13: notrack jmp rax; 0x16: nop; 0x17: inc eax; 0x19: ret; 0x1a: dec eax;
//  0x1c: ret; 0x1d: ret
Function choice() {
  return Function({0x83, 0xff, 0x03, 0x77, 0x18, 0x48, 0x8d, 0x15, 0,    0,
                   0,    0,    0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0, 0x3e,
                   0xff, 0xe0, 0x90, 0xff, 0xc0, 0xc3, 0xff, 0xc8, 0xc3, 0xc3});
}

}  // namespace

TEST_CASE("a table of differences has as many places as the index is compared with", "[disasm]") {
  auto function = choice();
  // The fifth would be one of the function, too.
  function.link(0xc, 0x2000).differences(0x2000, at({0x17, 0x1a, 0x17, 0x1d, 0x19}));
  const auto jump = function.jumps().at(0x13);
  CHECK(jump.kind == Kind::table);
  CHECK(jump.targets == at({0x17, 0x1a, 0x1d}));
}

TEST_CASE("places of a table may lie in a part of the function elsewhere", "[disasm]") {
  auto function = choice();
  function.link(0xc, 0x2000)
      .differences(0x2000, {kFunction + 0x17, kCold, kCold, kFunction + 0x1a});
  CHECK(function.jumps().at(0x13).targets == Targets{kFunction + 0x17, kFunction + 0x1a, kCold});
}

TEST_CASE("words that lead to no instruction are no table", "[disasm]") {
  auto middle = choice();
  middle.link(0xc, 0x2000).differences(0x2000, at({0x17, 0x18, 0x17, 0x1a}));
  CHECK(middle.jumps().at(0x13).kind == Kind::unknown);
  auto data = choice();
  data.link(0xc, 0x2000).differences(0x2000, {kFunction + 0x17, 0x2000, 0x2000, 0x2000});
  CHECK(data.jumps().at(0x13).kind == Kind::unknown);
  auto nothing = choice();
  nothing.link(0xc, 0x2000);
  CHECK(nothing.jumps().at(0x13).kind == Kind::unknown);
}

TEST_CASE("a table of pointers without a bound ends with the last pointer to code", "[disasm]") {
  //  0: push r13; 2: lea r13, [rip + TABLE]; 9: movzx eax, [rdi]; 0xc: jmp [r13 + rax*8];
  //  0x11: inc rdi; 0x14: jmp 9; 0x16: pop r13; 0x18: ret
  Function function({0x41, 0x55, 0x4c, 0x8d, 0x2d, 0,    0,    0,    0,    0x0f, 0xb6, 0x07, 0x41,
                     0xff, 0x64, 0xc5, 0x00, 0x48, 0xff, 0xc7, 0xeb, 0xf3, 0x41, 0x5d, 0xc3});
  // The part of the function that lies elsewhere may have a place in the middle.
  function.link(9, 0x2000).pointers(
      0x2000, {kFunction + 0x11, kCold, kFunction + 0x16, 0x2000, kFunction + 0x14});
  const auto jump = function.jumps().at(0xc);
  CHECK(jump.kind == Kind::table);
  CHECK(jump.targets == Targets{kFunction + 0x11, kFunction + 0x16, kCold});
}

TEST_CASE("a table is found behind another one, and by a mask of its index", "[disasm]") {
  //  0: push rbx; 1: lea rbx, [rip + TABLE]; 8: cmp dil, 1; 0xc: ja 0x29; 0xe: movzx ecx, dil;
  //  0x12: movsxd rcx, [rbx + rcx*4]; 0x16: add rcx, rbx; 0x19: jmp rcx; 0x1b: and esi, 3;
  //  0x1e: movsxd rsi, [rbx + rsi*4 + 16]; 0x23: add rsi, rbx; 0x26: jmp rsi; 0x28: nop;
  //  0x29: pop rbx; 0x2a: ret
  Function function({0x53, 0x48, 0x8d, 0x1d, 0,    0,    0,    0,    0x40, 0x80, 0xff,
                     0x01, 0x77, 0x1b, 0x40, 0x0f, 0xb6, 0xcf, 0x48, 0x63, 0x0c, 0x8b,
                     0x48, 0x01, 0xd9, 0xff, 0xe1, 0x83, 0xe6, 0x03, 0x48, 0x63, 0x74,
                     0xb3, 0x10, 0x48, 0x01, 0xde, 0xff, 0xe6, 0x90, 0x5b, 0xc3});
  function.link(8, 0x2000).differences(0x2000, at({0x1b, 0x29}));
  function.differences(0x2010, at({0x28, 0x29, 0x2a, 0x28, 0x1b}), 0x2000);
  const auto jumps = function.jumps();
  CHECK(jumps.at(0x19).targets == at({0x1b, 0x29}));
  CHECK(jumps.at(0x26).targets == at({0x28, 0x29, 0x2a}));

  // A mask may leave more than the table has.
  function.differences(0x2018, {0x2000}, 0x2000);
  CHECK(function.jumps().at(0x26).targets == at({0x28, 0x29}));
}

TEST_CASE("jumps through pointers to functions are calls at the end", "[disasm]") {
  //  0: mov rax, [rdi + 0x18]; 4: jmp rax; 6: jmp [rip + 0x100]; 0xc: jmp [rsi + rdx*8]
  const Function function(
      {0x48, 0x8b, 0x47, 0x18, 0xff, 0xe0, 0xff, 0x25, 0, 1, 0, 0, 0xff, 0x24, 0xd6});
  const auto jumps = function.jumps();
  CHECK(jumps.at(4).kind == Kind::tail_call);
  CHECK(jumps.at(6).kind == Kind::tail_call);
  CHECK(jumps.at(0xc).kind == Kind::unknown);  // an array that the caller has
}

TEST_CASE("what a function with very many computed jumps costs is bounded", "[disasm]") {
  // je over the next; jmp rax. All jumps before it lead to each.
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < 5'000; ++i) {
    for (const unsigned byte : {0x74, 0x02, 0xff, 0xe0}) {
      bytes.push_back(static_cast<std::byte>(byte));
    }
  }
  const auto code = Decoder().decode_all(bytes, kFunction);
  const Constants constants{[](Address) { return std::nullopt; },
                            [](Address) { return std::nullopt; }, [](Address) { return false; }};
  const auto all = JumpTables(code, constants).read_all();
  REQUIRE(all.size() == 5'000);
  CHECK(all.begin()->second.kind == Kind::tail_call);
  CHECK(all.rbegin()->second.kind == Kind::unknown);
}

TEST_CASE("a constant table of functions is no table of places", "[disasm]") {
  //  0: lea rax, [rip + TABLE]; 7: jmp [rax + rdi*8]
  Function function({0x48, 0x8d, 0x05, 0, 0, 0, 0, 0xff, 0x24, 0xf8});
  function.link(7, 0x2000).pointers(0x2000, {kCold, kCold + 0x10});
  CHECK(function.jumps().at(7).kind == Kind::tail_call);
  CHECK(function.jumps().at(7).targets.empty());
}

}  // namespace causalctl::disasm
