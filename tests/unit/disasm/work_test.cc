#include "disasm/work.h"

#include <catch2/catch.hpp>
#include <vector>

#include "disasm/decoder.h"

namespace causalctl::disasm {
namespace {

Instruction read(std::initializer_list<unsigned> bytes) {
  std::vector<std::byte> code;
  for (const unsigned byte : bytes) code.push_back(static_cast<std::byte>(byte));
  const auto found = Decoder().decode(code, 0x1000);
  REQUIRE(found);
  REQUIRE(found->size == bytes.size());
  return *found;
}

Work work(std::initializer_list<unsigned> bytes) { return work_of(read(bytes)); }
bool reads(std::initializer_list<unsigned> bytes) { return reads_memory(read(bytes)); }

}  // namespace

TEST_CASE("instructions that take long are told from others", "[disasm]") {
  CHECK(work({0x48, 0xf7, 0xf1}) == Work::divide);              // div rcx
  CHECK(work({0xf2, 0x0f, 0x5e, 0xc1}) == Work::divide);        // divsd xmm0, xmm1
  CHECK(work({0xc5, 0xfb, 0x51, 0xc0}) == Work::divide);        // vsqrtsd xmm0, xmm0, xmm0
  CHECK(work({0xf0, 0x48, 0x83, 0x02, 0x01}) == Work::locked);  // lock add [rdx], 1
  CHECK(work({0x48, 0x87, 0x02}) == Work::locked);              // xchg [rdx], rax
  CHECK(work({0x48, 0x87, 0xc2}) == Work::plain);               // xchg rdx, rax
  CHECK(work({0x0f, 0xae, 0xf0}) == Work::fence);               // mfence
  CHECK(work({0xf3, 0x90}) == Work::fence);                     // pause
  CHECK(work({0xf3, 0xa4}) == Work::repeated);                  // rep movsb
  CHECK(work({0xf2, 0xae}) == Work::repeated);                  // repne scasb
  CHECK(work({0xf3, 0xc3}) == Work::plain);                     // rep ret
  CHECK(work({0x0f, 0x05}) == Work::system_call);               // syscall
  CHECK(work({0x48, 0x0f, 0xaf, 0xc0}) == Work::plain);         // imul rax, rax
}

TEST_CASE("instructions that read memory are told from those that write or name it", "[disasm]") {
  CHECK(reads({0x48, 0x8b, 0x00}));              // mov rax, [rax]
  CHECK(reads({0x48, 0x01, 0x07}));              // add [rdi], rax
  CHECK(reads({0x44, 0x38, 0x14, 0x30}));        // cmp [rax + rsi], r10b
  CHECK(reads({0x0f, 0xb6, 0x33}));              // movzx esi, byte [rbx]
  CHECK(reads({0xf0, 0x48, 0x83, 0x02, 0x01}));  // lock add [rdx], 1
  CHECK_FALSE(reads({0x48, 0x89, 0x07}));        // mov [rdi], rax
  CHECK_FALSE(reads({0x0f, 0x11, 0x07}));        // movups [rdi], xmm0
  CHECK_FALSE(reads({0x0f, 0x95, 0x07}));        // setne [rdi]
  CHECK_FALSE(reads({0xf3, 0xaa}));              // rep stosb
  CHECK_FALSE(reads({0x48, 0x8d, 0x04, 0x0f}));  // lea rax, [rdi + rcx]
  CHECK_FALSE(reads({0x0f, 0x1f, 0x00}));        // nop [rax]
  CHECK_FALSE(reads({0x0f, 0x18, 0x0f}));        // prefetcht0 [rdi]
  CHECK_FALSE(reads({0x48, 0x01, 0xf8}));        // add rax, rdi
}

TEST_CASE("a latency is that of the work, and of the load before it", "[disasm]") {
  CHECK(latency_of(read({0x48, 0x01, 0xf8})) == 1);            // add rax, rdi
  CHECK(latency_of(read({0x48, 0x0f, 0xaf, 0xc0})) == 4);      // imul rax, rax
  CHECK(latency_of(read({0x48, 0x8b, 0x00})) == 1 + 5);        // mov rax, [rax]
  CHECK(latency_of(read({0xf2, 0x0f, 0x58, 0xc1})) == 5);      // addsd xmm0, xmm1
  CHECK(latency_of(read({0xf2, 0x0f, 0x59, 0x00})) == 5 + 8);  // mulsd xmm0, [rax]
  CHECK(latency_of(read({0x48, 0xf7, 0xf1})) == 0);            // div rcx
  CHECK(latency_of(read({0xf3, 0xa4})) == 0);                  // rep movsb
}

}  // namespace causalctl::disasm
