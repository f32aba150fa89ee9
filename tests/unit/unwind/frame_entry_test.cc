// Tests how entries of .eh_frame are read whose addresses and augmentation are written in different
// ways; the entries of real files are those of frame_table_test.cc.
#include "unwind/tables/frame_entry.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/unwind/elf_bytes.h"

namespace causalctl::unwind {
namespace {

constexpr Address kSection = 0x4000;

struct Section {
  std::vector<std::byte> bytes;
  std::uint64_t fde = 0;

  template <typename Number>
  void add(Number value) {
    put(bytes, bytes.size(), value);
  }
  void add_byte(int value) { add(static_cast<std::uint8_t>(value)); }
  void end_entry(std::uint64_t begin) {
    while (bytes.size() % 4 != 0) add_byte(0);
    put(bytes, begin, static_cast<std::uint32_t>(bytes.size() - begin - 4));
  }
  std::optional<FrameEntry> entry() const { return frame_entry_at({bytes, kSection}, fde); }
};

// A section with a CIE of the letters, whose data is given, and behind it the FDE's beginning.
Section section_of(const std::string& letters, const std::vector<int>& data) {
  Section section;
  section.add(std::uint32_t{0});
  section.add(std::uint32_t{0});
  section.add_byte(1);
  for (const char letter : letters) section.add_byte(letter);
  section.add_byte(0);
  section.add_byte(1);
  section.add_byte(0x78);  // -8
  section.add_byte(16);
  if (letters.starts_with('z')) section.add_byte(static_cast<int>(data.size()));
  for (const int value : data) section.add_byte(value);
  section.add_byte(0x0c);
  section.add_byte(7);
  section.add_byte(8);
  section.end_entry(0);
  section.fde = section.bytes.size();
  section.add(std::uint32_t{0});
  section.add(static_cast<std::uint32_t>(section.bytes.size()));
  return section;
}

template <typename Number>
Section with_range(Section section, Number low, Number size, bool sized = true) {
  section.add(low);
  section.add(size);
  if (sized) section.add_byte(0);
  section.add_byte(0x41);
  section.end_entry(section.fde);
  return section;
}

}  // namespace

TEST_CASE("an entry has the range that its encoding tells", "[unwind]") {
  const auto check = [](const Section& section, Address low, Address high) {
    const auto entry = section.entry();
    REQUIRE(entry);
    CHECK(entry->low == low);
    CHECK(entry->high == high);
    CHECK(entry->data_alignment == -8);
    CHECK(entry->return_address == 16);
    REQUIRE_FALSE(entry->instructions.empty());
    CHECK(entry->instructions.front() == std::byte{0x41});
    CHECK(entry->initial.front() == std::byte{0x0c});
  };
  const auto relative = section_of("zR", {0x1b});
  check(with_range<std::int32_t>(relative, -0x100, 0x20), kSection + relative.fde + 8 - 0x100,
        kSection + relative.fde + 8 - 0x100 + 0x20);
  check(with_range<std::uint64_t>(section_of("", {}), 0x1234, 2, false), 0x1234, 0x1236);
  check(with_range<std::uint64_t>(section_of("zR", {0x00}), 0x1234, 2), 0x1234, 0x1236);
  check(with_range<std::uint16_t>(section_of("zR", {0x02}), 0xfff0, 0xf), 0xfff0, 0xffff);
  // With a pointer to the exceptions' tables and one to the routine that reads them.
  check(with_range<std::uint64_t>(section_of("zPLR", {0x03, 1, 2, 3, 4, 0x1b, 0x00}), 0x10, 0x10),
        0x10, 0x20);
  const auto signal = with_range<std::uint64_t>(section_of("zRS", {0x00}), 0x10, 0x10).entry();
  REQUIRE(signal);
  CHECK(signal->signal);
}

TEST_CASE("entries that cannot be read are none", "[unwind]") {
  CHECK_FALSE(with_range<std::uint64_t>(section_of("eh", {}), 0x10, 0x10, false).entry());
  CHECK_FALSE(with_range<std::uint64_t>(section_of("zX", {1}), 0x10, 0x10).entry());
  CHECK_FALSE(with_range<std::uint64_t>(section_of("zR", {0x30}), 0x10, 0x10).entry());  // datarel
  CHECK_FALSE(with_range<std::uint64_t>(section_of("zR", {0x80}), 0x10, 0x10).entry());  // indirect
  CHECK_FALSE(with_range<std::uint64_t>(section_of("zR", {0x05}), 0x10, 0x10).entry());
  CHECK_FALSE(with_range<std::uint64_t>(section_of("zR", {0x00}), 0x10, ~0ULL).entry());  // wraps
  auto section = with_range<std::uint64_t>(section_of("zR", {0x00}), 0x10, 0x10);
  const auto whole = section.entry();
  REQUIRE(whole);
  section.fde = 0;  // the CIE
  CHECK_FALSE(section.entry());
  section.fde = section.bytes.size();
  CHECK_FALSE(section.entry());
  section.fde = ~std::uint64_t{0} - 2;
  CHECK_FALSE(section.entry());
}

TEST_CASE("entries larger than compilers make are none", "[unwind]") {
  const auto with_padding = [](std::size_t cie, std::size_t fde) {
    Section section = section_of("zR", {0x00});
    section.bytes.insert(section.bytes.begin() + static_cast<std::ptrdiff_t>(section.fde), cie,
                         std::byte{0});
    put(section.bytes, 0, static_cast<std::uint32_t>(section.fde + cie - 4));
    section.fde += cie;
    put(section.bytes, section.fde + 4, static_cast<std::uint32_t>(section.fde + 4));
    section = with_range<std::uint64_t>(section, 0x10, 0x10);
    section.bytes.resize(section.bytes.size() + fde);
    section.end_entry(section.fde);
    return section.entry();
  };
  CHECK(with_padding(4000, 1000));
  CHECK_FALSE(with_padding(4200, 1000));
  CHECK(with_padding(0, 1'000'000));
  CHECK_FALSE(with_padding(0, 1'100'000));
}

TEST_CASE("a section without a search table is read from its beginning", "[unwind]") {
  const auto section = with_range<std::uint64_t>(section_of("zR", {0x00}), 0x10, 0x10);
  const auto entries = frame_entries({section.bytes, kSection});
  REQUIRE(entries.find(0x10) != nullptr);
  CHECK(entries.find(0x1f)->value == section.fde);
  CHECK(entries.find(0x20) == nullptr);
  CHECK(frame_entries({}).ranges().empty());
}

}  // namespace causalctl::unwind
