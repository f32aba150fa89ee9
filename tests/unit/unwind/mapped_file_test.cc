#include "unwind/modules/mapped_file.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "controller/base/loader.h"
#include "unwind/modules/module_file.h"

namespace causalctl::unwind {

TEST_CASE("Mappings of one loaded file come together", "[unwind]") {
  const auto maps = procfs::parse_maps(
      "1000-2000 r--p 00000000 fe:01 11 /bin/a (deleted)\n"
      "2000-3000 r-xp 00001000 fe:01 11 /bin/a (deleted)\n"
      "3000-4000 r--p 00002000 fe:01 11 /bin/a (deleted)\n"
      "4000-5000 r--p 00002000 fe:01 11 /bin/a (deleted)\n"
      "5000-6000 rw-p 00000000 00:00 0 \n"
      "6000-7000 rw-p 00000000 00:00 0 [heap]\n"
      "7000-8000 r--p 00000000 fe:01 12 /usr/lib/locale/archive\n"
      "8000-9000 r-xp 00000000 fe:01 13 /lib/b.so\n"
      "9000-a000 rw-p 00001000 fe:01 13 /lib/b.so\n"
      "a000-b000 r-xp 00000000 fe:01 13 /lib/b.so\n"
      "b000-c000 r-xp 00000000 00:00 0 [vdso]\n"
      "c000-d000 --xp 00000000 00:00 0 [vsyscall]\n"
      "d000-e000 r-xp 00000000 00:00 0 \n");
  const auto files = mapped_files(maps, "/bin/a");
  REQUIRE(files.size() == 4);
  CHECK(files[0].path == "/bin/a");
  CHECK(files[0].main);
  CHECK(files[0].start == 0x1000);
  CHECK(files[0].end == 0x5000);
  CHECK(files[0].code == std::vector<MappedRange>{{0x2000, 0x3000}});
  CHECK(files[0].first == MappedRange{0x1000, 0x2000});
  CHECK(files[1].path == "/lib/b.so");
  CHECK(files[1].end == 0xa000);
  CHECK_FALSE(files[1].main);
  CHECK(files[2].start == 0xa000);  // it is loaded twice
  CHECK(files[3].path == "[vdso]");
  CHECK(mapped_files({}, "").empty());
}

TEST_CASE("Shared memory with code is a file only if it is a library", "[unwind]") {
  const auto maps = procfs::parse_maps(
      "1000-2000 r-xs 00000000 00:01 11 /memfd:doublemapper (deleted)\n"
      "2000-3000 r-xs 00000000 00:01 12 /dev/zero (deleted)\n"
      "3000-4000 r-xs 00000000 00:01 13 /SYSV00000000 (deleted)\n"
      "4000-5000 r-xs 00000000 00:1a 14 /dev/shm/code\n"
      "5000-6000 r-xp 00000000 00:01 15 /memfd:library (deleted)\n"
      "6000-7000 r-xp 00000000 fe:01 16 /home/code\n");
  const std::vector<LoadSegment> segments = {{0, 0x1000, 0, 0x1000, 0x1000, true}};
  FileFacts facts;
  facts.segments = [&](const procfs::Map& map) {
    return std::span(segments).first(map.path.starts_with("/memfd:library") ? 1 : 0);
  };
  const auto files = mapped_files(maps, "", facts);
  REQUIRE(files.size() == 2);
  CHECK(files[0].path == "/memfd:library");
  CHECK(files[1].path == "/home/code");
}

namespace {

// A file of six pages: its text is pages 1 and 2, its constants page 3, its data pages 4 and 5.
std::vector<LoadSegment> segments_of_a(Address first) {
  return {{0, 0x400, first, 0x400, 0x1000, false},
          {0x1000, 0x1e00, first + 0x1000, 0x1e00, 0x1000, true},
          {0x3000, 0x300, first + 0x3000, 0x300, 0x1000, false},
          {0x3dd0, 0x1200, first + 0x4dd0, 0x1800, 0x1000, false}};
}

FileFacts facts_of(const std::vector<LoadSegment>& segments) {
  FileFacts facts;
  facts.segments = [&segments](const procfs::Map& map) {
    return map.path.starts_with("/bin/a") ? std::span<const LoadSegment>(segments)
                                          : std::span<const LoadSegment>();
  };
  return facts;
}

const std::string kLoaded =
    "10000-11000 r--p 00000000 fe:01 11 /bin/a\n"
    "11000-13000 r-xp 00001000 fe:01 11 /bin/a\n"
    "13000-14000 r--p 00003000 fe:01 11 /bin/a\n"
    "14000-16000 rw-p 00003000 fe:01 11 /bin/a\n";

void check_loaded_once(const std::string& before, const std::string& after) {
  const auto segments = segments_of_a(0);
  const auto files =
      mapped_files(procfs::parse_maps(before + kLoaded + after), "/bin/a", facts_of(segments));
  INFO(before << after);
  REQUIRE(files.size() == 1);
  CHECK(files[0].start == 0x10000);
  CHECK(files[0].end == 0x17000);
  CHECK(files[0].bias == 0x10000);
  CHECK(files[0].first == MappedRange{0x10000, 0x11000});
  CHECK(files[0].code == std::vector<MappedRange>{{0x11000, 0x13000}});
}

}  // namespace

TEST_CASE("A file that is mapped again as data is no second copy", "[unwind]") {
  const std::string as_data = "a000-10000 r--p 00000000 fe:01 11 /bin/a\n";
  const std::string as_code = "a000-10000 r-xp 00000000 fe:01 11 /bin/a\n";
  check_loaded_once("", "");
  check_loaded_once(as_data, "");
  check_loaded_once(as_code, "");
  check_loaded_once("", "17000-1d000 r--p 00000000 fe:01 11 /bin/a\n");
  check_loaded_once("", "17000-1d000 r-xp 00000000 fe:01 11 /bin/a\n");
  check_loaded_once(
      "a000-b000 r--p 00004000 fe:01 11 /bin/a\n"
      "c000-d000 r--p 00002000 fe:01 11 /bin/a\n"
      "f000-10000 r--p 00000000 fe:01 11 /bin/a\n",
      "17000-18000 r--p 00005000 fe:01 11 /bin/a\n");
}

TEST_CASE("Text in pieces is one copy, another bias is another copy", "[unwind]") {
  const auto segments = segments_of_a(0x400000);  // as if prelinked
  const auto files = mapped_files(procfs::parse_maps("10000-11000 r--p 00000000 fe:01 11 /bin/a\n"
                                                     "11000-12000 r-xp 00001000 fe:01 11 /bin/a\n"
                                                     "12000-13000 rwxp 00002000 fe:01 11 /bin/a\n"
                                                     "20000-21000 r--p 00000000 fe:01 11 /bin/a\n"
                                                     "21000-23000 r-xp 00001000 fe:01 11 /bin/a\n"),
                                  "/bin/a", facts_of(segments));
  REQUIRE(files.size() == 2);
  CHECK(files[0].bias == Address{0x10000} - 0x400000);
  CHECK(files[0].start == 0x10000);
  CHECK(files[0].code == std::vector<MappedRange>{{0x11000, 0x12000}, {0x12000, 0x13000}});
  CHECK(files[1].start == 0x20000);
}

TEST_CASE("Text that was moved to anonymous memory is still its file's", "[unwind]") {
  const auto segments = segments_of_a(0);
  auto facts = facts_of(segments);
  bool same = true;
  facts.same_bytes = [&same](const procfs::Map&, Address bias, const MappedRange& range) {
    return same && bias == 0x10000 && range == MappedRange{0x11000, 0x13000};
  };
  for (const std::string line :
       {"11000-13000 r-xp 00000000 00:00 0 \n", "11000-13000 r-xp 00000000 00:00 0 [anon:hot]\n",
        "11000-13000 r-xp 00000000 00:0f 77 /anon_hugepage (deleted)\n",
        "11000-13000 r-xp 00000000 00:01 78 /memfd:text (deleted)\n"}) {
    const auto maps = procfs::parse_maps("10000-11000 r--p 00000000 fe:01 11 /bin/a\n" + line +
                                         "13000-14000 r--p 00003000 fe:01 11 /bin/a\n"
                                         "14000-16000 rw-p 00003000 fe:01 11 /bin/a\n"
                                         "18000-19000 r-xp 00000000 00:00 0 \n");
    INFO(line);
    same = true;
    const auto files = mapped_files(maps, "/bin/a", facts);
    REQUIRE(files.size() == 1);
    CHECK(files[0].path == "/bin/a");
    CHECK(files[0].main);
    CHECK(files[0].start == 0x10000);
    CHECK(files[0].code == std::vector<MappedRange>{{0x11000, 0x13000}});
    same = false;  // code that was compiled at run time
    for (const MappedFile& file : mapped_files(maps, "/bin/a", facts)) CHECK(file.path != "/bin/a");
  }
}

TEST_CASE("The file with the program headers is the executable", "[unwind]") {
  auto files = mapped_files(procfs::parse_maps("1000-2000 r-xp 00000000 fe:01 11 /home/me/prog\n"
                                               "5000-6000 r-xp 00000000 fe:01 13 /lib/ld.so\n"),
                            "/lib/ld.so");
  CHECK_FALSE(take_main(files, 0x3000));
  CHECK(files[1].main);
  CHECK(take_main(files, 0x1040));
  CHECK(files[0].main);
  CHECK_FALSE(files[1].main);
}

TEST_CASE("The auxiliary vector is found on the stack", "[unwind]") {
  std::vector<std::uint64_t> stack(600, 0);
  const std::vector<std::uint64_t> begin = {2, 1000, 2000, 0, 3000, 0, 0, 9, 0x401000, 3, 0x400040};
  std::copy(begin.begin(), begin.end(), stack.begin());
  constexpr Address at = 0x7ffd00000ff0;  // the vector goes on in the next page
  const ReadMemory read = [&](Address address, std::span<std::byte> bytes) {
    if (address < at || address - at + bytes.size() > stack.size() * 8) return false;
    std::copy_n(std::as_bytes(std::span(stack)).begin() + static_cast<long>(address - at),
                bytes.size(), bytes.begin());
    return true;
  };
  CHECK(auxiliary_on_stack(at, 3, read) == 0x400040);
  CHECK(auxiliary_on_stack(at, 9, read) == 0x401000);
  CHECK(auxiliary_on_stack(at, 6, read) == 0);
  CHECK(auxiliary_on_stack(at + 8, 3, read) == 0);  // no count of arguments
  CHECK(auxiliary_on_stack(0, 3, read) == 0);
}

TEST_CASE("A program that the loader was started with is the executable", "[unwind]") {
  using namespace std::string_literals;
  CHECK(is_loader("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"));
  CHECK_FALSE(is_loader("/usr/bin/ld"));
  const auto maps = procfs::parse_maps(
      "1000-2000 r-xp 00000000 fe:01 11 /home/me/prog\n"
      "3000-4000 r-xp 00000000 fe:01 12 /lib/libc.so.6\n"
      "5000-6000 r-xp 00000000 fe:01 13 /lib/ld-linux-x86-64.so.2\n");
  auto files = mapped_files(maps, "/lib/ld-linux-x86-64.so.2");
  take_program_of_loader(files, "/lib/ld-linux-x86-64.so.2\0--argv0\0nosuch\0"s);
  CHECK(files[2].main);
  take_program_of_loader(files, "/lib/ld-linux-x86-64.so.2\0./prog\0libc.so.6\0"s);
  CHECK(files[0].main);
  CHECK_FALSE(files[1].main);
  CHECK_FALSE(files[2].main);
}

TEST_CASE("A new mapping replaces what was there", "[unwind]") {
  const auto maps = procfs::parse_maps(
      "1000-2000 r--p 00000000 fe:01 11 /lib/a.so\n"
      "2000-5000 r-xp 00001000 fe:01 11 /lib/a.so\n"
      "6000-7000 rw-p 00000000 00:00 0 [heap]\n");
  const auto with = [&](const std::string& line) {
    std::string text;
    for (const auto& map : with_mapping(maps, procfs::parse_maps(line).at(0))) {
      text += fmt::format("{:x}-{:x}@{:x} {} ", map.start, map.end, map.offset, map.path);
    }
    return text;
  };
  CHECK(with("2000-5000 r-xp 00001000 fe:01 12 /lib/b.so\n") ==
        "1000-2000@0 /lib/a.so 2000-5000@1000 /lib/b.so 6000-7000@0 [heap] ");
  CHECK(with("3000-4000 r-xp 00000000 fe:01 12 /lib/b.so\n") ==
        "1000-2000@0 /lib/a.so 2000-3000@1000 /lib/a.so 3000-4000@0 /lib/b.so "
        "4000-5000@3000 /lib/a.so 6000-7000@0 [heap] ");
  CHECK(with("4000-9000 r-xp 00000000 fe:01 12 /lib/b.so\n") ==
        "1000-2000@0 /lib/a.so 2000-4000@1000 /lib/a.so 4000-9000@0 /lib/b.so ");
  CHECK(with("8000-9000 r-xp 00000000 fe:01 12 /lib/b.so\n") ==
        "1000-2000@0 /lib/a.so 2000-5000@1000 /lib/a.so 6000-7000@0 [heap] 8000-9000@0 /lib/b.so ");
}

TEST_CASE("A segment of code is mapped from the page in which it begins", "[unwind]") {
  ModuleFile file;  // as lld makes it
  file.segments = {{0, 0x5e4, 0, 0x5e4, 0x1000, false},
                   {0x5f0, 0xb00, 0x15f0, 0xb00, 0x1000, true}};
  CHECK(file.link_address(0) == 0x1000);
  CHECK(file.link_address(0x600) == 0x1600);
  CHECK(file.link_address(0x1000) == 0x2000);
  CHECK(file.link_address(0x10f0) == std::nullopt);
}

}  // namespace causalctl::unwind
