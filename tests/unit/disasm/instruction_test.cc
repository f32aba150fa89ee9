#include "disasm/instruction.h"

#include <catch2/catch.hpp>
#include <vector>

#include "disasm/decoder.h"

namespace causalctl::disasm {
namespace {

constexpr Address kAt = 0x1000;

Instruction decoded(std::initializer_list<unsigned> bytes) {
  std::vector<std::byte> code;
  for (const unsigned byte : bytes) code.push_back(static_cast<std::byte>(byte));
  const auto found = Decoder().decode(code, kAt);
  REQUIRE(found);
  REQUIRE(found->size == bytes.size());
  return *found;
}

}  // namespace

TEST_CASE("instructions say where control goes", "[disasm]") {
  const auto flow = [](std::initializer_list<unsigned> bytes) { return decoded(bytes).flow; };
  CHECK(flow({0x90}) == Flow::next);
  CHECK(flow({0x0f, 0x05}) == Flow::next);  // syscall
  CHECK(flow({0x74, 0x02}) == Flow::branch);
  CHECK(flow({0x0f, 0x85, 0, 1, 0, 0}) == Flow::branch);
  CHECK(flow({0xe2, 0xfe}) == Flow::branch);  // loop
  CHECK(flow({0xe3, 0x02}) == Flow::branch);  // jrcxz
  CHECK(flow({0xeb, 0x02}) == Flow::jump);
  CHECK(flow({0x3e, 0xff, 0xe0}) == Flow::jump);              // notrack jmp rax
  CHECK(flow({0xf2, 0xff, 0x25, 0, 1, 0, 0}) == Flow::jump);  // bnd jmp [rip + 0x100]
  CHECK(flow({0xe8, 0, 1, 0, 0}) == Flow::call);
  CHECK(flow({0xff, 0xd0}) == Flow::call);
  CHECK(flow({0xc3}) == Flow::end);
  CHECK(flow({0xf3, 0xc3}) == Flow::end);  // rep ret
  CHECK(flow({0xcc}) == Flow::end);
  CHECK(flow({0x0f, 0x0b}) == Flow::end);  // ud2

  CHECK(decoded({0xeb, 0x02}).target == kAt + 4);
  CHECK(decoded({0x0f, 0x85, 0, 1, 0, 0}).target == kAt + 6 + 0x100);
  CHECK(decoded({0xe8, 0xfb, 0xff, 0xff, 0xff}).target == kAt);
  CHECK_FALSE(decoded({0xff, 0xe0}).target);
  CHECK_FALSE(decoded({0x05, 1, 0, 0, 0}).target);  // add eax, 1
  CHECK(slot(decoded({0xf2, 0xff, 0x25, 0, 1, 0, 0})) == kAt + 7 + 0x100);
  CHECK(slot(decoded({0xff, 0x15, 0xf0, 0xff, 0xff, 0xff})) == kAt + 6 - 0x10);
  CHECK_FALSE(slot(decoded({0xff, 0x20})));                    // jmp [rax]
  CHECK_FALSE(slot(decoded({0x48, 0x8b, 0x05, 0, 1, 0, 0})));  // mov rax, [rip + 0x100]
}

TEST_CASE("stores are told from loads, also where capstone takes them for loads", "[disasm]") {
  const auto writes = [](std::initializer_list<unsigned> bytes) {
    return writes_memory(decoded(bytes));
  };
  CHECK(writes({0x48, 0x89, 0x07}));              // mov [rdi], rax
  CHECK(writes({0x0f, 0x11, 0x07}));              // movups [rdi], xmm0
  CHECK(writes({0x0f, 0x95, 0x07}));              // setne [rdi]
  CHECK(writes({0xf0, 0x83, 0x07, 0x01}));        // lock add [rdi], 1
  CHECK(writes({0xf0, 0x48, 0x0f, 0xb1, 0x0f}));  // lock cmpxchg [rdi], rcx
  CHECK_FALSE(writes({0x48, 0x8b, 0x07}));        // mov rax, [rdi]
  CHECK_FALSE(writes({0xf6, 0x07, 0x01}));        // test [rdi], 1
  CHECK_FALSE(writes({0x83, 0x3f, 0x01}));        // cmp [rdi], 1
  CHECK_FALSE(writes({0xff, 0x37}));              // push [rdi]
  CHECK_FALSE(writes({0xff, 0x27}));              // jmp [rdi]
  CHECK_FALSE(writes({0xf7, 0x2f}));              // imul [rdi]
  CHECK_FALSE(writes({0xd9, 0x07}));              // fld [rdi]
  CHECK(has_memory(decoded({0x48, 0x8b, 0x07})));
  CHECK_FALSE(has_memory(decoded({0x48, 0x89, 0xc7})));
  CHECK(is_in_frame(decoded({0x48, 0x89, 0x04, 0x24}).operands()[0]));        // [rsp]
  CHECK(is_in_frame(decoded({0x48, 0x89, 0x45, 0xf8}).operands()[0]));        // [rbp - 8]
  CHECK_FALSE(is_in_frame(decoded({0x48, 0x89, 0x45, 0x08}).operands()[0]));  // [rbp + 8]
}

TEST_CASE("instructions tell which registers they write, of any width", "[disasm]") {
  const auto add = decoded({0x01, 0xd0});  // add eax, edx
  CHECK(writes_register(add, kRax));
  CHECK_FALSE(writes_register(add, kRdx));
  CHECK_FALSE(writes_register(decoded({0x39, 0xd0}), kRax));  // cmp eax, edx
  CHECK(writes_register(decoded({0x88, 0xe0}), kRax));        // mov al, ah
  const auto multiply = decoded({0xf7, 0xe7});                // mul edi
  CHECK(writes_register(multiply, kRax));
  CHECK(writes_register(multiply, kRdx));
  CHECK_FALSE(writes_register(multiply, kRdi));
  CHECK(writes_register(decoded({0x48, 0x87, 0xf7}), kRsi));  // xchg rdi, rsi
  CHECK(writes_register(decoded({0x48, 0x87, 0xf7}), kRdi));
  CHECK(writes_register(decoded({0x41, 0x5d}), 13));  // pop r13
  const auto call = decoded({0xff, 0xd0});
  for (const Register clobbered : {kRax, kRcx, kRdx, kRsi, kRdi, Register{8}, Register{11}}) {
    CHECK(writes_register(call, clobbered));
  }
  CHECK_FALSE(writes_register(call, kRbp));
  CHECK_FALSE(writes_register(call, 12));
}

TEST_CASE("operands have base, index, scale and displacement", "[disasm]") {
  const auto load = decoded({0x4b, 0x63, 0x54, 0xa5, 0x10});  // movsxd rdx, [r13 + r12*4 + 16]
  REQUIRE(load.operands().size() == 2);
  const Operand memory = load.operands()[1];
  CHECK(memory.kind == Operand::Kind::memory);
  CHECK(memory.base == 13);
  CHECK(memory.index == 12);
  CHECK(memory.scale == 4);
  CHECK(memory.value == 16);
  CHECK(memory.size == 4);
  const auto of_thread = decoded({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0});  // fs:[0x28]
  CHECK(of_thread.operands()[1].has_segment);
  CHECK_FALSE(fixed_address(of_thread, of_thread.operands()[1]));
}

TEST_CASE("decoding goes on behind bytes that are no instruction", "[disasm]") {
  const std::vector<std::byte> code = {std::byte{0x90}, std::byte{0x06}, std::byte{0x06},
                                       std::byte{0xc3}};
  const auto all = Decoder().decode_all(code, kAt);
  REQUIRE(all.size() == 2);
  CHECK(all[1].address == kAt + 3);
  CHECK(index_at(all, kAt + 3) == 1);
  CHECK_FALSE(index_at(all, kAt + 1));
  CHECK(is_within(all, kAt + 1));
  CHECK_FALSE(is_within(all, kAt + 4));
}

}  // namespace causalctl::disasm
