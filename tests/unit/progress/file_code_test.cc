#include "controller/progress/file_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

namespace causalctl::progress {

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> bytes) {
  std::vector<std::byte> result;
  for (const unsigned byte : bytes) result.push_back(static_cast<std::byte>(byte));
  return result;
}

// It fills a page, so that nothing else is changed with it.
extern "C" void causalctl_patched();
__asm__(
    ".pushsection .text\n"
    ".balign 4096\n"
    "causalctl_patched: xorl %eax, %eax\n"
    "ret\n"
    ".balign 4096\n"
    ".popsection\n");

void patch(unsigned char byte) {
  auto* place = reinterpret_cast<unsigned char*>(&causalctl_patched);
  REQUIRE(mprotect(place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  place[1] = byte;
  REQUIRE(mprotect(place, 4096, PROT_READ | PROT_EXEC) == 0);
}

}  // namespace

TEST_CASE("Code in memory is compared with the file's by all bytes", "[progress]") {
  const auto file = bytes_of({0x48, 0xb8, 0x00, 0x10});
  CHECK(same_code(file, file, false));
  CHECK_FALSE(same_code(file, bytes_of({0x48, 0xb8, 0x00, 0x11}), true));  // relocated
  CHECK_FALSE(same_code(file, bytes_of({0xe9, 0xb8, 0x00, 0x10}), true));  // patched
  CHECK_FALSE(same_code(file, bytes_of({0x48, 0xb8, 0x00}), true));        // not all can be read
  CHECK_FALSE(same_code({}, {}, true));
  CHECK(same_code(file, bytes_of({0xcc, 0xb8, 0x00, 0x10}), true));
  CHECK_FALSE(same_code(file, bytes_of({0xcc, 0xb8, 0x00, 0x10}), false));
  CHECK_FALSE(same_code(file, bytes_of({0xcc, 0xb8, 0x00, 0x11}), true));
}

TEST_CASE("A patched function of a process differs from its file", "[progress]") {
  const auto address = reinterpret_cast<Address>(&causalctl_patched);
  CHECK_FALSE(differs_from_file(getpid(), address));
  patch(0xc8);
  CHECK(differs_from_file(getpid(), address) == address);
  patch(0xc0);
  CHECK_FALSE(differs_from_file(getpid(), address));
}

TEST_CASE("Code that no file has differs", "[progress]") {
  void* page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  const auto address = reinterpret_cast<Address>(page);
  CHECK(differs_from_file(getpid(), address) == address);
  munmap(page, 4096);
}

}  // namespace causalctl::progress
