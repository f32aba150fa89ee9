#include "unwind/mapped_file.h"

#include <catch2/catch.hpp>

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
  const auto files = mapped_files(maps, "/bin/a (deleted)");
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

}  // namespace causalctl::unwind
