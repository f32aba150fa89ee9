// Tests the import of callgrind's files with libc as the object: it has a build-id everywhere.
#include "controller/continuous/counts/import.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "controller/base/error.h"
#include "controller/continuous/counts/callgrind_file.h"
#include "tests/support/folder.h"
#include "unwind/modules/module_file.h"
#include "unwind/tables/elf_image.h"

namespace causalctl::continuous {
namespace {

using Catch::Matchers::Contains;

constexpr Address kBias = 0x4838000;

struct Call {
  Address from = 0, to = 0;
};

std::string libc_path() {
  Dl_info info{};
  REQUIRE(dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &info) != 0);
  return std::filesystem::canonical(info.dli_fname);
}

// Returns a direct call in .text that leads into .plt.
Call call_into_plt(const std::string& path) {
  const std::string content = test::content(path);
  const unwind::ElfImage elf(std::as_bytes(std::span(content)));
  const auto text = elf.section(".text");
  const auto plt = elf.section(".plt");
  REQUIRE((text && plt));
  constexpr std::size_t kCallSize = 5;
  for (std::size_t i = 0; i + kCallSize <= text->bytes.size(); ++i) {
    if (text->bytes[i] != std::byte{0xe8}) continue;
    std::int32_t distance = 0;
    std::memcpy(&distance, &text->bytes[i + 1], sizeof distance);
    const Address from = text->address + i;
    const Address to = from + kCallSize + static_cast<Address>(std::int64_t{distance});
    if (to >= plt->address && to < plt->address + plt->bytes.size()) return {from, to};
  }
  FAIL("no call leads into .plt");
  return {};
}

std::string file_with(const std::string& body) {
  return "# callgrind format\ncmd: ./program\npositions: instr\nevents: Ir\n" + body;
}

}  // namespace

TEST_CASE("Counts get the build of their file, and its code outside of .text", "[continuous]") {
  const std::string libc = libc_path();
  const Call call = call_into_plt(libc);
  const Address in_memory = call.to + kBias;
  const test::Folder temporary;
  temporary.write("counts", file_with(fmt::format(R"(ob={0}
{1:#x} 3
jump=2 {1:#x}
*
cob=???
calls=3 {2:#x}
* 9
ob=???
{2:#x} 3
jump=3 {2:#x}
*
0x10 4
jump=4 {2:#x}
*
totals: 10
)",
                                                  libc, call.from, in_memory)));
  const Imported once = import_callgrind({temporary.file("counts")});
  CHECK(once.warnings.empty());
  CHECK(once.command == "./program");
  CHECK(once.instructions == 10);
  CHECK(once.elsewhere == 4);
  CHECK(once.left_out == 0);
  REQUIRE(once.images.size() == 1);
  const auto& [image, counts] = *once.images.begin();
  CHECK(image.path == libc);
  CHECK(image.build_id == padded_build_id(unwind::open_module_file(libc).build_id));
  CHECK(counts == ExactCounts{{{call.from, 3}, {call.to, 3}},
                              {{{call.from, call.from}, 2}, {{call.to, call.to}, 3}}});
  const Imported twice = import_callgrind({temporary.file("counts"), temporary.file("counts")});
  CHECK(twice.images.begin()->second.instructions == Executions{{call.from, 6}, {call.to, 6}});
  CHECK(twice.instructions == 20);
}

TEST_CASE("Objects that are gone, changed or have no build-id are left out", "[continuous]") {
  const test::Folder temporary;
  temporary.write("no_elf", "text");
  temporary.write("counts",
                  file_with(fmt::format("ob=/nonexistent/program\n0x10 1\njump=1 0x10\n*\n"
                                        "ob={}\n0x10 2\nob={}\n0x2 4\ntotals: 7\n",
                                        temporary.file("no_elf"), libc_path())));
  const Imported imported = import_callgrind({temporary.file("counts")});
  CHECK(imported.images.empty());
  CHECK(imported.left_out == 7);
  REQUIRE(imported.warnings.size() == 3);
  const auto has = [&](const std::string& text) {
    return std::any_of(imported.warnings.begin(), imported.warnings.end(),
                       [&](const std::string& each) { return each.find(text) != each.npos; });
  };
  CHECK(has("/nonexistent/program: its counts are left out, because it cannot be opened: No such"));
  CHECK(has("no_elf: its counts are left out, because it has no build-id"));
  CHECK(has("because it has no code where the counts are"));
}

TEST_CASE("A file that was changed after it was counted is told of", "[continuous]") {
  const test::Folder temporary;
  const std::string libc = libc_path();
  const Address address = call_into_plt(libc).from;
  temporary.write("counts", file_with(fmt::format("ob={}\n{:#x} 1\ntotals: 1\n", libc, address)));
  CHECK(import_callgrind({temporary.file("counts")}).warnings.size() == 1);  // no jumps
  const auto time = std::filesystem::file_time_type::clock::now() - std::chrono::years(30);
  std::filesystem::last_write_time(temporary.file("counts"), time);
  const Imported imported = import_callgrind({temporary.file("counts")});
  CHECK(imported.images.size() == 1);
  REQUIRE(imported.warnings.size() == 2);
  CHECK_THAT(imported.warnings[0], Contains("was changed after"));
  CHECK_THAT(imported.warnings[1], Contains("--collect-jumps=yes"));
}

TEST_CASE("A file that cannot be read says how to write one", "[continuous]") {
  try {
    import_callgrind({"/nonexistent/counts"});
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Contains("/nonexistent/counts"));
    CHECK(error.hint() == callgrind_command());
  }
}

}  // namespace causalctl::continuous
