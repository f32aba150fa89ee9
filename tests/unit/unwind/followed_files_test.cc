#include "unwind/modules/followed_files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/folder.h"
#include "tests/unit/unwind/elf_bytes.h"

namespace causalctl::unwind {
namespace {

constexpr Address kPlace = 0x10000000;  // nothing is mapped there
constexpr Address kPage = 0x1000;

// A library of `pages` pages, whose text are the pages from `text` to `text_end`.
struct Library {
  Library(const test::Folder& folder, const std::string& name, Address text, Address text_end,
          Address pages)
      : text_(text), text_end_(text_end), pages_(pages), path_(folder.file(name)) {
    std::vector<std::byte> file(pages * kPage);
    put_elf_header(file, 3);
    const auto segment = [&](std::size_t index, Address from, Address to, std::uint32_t flags) {
      Elf64_Phdr header{};
      header.p_type = PT_LOAD;
      header.p_offset = header.p_vaddr = from * kPage;
      header.p_filesz = header.p_memsz = (to - from) * kPage;
      header.p_align = kPage;
      header.p_flags = flags;
      put(file, sizeof(Elf64_Ehdr) + index * sizeof header, header);
    };
    segment(0, 0, text, PF_R);
    segment(1, text, text_end, PF_R | PF_X);
    segment(2, text_end, pages, PF_R);
    folder.write(name, {reinterpret_cast<const char*>(file.data()), file.size()});
  }

  procfs::Map line(Address from, Address to, bool executable) const {
    struct stat status {};
    REQUIRE(stat(path_.c_str(), &status) == 0);
    procfs::Map map;
    map.start = kPlace + from * kPage;
    map.end = kPlace + to * kPage;
    map.readable = true;
    map.executable = executable;
    map.offset = from * kPage;
    map.device = std::uint64_t{major(status.st_dev)} << 32U | minor(status.st_dev);
    map.inode = status.st_ino;
    map.path = path_;
    return map;
  }
  std::vector<procfs::Map> lines() const {
    return {line(0, text_, false), line(text_, text_end_, true), line(text_end_, pages_, false)};
  }
  procfs::Map code() const { return line(text_, text_end_, true); }

  Address text_, text_end_, pages_;
  std::string path_;
};

std::vector<std::string> paths(const std::vector<MappedFile>& files) {
  std::vector<std::string> all;
  for (const MappedFile& file : files) all.push_back(file.path);
  return all;
}

}  // namespace

TEST_CASE("a library takes the place of the one that was there, however large each is",
          "[unwind]") {
  const test::Folder folder;
  const Library early(folder, "early.so", 1, 3, 5);
  const Library late(folder, "late.so", 6, 8, 9);
  const Library in_front(folder, "in_front.so", 1, 2, 12);
  const std::vector<const Library*> all = {&early, &late, &in_front};
  for (const Library* before : all) {
    for (const Library* after : all) {
      INFO(before->path_ << " then " << after->path_);
      FollowedFiles files(getpid());
      CHECK(paths(files.take(before->lines())) == std::vector{before->path_});
      const auto found = files.mapped(after->code());
      REQUIRE(paths(found) == std::vector{after->path_});
      CHECK(found[0].bias == kPlace);
      CHECK(found[0].start == kPlace);
      CHECK(found[0].end == kPlace + after->pages_ * kPage);
      const auto& maps = files.maps();
      CHECK(std::is_sorted(maps.begin(), maps.end(),
                           [](const auto& a, const auto& b) { return a.start < b.start; }));
    }
  }
}

TEST_CASE("code in no file leaves the file around it", "[unwind]") {
  const test::Folder folder;
  const Library library(folder, "a.so", 1, 3, 5);
  FollowedFiles files(getpid());
  files.take(library.lines());
  procfs::Map compiled;
  compiled.start = kPlace + 0x20 * kPage;
  compiled.end = compiled.start + kPage;
  compiled.executable = true;
  CHECK(paths(files.mapped(compiled)) == std::vector{library.path_});
}

TEST_CASE("what was noted together is as if it was taken one by one", "[unwind]") {
  const test::Folder folder;
  const Library early(folder, "early.so", 1, 3, 5);
  const Library late(folder, "late.so", 6, 8, 9);
  const Library in_front(folder, "in_front.so", 1, 2, 12);
  procfs::Map compiled;
  compiled.start = kPlace + 0x20 * kPage;
  compiled.end = compiled.start + kPage;
  compiled.executable = true;
  procfs::Map elsewhere = early.code();
  elsewhere.start += 0x100 * kPage;
  elsewhere.end += 0x100 * kPage;
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  const std::vector<procfs::Map> lines = {early.code(), late.code(), in_front.code(), compiled,
                                          elsewhere};
  const bool has_data = GENERATE(false, true);
  do {
    FollowedFiles noted(getpid());
    FollowedFiles one_by_one(getpid());
    if (has_data) noted.take(late.lines());
    if (has_data) one_by_one.take(late.lines());
    for (const std::size_t each : order) noted.note(lines[each]);
    for (const std::size_t each : order) one_by_one.mapped(lines[each]);
    REQUIRE(noted.files() == one_by_one.files());
    REQUIRE(noted.maps().size() == one_by_one.maps().size());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("what was noted of a process that is gone is taken later", "[unwind]") {
  const test::Folder folder;
  const Library first(folder, "first.so", 1, 3, 5);
  const Library second(folder, "second.so", 1, 2, 3);
  constexpr Pid kGone = 0x7ffffffe;  // a number that no process has
  const auto shared = std::make_shared<ImageFiles>();
  FollowedFiles files(kGone, shared, first.lines());
  files.note(second.code());
  CHECK(shared->size() == 1);
  std::filesystem::remove(second.path_);
  const auto found = files.files();
  REQUIRE(paths(found) == std::vector{second.path_});
  CHECK(found[0].bias == kPlace);
  CHECK(found[0].end == kPlace + 3 * kPage);
  CHECK(files.maps().size() == 1);
  FollowedFiles child(kGone, shared, files.maps());
  CHECK(child.files() == found);
  files.note(first.code());
  files.unmap_all();
  CHECK(files.files().empty());
  CHECK(files.maps().empty());
  CHECK(child.files() == found);
}

}  // namespace causalctl::unwind
