#include "controller/symbols/kernel_symbols.h"

#include <catch2/catch.hpp>

namespace causalctl::symbols {

TEST_CASE("A function of the kernel reaches to the next one", "[symbols]") {
  const auto symbols = KernelSymbols::parse(
      "ffffffff81000100 T second\n"
      "ffffffff81000000 W weak_alias\n"
      "ffffffff81000000 t local_alias\n"
      "ffffffff81000000 T first\n"
      "ffffffff81000000 T alias_of_first\n"
      "ffffffff80000000 T __ia32_sys_sync\n"
      "ffffffff80000000 T __x64_sys_sync\n"
      "ffffffff81000180 D some_data\n"
      "ffffffffc0000200 t in_module\t[nf_tables]\n"
      "ffffffffc0000300 w last");
  CHECK(symbols.find(0xffffffff7fffffff).empty());
  CHECK(symbols.find(0xffffffff80000010) == "__x64_sys_sync");
  CHECK(symbols.find(0xffffffff81000000) == "first");
  CHECK(symbols.find(0xffffffff810000ff) == "first");
  CHECK(symbols.find(0xffffffff81000190) == "second");
  CHECK(symbols.find(0xffffffffc0000234) == "in_module");
  CHECK(symbols.find(0xffffffffc0000300) == "last");
  CHECK(symbols.find(0xffffffffc0002000).empty());  // far behind the last one
}

TEST_CASE("Where the kernel hides addresses nothing is known", "[symbols]") {
  CHECK(KernelSymbols::parse("0000000000000000 T _text\n0000000000000000 t foo\n").empty());
  CHECK(KernelSymbols::parse("").empty());
  CHECK(KernelSymbols::parse("no table\n\nffffffff81000000\nffffffff81000000 T\n"
                             "ffffffff81000000z T bad\n")
            .empty());
  CHECK(KernelSymbols().find(0xffffffff81000000).empty());
}

TEST_CASE("A function of the kernel has an end, and its code a beginning", "[symbols]") {
  const auto symbols = KernelSymbols::parse(
      "ffffffff81000000 T startup_64\n"
      "ffffffff81000000 T _stext\n"
      "ffffffff81000100 T next\n");
  CHECK(symbols.text_begin() == 0xffffffff81000000);
  const auto function = symbols.function_at(0xffffffff81000010);
  REQUIRE(function);
  CHECK(function->begin == 0xffffffff81000000);
  CHECK(function->end == 0xffffffff81000100);
  CHECK(function->name == "startup_64");
  CHECK_FALSE(symbols.function_at(0xffffffff80000000));
  CHECK(KernelSymbols().text_begin() == 0);
}

}  // namespace causalctl::symbols
