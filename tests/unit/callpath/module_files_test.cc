#include "controller/callpath/places/module_files.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/fd.h"
#include "tests/support/folder.h"

namespace causalctl::callpath {
namespace {

using test::Folder;

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::string written(const Folder& folder, int number, const std::string& text) {
  const std::string path = folder.file("lib" + std::to_string(number) + ".so");
  std::ofstream(path) << text;
  return path;
}

// As if it were mapped.
unwind::MappedFile mapped(const std::string& path) {
  unwind::MappedFile file;
  file.path = path;
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  file.device = std::uint64_t{major(status.st_dev)} << 32U | minor(status.st_dev);
  file.inode = status.st_ino;
  return file;
}

void add(ModuleFiles& files, const std::string& path) {
  files.add(files.open(getpid(), mapped(path)), path);
}

// No further file can be opened meanwhile.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{64, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = dup(0); fd >= 0; fd = dup(0)) taken_.emplace_back(fd);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<Fd> taken_;
};

}  // namespace

TEST_CASE("of any number of files few are open, and others are opened again", "[callpath]") {
  const Folder folder;
  ModuleFiles files;
  const std::size_t before = open_descriptors();
  constexpr int kFiles = 300;
  for (int i = 0; i < kFiles; ++i) add(files, written(folder, i, "text"));
  CHECK(open_descriptors() <= before + files.most_open());
  CHECK(files.get(kFiles - 1)->fd);
  const auto first = files.get(0);
  CHECK(first->fd);
  for (std::uint32_t i = 1; i < kFiles; ++i) CHECK(files.get(i)->fd);
  CHECK(first->fd);  // as long as it is used
  CHECK(open_descriptors() <= before + files.most_open() + 1);
}

TEST_CASE("a name that means another file by now does not count", "[callpath]") {
  const Folder folder;
  ModuleFiles files;
  for (int i = 0; i < 300; ++i) add(files, written(folder, i, "text"));
  const std::string path = folder.file("lib0.so");
  std::filesystem::rename(written(folder, 1000, "another text"), path);
  CHECK_FALSE(files.get(0)->fd);
}

TEST_CASE("time without names is told if files could not be opened", "[callpath]") {
  const Folder folder;
  ModuleFiles files;
  Recording recording;
  for (std::uint32_t i = 0; i < 2; ++i) {
    recording.modules.push_back({written(folder, static_cast<int>(i), "text"), ""});
    recording.locations.push_back({i, 0, false, {}});
    const NodeId node = recording.tree.path(std::array{LocationId{i}});
    recording.add({0, 0, Metric::samples}, node, i == 0 ? 100 : 300);
  }
  add(files, recording.modules[0].path);
  const auto in_use = files.get(0);  // so that closing it helps nobody
  {
    const auto file = mapped(recording.modules[1].path);
    const NoDescriptors none;
    files.add(files.open(getpid(), file), file.path);
  }
  files.warn(recording);
  REQUIRE(recording.warnings.size() == 1);
  CHECK(recording.warnings[0] ==
        "75 % of the CPU time has no names, because its files could not be opened: " +
            recording.modules[1].path +
            " (Too many open files; let causalctl have more of them (ulimit -n))");
}

TEST_CASE("where too many files are open, others are closed for the next", "[callpath]") {
  const Folder folder;
  ModuleFiles files;
  for (int i = 0; i < 3; ++i) add(files, written(folder, i, "text"));
  const auto file = mapped(written(folder, 3, "text"));
  const NoDescriptors none;
  CHECK(files.open(getpid(), file).fd);
}

}  // namespace causalctl::callpath
