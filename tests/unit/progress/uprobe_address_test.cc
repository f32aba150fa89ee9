#include "controller/progress/uprobe_address.h"

#include <catch2/catch.hpp>
#include <vector>

#include "controller/perf/visit_trial.h"

namespace causalctl::progress {

namespace {

constexpr Address kStart = 0x1000;

std::vector<std::byte> instruction(std::initializer_list<unsigned> bytes) {
  std::vector<std::byte> result;
  for (const unsigned byte : bytes) result.push_back(static_cast<std::byte>(byte));
  return result;
}

std::optional<Address> neighbour(const std::vector<std::byte>& function, Address offset,
                                 const std::vector<CodeRange>& others = {}) {
  disasm::Decoder decoder;
  const disasm::Constants none{[](Address) { return std::nullopt; },
                               [](Address) { return std::nullopt; }, [](Address) { return false; }};
  const auto found = executed_as_often(decoder, kStart + offset, {kStart, function}, others, none);
  return found ? std::optional(*found - kStart) : std::nullopt;
}

}  // namespace

TEST_CASE("Instructions that refuse a uprobe are known by prefix and opcode") {
  CHECK(refuses_uprobe(instruction({0xf0, 0xff, 0x00})));              // lock inc dword [rax]
  CHECK(refuses_uprobe(instruction({0xf0, 0x48, 0x0f, 0xc1, 0x07})));  // lock xadd [rdi], rax
  CHECK(refuses_uprobe(instruction({0x66, 0x2e, 0x0f, 0x1f, 0x00})));  // cs nopw
  CHECK(refuses_uprobe(instruction({0xf4})));                          // hlt
  CHECK(refuses_uprobe(instruction({0xcc})));                          // int3
  CHECK_FALSE(refuses_uprobe(instruction({0x55})));                    // push rbp
  CHECK_FALSE(refuses_uprobe(instruction({0xf3, 0x0f, 0x1e, 0xfa})));  // endbr64
  CHECK_FALSE(
      refuses_uprobe(instruction({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0})));  // mov fs:[28h]
  CHECK_FALSE(
      refuses_uprobe(instruction({0x83, 0xf0, 0x01})));  // xor eax, 1: f0 is no prefix there
}

TEST_CASE("The next instruction is executed as often, unless it is jumped to") {
  //  0: push rbp; 1: lock inc [rax]; 4: inc eax; 6: ret
  CHECK(neighbour(instruction({0x55, 0xf0, 0xff, 0x00, 0xff, 0xc0, 0xc3}), 1) == 4);
  //  0: push rbp; 1: lock inc [rax]; 4: inc eax; 6: jne 4; 8: ret
  CHECK(neighbour(instruction({0x55, 0xf0, 0xff, 0x00, 0xff, 0xc0, 0x75, 0xfc, 0xc3}), 1) == 0);
  //  0: lock inc [rax]; 3: inc eax; 5: jne 3; 7: ret — nothing before it
  CHECK(neighbour(instruction({0xf0, 0xff, 0x00, 0xff, 0xc0, 0x75, 0xfc, 0xc3}), 0) ==
        std::nullopt);
}

TEST_CASE("The one before is executed as often, unless the instruction itself is jumped to") {
  //  0: inc eax; 2: lock inc [rax]; 5: jne 2; 7: ret — the next is a jump, which may hold a uprobe
  CHECK(neighbour(instruction({0xff, 0xc0, 0xf0, 0xff, 0x00, 0x75, 0xfb, 0xc3}), 2) == 5);
  //  0: inc eax; 2: lock inc [rax]; 5: lock inc [rax]; 8: jne 5; 10: ret
  CHECK(neighbour(instruction({0xff, 0xc0, 0xf0, 0xff, 0x00, 0xf0, 0xff, 0x00, 0x75, 0xfb, 0xc3}),
                  2) == 0);
  //  the same, and the last jump goes to 2: neither
  CHECK(neighbour(instruction({0xff, 0xc0, 0xf0, 0xff, 0x00, 0xf0, 0xff, 0x00, 0x75, 0xf8, 0x75,
                               0xf9, 0xc3}),
                  2) == std::nullopt);
}

TEST_CASE("A call may not return, and a jump through a register may go anywhere") {
  //  0: call 100h; 5: lock inc [rax]; 8: lock inc [rax]; 11: call …; 16: ret
  CHECK(neighbour(instruction({0xe8, 0xfb, 0, 0, 0, 0xf0, 0xff, 0x00, 0xf0, 0xff, 0x00, 0xe8, 0, 0,
                               0, 0, 0xc3}),
                  5) == 11);
  //  0: lock inc [rax]; 3: inc eax; 5: jmp rax
  CHECK(neighbour(instruction({0xf0, 0xff, 0x00, 0xff, 0xc0, 0xff, 0xe0}), 0) == std::nullopt);
}

TEST_CASE("Code elsewhere that jumps back into the function counts, too") {
  //  0: push rbp; 1: lock inc [rax]; 4: inc eax; 6: ret
  const auto function = instruction({0x55, 0xf0, 0xff, 0x00, 0xff, 0xc0, 0xc3});
  const auto cold = instruction({0xe9, 0xff, 0xef, 0xff, 0xff});  // at 2000h: jmp 1004h
  CHECK(neighbour(function, 1, {{0x2000, cold}}) == 0);
}

TEST_CASE("What the kernel emulates at a uprobe is known by the bytes") {
  using perf::is_emulated;
  CHECK(is_emulated(instruction({0x55})));                          // push rbp
  CHECK(is_emulated(instruction({0x41, 0x57})));                    // push r15
  CHECK(is_emulated(instruction({0x0f, 0x1f, 0x40, 0})));           // nop
  CHECK(is_emulated(instruction({0x66, 0x90})));                    // xchg ax, ax
  CHECK(is_emulated(instruction({0xe8, 0, 0, 0, 0})));              // call
  CHECK(is_emulated(instruction({0x0f, 0x84, 0, 0, 0, 0})));        // je
  CHECK_FALSE(is_emulated(instruction({0xf3, 0x0f, 0x1e, 0xfa})));  // endbr64
  CHECK_FALSE(is_emulated(instruction({0x48, 0x89, 0xe5})));        // mov rbp, rsp
  CHECK_FALSE(is_emulated({}));
}

}  // namespace causalctl::progress
