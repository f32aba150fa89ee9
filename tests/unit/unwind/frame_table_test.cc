// Tests the rules of an unwind table: this program's own, of code whose CFI is written by hand
// below.
#include "unwind/tables/frame_table.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "tests/unit/unwind/elf_bytes.h"
#include "tests/unit/unwind/libdw_rules.h"
#include "unwind/tables/function_bounds.h"

// clang-format off
asm(R"(
.text
frame_table_test:
  .cfi_startproc
  nop
frame_table_test_pushed:
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  nop
frame_table_test_framed:
  .cfi_def_cfa_register 6
  nop
  .cfi_remember_state
frame_table_test_left:
  .cfi_def_cfa 7, 8
  .cfi_restore 6
  nop
frame_table_test_cold:
  .cfi_restore_state
  nop
  nop
  .cfi_endproc
frame_table_test_aligned:
  .cfi_startproc
  nop
frame_table_test_by_r10:
  .cfi_def_cfa 10, 0
  nop
frame_table_test_at_rbp:
  .cfi_escape 0xf,3,0x76,0x78,0x6   # the CFA is the word at RBP - 8
  .cfi_escape 0x10,6,2,0x76,0       # RBP was saved where it points
  nop
  .cfi_endproc
frame_table_test_plt:
  .cfi_startproc
  .cfi_escape 0xf,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22
  nop
  .cfi_endproc
frame_table_test_root:
  .cfi_startproc
  .cfi_undefined 16
  nop
  .cfi_endproc
frame_table_test_signal:
  .cfi_startproc
  .cfi_signal_frame
  nop
  .cfi_endproc
frame_table_test_bp_lost:
  .cfi_startproc
  .cfi_undefined 6
  nop
  .cfi_endproc
frame_table_test_bp_in_register:
  .cfi_startproc
  .cfi_register 6, 3
  nop
  .cfi_endproc
frame_table_test_bare:
  nop
)");
// clang-format on

extern "C" {
extern const char frame_table_test, frame_table_test_pushed, frame_table_test_framed,
    frame_table_test_left, frame_table_test_cold, frame_table_test_aligned, frame_table_test_by_r10,
    frame_table_test_at_rbp, frame_table_test_plt, frame_table_test_root, frame_table_test_signal,
    frame_table_test_bp_lost, frame_table_test_bp_in_register, frame_table_test_bare;
}

namespace causalctl::unwind {
namespace {

using Kind = FrameRule::Kind;
using Cfa = FrameRule::Cfa;
using Bp = FrameRule::Bp;

Mapping map_file(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  REQUIRE(fstat(file.get(), &status) == 0);
  const auto size = static_cast<std::size_t>(status.st_size);
  return {mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0), size};
}

// The program and its shared libraries.
std::vector<std::string> loaded_files() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        const std::string path = info->dlpi_name;
        auto& found = *static_cast<std::vector<std::string>*>(to);
        if (found.empty()) found.emplace_back("/proc/self/exe");
        if (path.starts_with('/')) found.push_back(path);
        return 0;
      },
      &paths);
  return paths;
}

struct Program {
  Mapping mapping = map_file("/proc/self/exe");
  Address bias = 0;

  Program() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          *static_cast<Address*>(to) = info->dlpi_addr;
          return 1;  // the first is the program
        },
        &bias);
  }
  std::span<const std::byte> bytes() const { return {mapping.data(), mapping.size()}; }
  Address at(const char& symbol) const { return reinterpret_cast<Address>(&symbol) - bias; }
};

FrameRule simple(Cfa cfa, std::int32_t offset, Bp bp = Bp::same, std::int32_t bp_offset = 0) {
  FrameRule rule;
  rule.kind = Kind::simple;
  rule.cfa = cfa;
  rule.cfa_offset = offset;
  rule.bp = bp;
  rule.bp_offset = bp_offset;
  return rule;
}

}  // namespace

TEST_CASE("a row of the unwind table becomes a rule", "[unwind]") {
  const Program program;
  FrameTable table{ElfImage(program.bytes())};
  const auto rule = [&](const char& symbol) { return table.rule_at(program.at(symbol)); };
  CHECK(rule(frame_table_test) == simple(Cfa::sp, 8));
  CHECK(rule(frame_table_test_pushed) == simple(Cfa::sp, 16, Bp::saved, -16));
  CHECK(rule(frame_table_test_framed) == simple(Cfa::bp, 16, Bp::saved, -16));
  CHECK(rule(frame_table_test_at_rbp) == simple(Cfa::at_bp, -8, Bp::at_bp, 0));
  CHECK(rule(frame_table_test_bp_lost) == simple(Cfa::sp, 8, Bp::lost));
  FrameRule plt = simple(Cfa::plt, 8);
  plt.plt_from = 11;
  CHECK(rule(frame_table_test_plt) == plt);
  REQUIRE(rule(frame_table_test_root));
  CHECK(rule(frame_table_test_root)->kind == Kind::outermost);
  for (const char* symbol :
       {&frame_table_test_by_r10, &frame_table_test_signal, &frame_table_test_bp_in_register}) {
    REQUIRE(rule(*symbol));
    CHECK(rule(*symbol)->kind == Kind::other);
  }
  CHECK_FALSE(rule(frame_table_test_bare));
  CHECK_FALSE(table.rule_at(1));
}

TEST_CASE("rows are right in whatever order they are met", "[unwind]") {
  const Program program;
  FrameTable table{ElfImage(program.bytes())};
  const Address cold = program.at(frame_table_test_cold);
  // The row after a restored state must not hide those between it and the state.
  for (int round = 0; round < 2; ++round) {
    CHECK(table.rule_at(cold + 1) == simple(Cfa::bp, 16, Bp::saved, -16));
    CHECK(table.rule_at(program.at(frame_table_test_left)) == simple(Cfa::sp, 8));
    CHECK(table.rule_at(cold) == simple(Cfa::bp, 16, Bp::saved, -16));
    CHECK(table.rule_at(program.at(frame_table_test)) == simple(Cfa::sp, 8));
  }
  CHECK(table.rows() == 3);
}

TEST_CASE("rules are those of libdw", "[unwind]") {
  for (const std::string& path : loaded_files()) {
    CAPTURE(path);
    const Mapping mapping = map_file(path);
    const ElfImage image(std::span<const std::byte>(mapping.data(), mapping.size()));
    FrameTable table(image);
    LibdwRules libdw(image.file());
    REQUIRE(image.unwind_table());
    CHECK(described_functions(image).ranges().size() + 2 >= image.unwind_table()->count);
    std::size_t rows = 0;
    std::size_t different = 0;
    const auto functions = described_functions(image);
    for (const auto& function : functions.ranges()) {
      for (Address at = function.low; at < function.high;) {
        const auto row = libdw.row_at(at);
        const auto is_same = [&](Address address) {
          const auto rule = table.rule_at(address);
          return row ? rule == row->rule : !rule;
        };
        const Address next = row ? std::min(row->high, function.high) : function.high;
        different += is_same(at) && is_same(next - 1) ? 0 : 1;
        at = next;
        ++rows;
      }
    }
    CHECK(rows + 2 >= image.unwind_table()->count);  // a row or more for each function
    CHECK(different == 0);
  }
}

TEST_CASE("where the search table leads to no entry, the section is read", "[unwind]") {
  const Program program;
  std::vector<std::byte> file(program.bytes().begin(), program.bytes().end());
  const ElfImage whole(file);
  const auto search = whole.unwind_table();
  REQUIRE(search);
  const auto entries =
      static_cast<std::size_t>(whole.constant_bytes(search->entries).data() - file.data());
  for (std::size_t i = 0; i < search->count; ++i) {
    put(file, entries + 8 * i + 4, std::int32_t{0x7fffffff});
  }
  FrameTable table{ElfImage(file)};
  CHECK(table.rule_at(program.at(frame_table_test)) == simple(Cfa::sp, 8));
  CHECK(table.rule_at(program.at(frame_table_test_framed)) == simple(Cfa::bp, 16, Bp::saved, -16));
}

TEST_CASE("files without a table, and damaged ones, have no rules or some", "[unwind]") {
  CHECK_FALSE(FrameTable().rule_at(0x1000));
  std::vector<std::byte> file(512);
  CHECK_FALSE(FrameTable(ElfImage(file)).rule_at(0x1000));
  put_elf_header(file, 0);
  CHECK_FALSE(FrameTable(ElfImage(file)).rule_at(0x1000));
}

}  // namespace causalctl::unwind
