// The table of functions and lines in a Go program (.gopclntab), in a file without sections.
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "tests/fuzz/targets.h"
#include "tests/unit/unwind/elf_bytes.h"
#include "unwind/tables/elf_image.h"
#include "unwind/tables/go_table.h"

namespace causalctl::fuzz {
namespace {

constexpr Address kText = 0x401000;
constexpr Address kTable = 0x402000;
constexpr std::size_t kTableAt = 0x1000;  // in the file
constexpr std::size_t kTextBytes = 0x200;

std::vector<std::byte> program_with(Bytes table) {
  std::vector<std::byte> file(kTableAt);
  unwind::put_elf_header(file, 2);
  unwind::put(file, sizeof(Elf64_Ehdr),
              Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, kText, kText, kTextBytes, kTextBytes, 0x1000});
  unwind::put(
      file, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
      Elf64_Phdr{PT_LOAD, PF_R, kTableAt, kTable, kTable, table.size(), table.size(), 0x1000});
  file.insert(file.end(), table.begin(), table.end());
  return file;
}

}  // namespace

void read_go_table(Bytes bytes) {
  const std::vector<std::byte> file = program_with(bytes);
  const unwind::GoTable table{unwind::ElfImage(file)};
  for (Address address = kText; address < kText + kTextBytes; address += 8) {
    const auto function = table.function_at(address);
    INVARIANT(!function || (function->low <= address && address < function->high));
    table.line_at(address);
  }
  table.functions();
  for (const std::string& name : table.files()) table.find_line(name, 11);
  table.find_line("main.go", 11);
}

}  // namespace causalctl::fuzz
