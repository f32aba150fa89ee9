#include "unwind/tables/elf_image.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "tests/unit/unwind/elf_bytes.h"
#include "unwind/tables/function_bounds.h"

namespace causalctl::unwind {
namespace {

constexpr Address kBase = 0x400000;
constexpr std::size_t kHeader = 0x200;  // file offset of .eh_frame_hdr
constexpr std::size_t kFrames = 0x300;

// An executable with a CIE and two FDEs, for functions at 0x400400 (0x40 bytes) and 0x400500
// (0x10).
std::vector<std::byte> small_elf() {
  std::vector<std::byte> file(0x600);
  put_elf_header(file, 2);
  put(file, sizeof(Elf64_Ehdr),
      Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, kBase, kBase, file.size(), file.size(), 0x1000});
  put(file, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
      Elf64_Phdr{PT_GNU_EH_FRAME, PF_R, kHeader, kBase + kHeader, kBase + kHeader, 28, 28, 4});
  put<std::uint32_t>(file, kHeader, 0x3b031b01);  // version and encodings
  put<std::uint32_t>(file, kHeader + 8, 2);
  const std::size_t functions[] = {0x400, 0x500};
  const std::uint32_t sizes[] = {0x40, 0x10};
  put<std::uint32_t>(file, kFrames, 20);  // CIE
  std::memcpy(file.data() + kFrames + 8, "\1zR\0\1\x78\x10\1\x1b", 9);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t fde = kFrames + 24 + i * 20;
    put<std::uint32_t>(file, fde, 16);
    put(file, fde + 4, static_cast<std::uint32_t>(fde + 4 - kFrames));
    put(file, fde + 8, static_cast<std::int32_t>(functions[i] - (fde + 8)));
    put(file, fde + 12, sizes[i]);
    put(file, kHeader + 12 + 8 * i, static_cast<std::int32_t>(functions[i] - kHeader));
    put(file, kHeader + 16 + 8 * i, static_cast<std::int32_t>(fde - kHeader));
  }
  return file;
}

}  // namespace

TEST_CASE("Where no table describes code, functions begin where calls lead", "[unwind]") {
  auto file = small_elf();
  const auto call = [&](std::size_t at, std::size_t target) {
    put<std::uint8_t>(file, at, 0xe8);
    put(file, at + 1, static_cast<std::int32_t>(target - (at + 5)));
  };
  call(0x410, 0x420);  // within a function of the table
  call(0x415, 0x4a0);
  call(0x41a, 0x480);
  call(0x505, 0x520);
  const auto bounds = function_bounds(ElfImage(file));
  const auto range = [&](Address address) {
    const auto* found = bounds.find(kBase + address);
    return found == nullptr ? std::pair<Address, Address>()
                            : std::pair(found->low - kBase, found->high - kBase);
  };
  CHECK(range(0x430) == std::pair<Address, Address>(0x400, 0x440));
  CHECK(range(0x450) == std::pair<Address, Address>());
  CHECK(range(0x490) == std::pair<Address, Address>(0x480, 0x4a0));
  CHECK(range(0x4ff) == std::pair<Address, Address>(0x4a0, 0x500));
  CHECK(range(0x530) == std::pair<Address, Address>(0x520, 0x600));
}

TEST_CASE("Function bounds come from the unwind table", "[unwind]") {
  const auto file = small_elf();
  const ElfImage image(file);
  REQUIRE(image.valid());
  CHECK(image.base() == kBase);
  REQUIRE(image.unwind_table());
  CHECK(image.unwind_table()->count == 2);
  const auto bounds = function_bounds(image);
  REQUIRE(bounds.ranges().size() == 2);
  REQUIRE(bounds.find(0x40043f) != nullptr);
  CHECK(bounds.find(0x40043f)->low == 0x400400);
  CHECK(bounds.find(0x400440) == nullptr);
  CHECK(bounds.find(0x400500)->high == 0x400510);
  CHECK(image.constant_bytes(kBase + 0x5f0).size() == 0x10);
  CHECK(image.constant_bytes(kBase + 0x600).empty());
  CHECK(image.constant_bytes(kBase - 1).empty());
}

TEST_CASE("Damaged ELF images are read within their bounds", "[unwind]") {
  const auto whole = small_elf();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<long>(size));
    function_bounds(ElfImage(cut));
  }
  std::minstd_rand random(3);
  for (int round = 0; round < 5000; ++round) {
    auto damaged = whole;
    for (int i = 0; i < 8; ++i) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
      damaged[kHeader + random() % 0x180] = static_cast<std::byte>(random());
    }
    function_bounds(ElfImage(damaged));
  }
  CHECK_FALSE(ElfImage().valid());
}

}  // namespace causalctl::unwind
