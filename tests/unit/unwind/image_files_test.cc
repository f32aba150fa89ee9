#include "unwind/modules/image_files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/folder.h"
#include "tests/unit/unwind/elf_bytes.h"
#include "unwind/modules/vdso.h"

namespace causalctl::unwind {
namespace {

constexpr Pid kGone = 0x7ffffffe;  // a number that no process has

MappedFile place_of(const std::string& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  MappedFile file;
  file.path = path;
  file.device = std::uint64_t{major(status.st_dev)} << 32U | minor(status.st_dev);
  file.inode = status.st_ino;
  file.start = 0x10000000;  // nothing is mapped there
  file.end = file.start + 0x1000;
  file.first = {file.start, file.end};
  return file;
}

// An ELF file with so many bytes of code.
std::string program(std::size_t size) {
  std::vector<std::byte> file;
  put_elf_header(file, 1);
  Elf64_Phdr header{};
  header.p_type = PT_LOAD;
  header.p_filesz = header.p_memsz = size;
  header.p_flags = PF_R | PF_X;
  put(file, sizeof(Elf64_Ehdr), header);
  file.resize(file.size() + size);
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

bool is_empty(const ImageFile& file) { return file.elf().file().empty(); }

}  // namespace

TEST_CASE("one file is shared by all processes, also those that are gone", "[unwind]") {
  const test::Folder folder;
  folder.write("a.so", program(10));
  const MappedFile place = place_of(folder.file("a.so"));
  ImageFiles files;
  const auto first = files.of(kGone, place);
  CHECK_FALSE(is_empty(*first));
  CHECK(files.of(getpid(), place) == first);
  MappedFile other = place;
  ++other.inode;  // the name means another file by now
  CHECK(is_empty(*files.of(kGone, other)));
  other.inode = 0;  // nothing to compare
  CHECK(is_empty(*files.of(kGone, other)));
}

TEST_CASE("a file that is known needs no name", "[unwind]") {
  const test::Folder folder;
  folder.write("a.so", program(10));
  const MappedFile place = place_of(folder.file("a.so"));
  ImageFiles files;
  const auto first = files.of(kGone, place);
  SECTION("removed") { std::filesystem::remove(folder.file("a.so")); }
  SECTION("replaced") {
    folder.write("b.so", program(20));
    std::filesystem::rename(folder.file("b.so"), folder.file("a.so"));
    CHECK(files.of(kGone, place_of(folder.file("a.so"))) != first);
  }
  CHECK(files.of(kGone, place) == first);
}

TEST_CASE("data that is mapped as code is not kept", "[unwind]") {
  const test::Folder folder;
  folder.write("data", "text");
  ImageFiles files;
  CHECK(is_empty(*files.of(kGone, place_of(folder.file("data")))));
  CHECK(files.size() == 0);
}

TEST_CASE("a file that was written anew is another one", "[unwind]") {
  const test::Folder folder;
  folder.write("a.so", program(10));
  const MappedFile place = place_of(folder.file("a.so"));
  ImageFiles files;
  const auto first = files.of(kGone, place);
  folder.write("a.so", program(20));
  const auto second = files.of(kGone, place);
  CHECK(second != first);
  CHECK(files.of(kGone, place) == second);
}

TEST_CASE("of files that no process has the latest are kept", "[unwind]") {
  const test::Folder folder;
  ImageFiles files;
  std::vector<std::shared_ptr<ImageFile>> in_use;
  const auto name = [](std::size_t number) { return std::to_string(number) + ".so"; };
  constexpr std::size_t kFiles = 2 * ImageFiles::kMostUnused;
  for (std::size_t i = 0; i < kFiles; ++i) {
    folder.write(name(i), program(10));
    in_use.push_back(files.of(kGone, place_of(folder.file(name(i)))));
  }
  CHECK(files.size() == kFiles);
  const auto last = in_use.back();
  const std::weak_ptr<ImageFile> first = in_use.front();
  in_use.clear();
  folder.write("another", program(10));
  const auto another = files.of(kGone, place_of(folder.file("another")));
  CHECK(files.size() == ImageFiles::kMostUnused + 1);
  CHECK(first.expired());
  CHECK(files.of(kGone, place_of(folder.file(name(kFiles - 1)))) == last);
}

TEST_CASE("a process that is gone has the vdso of this one", "[unwind]") {
  MappedFile place;
  place.path = kVdso;
  place.start = 0x10000000;
  place.end = place.start + 0x2000;
  ImageFiles files;
  const auto vdso = files.of(kGone, place);
  CHECK(vdso->elf().valid());
  CHECK(files.of(kGone, place) == vdso);
}

}  // namespace causalctl::unwind
