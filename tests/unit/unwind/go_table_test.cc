// Tests the reader of .gopclntab on tables made by hand, in the layouts of Go's versions, and on
// damaged ones.
#include "unwind/tables/go_table.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "tests/unit/unwind/elf_bytes.h"

namespace causalctl::unwind {
namespace {

constexpr Address kText = 0x401000;
constexpr Address kTable = 0x402000;
constexpr std::size_t kTableAt = 0x1000;  // in the file
constexpr std::uint32_t kGo12 = 0xfffffffb;
constexpr std::uint32_t kGo116 = 0xfffffffa;
constexpr std::uint32_t kGo118 = 0xfffffff0;
constexpr std::uint32_t kGo120 = 0xfffffff1;

void put_text(std::vector<std::byte>& bytes, std::size_t at, std::string_view text) {
  if (bytes.size() < at + text.size() + 1) bytes.resize(at + text.size() + 1);
  std::memcpy(bytes.data() + at, text.data(), text.size());
}

// Where the parts stand in each table made here.
constexpr std::size_t kNames = 0x80;
constexpr std::size_t kUnits = 0xc0;
constexpr std::size_t kFiles = 0x100;
constexpr std::size_t kValues = 0x180;
constexpr std::size_t kList = 0x200;
constexpr std::size_t kFunctions = 0x280;

// main.main has 0x40 bytes: line 10, from byte 0x10 on line 12, from 0x20 on line 11.
// main.work has 0x30 bytes of line 20. Both are in /src/main.go, which is file 1.
std::vector<std::byte> go_table(std::uint32_t magic) {
  const bool old = magic == kGo12;
  const bool relative = magic == kGo118 || magic == kGo120;
  const std::size_t entry_bytes = relative ? 4 : 8;
  std::vector<std::byte> table(0x300);
  put(table, 0, magic);
  put<std::uint32_t>(table, 4, 0x08010000);
  put<std::uint64_t>(table, 8, 2);
  const std::uint64_t words[] = {2, kText, kNames, kUnits, kFiles, kValues, kList};
  std::size_t at = 16;
  for (std::size_t i = 0; i < 7 && !old; ++i) {
    if (i == 1 && !relative) continue;
    put(table, at, words[i]);
    at += 8;
  }
  // Offsets count from the start of the part that has the functions.
  const std::size_t base = old ? 0 : kList;
  const std::size_t list = old ? 16 : kList;
  const Address entries[] = {kText, kText + 0x40, kText + 0x70};
  const std::uint64_t functions[] = {kFunctions - base, kFunctions + 0x40 - base, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    const Address entry = relative ? entries[i] - kText : entries[i];
    const std::size_t where = list + 2 * i * entry_bytes;
    std::memcpy(table.data() + where, &entry, entry_bytes);
    if (i < 2) std::memcpy(table.data() + where + entry_bytes, &functions[i], entry_bytes);
  }
  const std::size_t own = old ? 0 : 1;  // parts of newer tables begin at their own offsets
  put_text(table, kNames, "main.main");
  put_text(table, kNames + 0x10, "main.work");
  if (old) {
    put<std::uint32_t>(table, list + 5 * entry_bytes, kFiles);
    put<std::uint32_t>(table, kFiles, 2);
    put<std::uint32_t>(table, kFiles + 4, kFiles + 0x20);
  } else {
    put<std::uint32_t>(table, kUnits + 8, 0xffffffff);
    put<std::uint32_t>(table, kUnits + 12, 0x20);
  }
  put_text(table, kFiles + 0x20, "/src/main.go");
  std::memcpy(table.data() + kValues + 1, "\x04\x40\x00", 3);                  // file 1
  std::memcpy(table.data() + kValues + 8, "\x16\x10\x04\x10\x01\x20\x00", 7);  // 10, 12, 11
  std::memcpy(table.data() + kValues + 16, "\x2a\x30\x00", 3);                 // 20
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::size_t function = kFunctions + 0x40 * i + entry_bytes;
    const auto offset = [&](std::size_t part, std::size_t inside) {
      return static_cast<std::uint32_t>(inside + (own != 0 ? 0 : part));
    };
    put(table, function, offset(kNames, 0x10 * i));
    put(table, function + 4 * 4, offset(kValues, 1));
    put(table, function + 5 * 4, offset(kValues, 8 + 8 * i));
    put<std::uint32_t>(table, function + 7 * 4, 2);
  }
  return table;
}

// A program with the table in a segment of its own, and no section headers.
std::vector<std::byte> program_with(const std::vector<std::byte>& table) {
  std::vector<std::byte> file(kTableAt);
  put_elf_header(file, 2);
  put(file, sizeof(Elf64_Ehdr),
      Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, kText, kText, 0x200, 0x200, 0x1000});
  put(file, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
      Elf64_Phdr{PT_LOAD, PF_R, kTableAt, kTable, kTable, table.size(), table.size(), 0x1000});
  file.insert(file.end(), table.begin(), table.end());
  return file;
}

}  // namespace

TEST_CASE("Functions and lines of a Go program come from its own table", "[unwind]") {
  const auto file = program_with(go_table(GENERATE(kGo12, kGo116, kGo118, kGo120)));
  const GoTable table{ElfImage(file)};
  REQUIRE(table.valid());
  const auto work = table.function_at(kText + 0x6f);
  REQUIRE(work);
  CHECK(work->name == "main.work");
  CHECK(work->low == kText + 0x40);
  CHECK(work->high == kText + 0x70);
  CHECK_FALSE(table.function_at(kText + 0x70));
  CHECK_FALSE(table.function_at(kText - 1));
  CHECK(table.functions().size() == 2);
  const auto line_at = [&](Address offset) {
    const auto found = table.line_at(kText + offset);
    return found ? found->file + ":" + std::to_string(found->line) : std::string();
  };
  CHECK(line_at(0) == "/src/main.go:10");
  CHECK(line_at(0x0f) == "/src/main.go:10");
  CHECK(line_at(0x10) == "/src/main.go:12");
  CHECK(line_at(0x3f) == "/src/main.go:11");
  CHECK(line_at(0x40) == "/src/main.go:20");
  CHECK(line_at(0x70).empty());
  CHECK(table.files() == std::vector<std::string>{"/src/main.go"});
  const auto found = table.find_line("main.go", 11);
  REQUIRE(found.size() == 1);
  CHECK(found.front().address == kText + 0x20);
  CHECK(table.find_line("main.go", 13).empty());
  CHECK(table.find_line("other.go", 11).empty());
}

TEST_CASE("Other files have no Go table", "[unwind]") {
  CHECK_FALSE(GoTable{ElfImage()}.valid());
  auto table = go_table(kGo118);
  put<std::uint32_t>(table, 0, 0xfffffff5);
  CHECK_FALSE(GoTable{ElfImage(program_with(table))}.valid());
}

TEST_CASE("Damaged Go tables are withstood", "[unwind]") {
  const auto magic = GENERATE(kGo12, kGo116, kGo118);
  const auto whole = program_with(go_table(magic));
  std::mt19937 random(magic);
  for (int i = 0; i < 2000; ++i) {
    auto file = whole;
    for (int flips = 0; flips < 3; ++flips) {
      file[kTableAt + random() % (file.size() - kTableAt)] = static_cast<std::byte>(random());
    }
    if (i % 4 == 0) file.resize(kTableAt + random() % (file.size() - kTableAt));
    const GoTable table{ElfImage(file)};
    for (Address address = kText; address < kText + 0x80; address += 8) {
      table.function_at(address);
      table.line_at(address);
    }
    table.functions();
    table.files();
    table.find_line("main.go", 11);
  }
}

}  // namespace causalctl::unwind
