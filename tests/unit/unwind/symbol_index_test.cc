#include "unwind/names/symbol_index.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/folder.h"
#include "tests/unit/unwind/elf_bytes.h"

// Symbols of all kinds that may be at one address.
__asm__(R"(
.pushsection .text.symbol_index_test, "ax", @progbits
.globl symbol_index_begin
symbol_index_begin:
.type si_outer, @function
si_outer: nop; nop
.globl si_global_inside
.type si_global_inside, @function
si_global_inside: nop; nop
.size si_global_inside, 2
si_label_inside: nop
.weak si_weak_alias
.type si_weak_alias, @function
si_weak_alias:
.globl si_strong_alias
.type si_strong_alias, @function
si_strong_alias: nop; nop; nop
.size si_weak_alias, 3
.size si_strong_alias, 2
.type si_local_long, @function
si_local_long:
.type si_local_short, @function
si_local_short: nop; nop; nop; nop
.size si_local_long, 4
.size si_local_short, 2
.size si_outer, .-si_outer
nop; nop
si_label_behind: nop; nop; nop
.set si_label_again, si_label_behind
.globl si_global_label
si_global_label: nop; nop
.type si_unique, @gnu_unique_object
si_unique:
.type si_beside_unique, @function
si_beside_unique: nop; nop
.size si_unique, 2
.size si_beside_unique, 2
.globl si_absolute
.set si_absolute, 0x123456
.type si_last, @function
si_last: nop
.size si_last, 1
nop; nop
.globl symbol_index_end
symbol_index_end:
.popsection
)");
extern "C" const char symbol_index_begin[];
extern "C" const char symbol_index_end[];

namespace causalctl::unwind {
namespace {

const auto begin = reinterpret_cast<Address>(+symbol_index_begin);
const auto end = reinterpret_cast<Address>(+symbol_index_end);

// "name from start, size"; empty if there is none.
std::string words(const char* name, Address start, std::uint64_t size) {
  return fmt::format("{} from {:#x}, {}", name, start, size);
}

std::string by_libdwfl(Dwfl_Module* module, Address address) {
  GElf_Off offset = 0;
  GElf_Sym entry;
  const char* name =
      dwfl_module_addrinfo(module, address, &offset, &entry, nullptr, nullptr, nullptr);
  return name == nullptr ? "" : words(name, address - offset, entry.st_size);
}

std::string by_index(SymbolIndex& index, Address address) {
  const auto found = index.find(address);
  return found ? words(found->name, found->start, found->size) : "";
}

class OwnModules {
 public:
  OwnModules() : dwfl_(dwfl_begin(&callbacks_), dwfl_end) {
    REQUIRE(dwfl_linux_proc_report(dwfl_.get(), getpid()) == 0);
    REQUIRE(dwfl_report_end(dwfl_.get(), nullptr, nullptr) == 0);
  }
  Dwfl* get() { return dwfl_.get(); }
  Dwfl_Module* of_this_file() {
    Dwfl_Module* module = dwfl_addrmodule(get(), begin);
    REQUIRE(module != nullptr);
    return module;
  }

 private:
  const Dwfl_Callbacks callbacks_ = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo,
                                     nullptr, nullptr};
  std::unique_ptr<Dwfl, void (*)(Dwfl*)> dwfl_;
};

// Compares the two where symbols of the module begin and end, at random; returns how many addresses
// had a symbol.
std::size_t compare_some(Dwfl_Module* module) {
  constexpr int kMost = 60;
  SymbolIndex index(module);
  std::minstd_rand random(1);
  const int count = dwfl_module_getsymtab(module);
  std::size_t named = 0;
  for (int i = 0; i < std::min(kMost, count - 1); ++i) {
    const int number = std::uniform_int_distribution(1, count - 1)(random);
    GElf_Sym entry;
    GElf_Addr start = 0;
    if (dwfl_module_getsym_info(module, number, &entry, &start, nullptr, nullptr, nullptr) ==
        nullptr) {
      continue;
    }
    const Address end = start + entry.st_size;
    for (const Address address : {start - 1, start, start + entry.st_size / 2, end - 1, end}) {
      INFO(std::hex << address);
      const std::string expected = by_libdwfl(module, address);
      CHECK(by_index(index, address) == expected);
      named += expected.empty() ? 0 : 1;
    }
  }
  return named;
}

// Compares the two around the ends of the module's sections, one address after the other.
void compare_ends(Dwfl_Module* module, SymbolIndex& index, const std::vector<int>& offsets) {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module, &bias);
  for (Elf_Scn* each = nullptr; (each = elf_nextscn(elf, each)) != nullptr;) {
    GElf_Shdr header;
    REQUIRE(gelf_getshdr(each, &header) != nullptr);
    if ((header.sh_flags & SHF_EXECINSTR) == 0) continue;
    for (const int offset : offsets) {
      const Address address =
          header.sh_addr + header.sh_size + bias + static_cast<Address>(std::int64_t{offset});
      INFO(std::hex << address);
      CHECK(by_index(index, address) == by_libdwfl(module, address));
    }
  }
}

TEST_CASE("symbols at the end of a section do not depend on what was asked before",
          "[symbol_index]") {
  OwnModules modules;
  Dwfl_Module* own = modules.of_this_file();
  SymbolIndex upwards(own);
  compare_ends(own, upwards, {-1, 0, 1, 2});
  SymbolIndex downwards(own);
  compare_ends(own, downwards, {2, 1, 0, -1});
}

TEST_CASE("symbols are those that libdwfl finds", "[symbol_index]") {
  OwnModules modules;
  Dwfl_Module* own = modules.of_this_file();
  SymbolIndex index(own);
  std::size_t labels = 0;
  for (Address address = begin - 8; address <= end + 8; ++address) {
    INFO("at " << static_cast<long>(address - begin));
    const std::string expected = by_libdwfl(own, address);
    CHECK(by_index(index, address) == expected);
    CHECK(by_index(index, address) == expected);  // also where the first answer is remembered
    labels += expected.ends_with(", 0") ? 1 : 0;
  }
  CHECK(labels > 3);
  CHECK_THAT(by_index(index, begin + 3), Catch::StartsWith("si_global_inside "));
  constexpr Address kAbsolute = 0x123456;
  CHECK_FALSE(by_libdwfl(own, kAbsolute).empty());
  for (const Address address : {kAbsolute - 1, kAbsolute, kAbsolute + 1}) {
    INFO(std::hex << address);
    CHECK(by_index(index, address) == by_libdwfl(own, address));
  }
}

TEST_CASE("the order of questions does not change a symbol", "[symbol_index]") {
  OwnModules modules;
  Dwfl_Module* own = modules.of_this_file();
  std::vector<Address> addresses(end - begin + 16);
  std::iota(addresses.begin(), addresses.end(), begin - 8);
  std::vector<std::string> expected;
  for (const Address address : addresses) expected.push_back(by_libdwfl(own, address));
  std::minstd_rand random(7);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(addresses.begin(), addresses.end(), random);
    SymbolIndex index(own);
    for (const Address address : addresses) {
      INFO("round " << round << ", at " << static_cast<long>(address - begin));
      CHECK(by_index(index, address) == expected[address - (begin - 8)]);
    }
  }
}

// A file with an absurd symbol, whose end is behind the last address, and one inside of it.
std::vector<std::byte> file_of_an_absurd_size() {
  constexpr std::size_t kSymbols = 0x100, kNames = 0x200, kSections = 0x300;
  constexpr auto kText = std::to_array("\0absurd\0inner");
  std::vector<std::byte> file;
  Elf64_Ehdr header = elf_header(1);
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = header.e_version = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_ehsize = sizeof header;
  header.e_shoff = kSections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 3;
  put(file, 0, header);
  put(file, sizeof header,
      Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x1000, 0x1000, 0x1000, 0x1000});
  const auto function = [](Elf64_Word name, Address start, std::uint64_t size) {
    return Elf64_Sym{name, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), STV_DEFAULT, 1, start, size};
  };
  put(file, kSymbols, Elf64_Sym{});
  put(file, kSymbols + sizeof(Elf64_Sym), function(1, 0x1400, ~std::uint64_t{0xff}));
  put(file, kSymbols + 2 * sizeof(Elf64_Sym), function(8, 0x1500, 0x10));
  put(file, kNames, kText);
  put(file, kSections, Elf64_Shdr{});
  put(file, kSections + sizeof(Elf64_Shdr),
      Elf64_Shdr{0, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1400, 0x400, 0x400, 0, 0, 1, 0});
  put(file, kSections + 2 * sizeof(Elf64_Shdr),
      Elf64_Shdr{0, SHT_SYMTAB, 0, 0, kSymbols, 3 * sizeof(Elf64_Sym), 3, 1, 8, sizeof(Elf64_Sym)});
  put(file, kSections + 3 * sizeof(Elf64_Shdr),
      Elf64_Shdr{0, SHT_STRTAB, 0, 0, kNames, sizeof kText, 0, 0, 1, 0});
  file.resize(0x1000);
  return file;
}

TEST_CASE("a size that leads beyond the last address hides nothing", "[symbol_index]") {
  const auto bytes = file_of_an_absurd_size();
  const test::Folder folder;
  folder.write("absurd", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const Dwfl_Callbacks callbacks = {dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                                    dwfl_offline_section_address, nullptr};
  const std::unique_ptr<Dwfl, void (*)(Dwfl*)> dwfl(dwfl_begin(&callbacks), dwfl_end);
  Dwfl_Module* module =
      dwfl_report_offline(dwfl.get(), "absurd", folder.file("absurd").c_str(), -1);
  REQUIRE(module != nullptr);
  REQUIRE(dwfl_report_end(dwfl.get(), nullptr, nullptr) == 0);
  SymbolIndex index(module);
  for (const Address address : {0x13ff, 0x1400, 0x14ff, 0x1500, 0x150f, 0x1510, 0x17ff}) {
    INFO(std::hex << address);
    CHECK(by_index(index, address) == by_libdwfl(module, address));
  }
  CHECK_THAT(by_index(index, 0x1510), Catch::StartsWith("absurd "));
  CHECK_THAT(by_index(index, 0x1500), Catch::StartsWith("inner "));
}

TEST_CASE("so are those of the libraries of this process", "[symbol_index]") {
  OwnModules modules;
  std::size_t named = 0;
  const auto compare = [](Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* argument) {
    *static_cast<std::size_t*>(argument) += compare_some(module);
    return static_cast<int>(DWARF_CB_OK);
  };
  dwfl_getmodules(modules.get(), compare, &named, 0);
  CHECK(named > 500);
}

}  // namespace
}  // namespace causalctl::unwind
