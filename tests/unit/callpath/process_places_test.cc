#include "controller/callpath/places/process_places.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "controller/callpath/record/limits.h"
#include "tests/support/folder.h"

namespace causalctl {

using callpath::LocationId;
using callpath::Places;
using callpath::ProcessPlaces;
using callpath::Recording;

namespace {

constexpr Address kFree = 0x10000000;  // nothing is mapped there
constexpr std::uint64_t kLength = 0x3000;

perf::MapEvent mapping(const std::string& path, Address start, std::uint64_t length,
                       std::uint64_t offset) {
  perf::MapEvent event;
  event.start = start;
  event.length = length;
  event.file_offset = offset;
  event.path = path;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    event.device = std::uint64_t{major(status.st_dev)} << 32U | minor(status.st_dev);
    event.inode = status.st_ino;
  }
  return event;
}

struct PlacesFixture {
  PlacesFixture() { places.read(); }
  const callpath::Location& at(Address address, bool is_call = false) {
    return recording.locations.at(places.at(address, is_call));
  }
  std::string module_at(Address address) { return recording.modules.at(at(address).module).path; }

  Recording recording;
  Places all{recording};
  ProcessPlaces places{getpid(), all};
};

// A process that does nothing, with a perf map.
class MappedChild {
 public:
  explicit MappedChild(const std::string& perf_map) : pid_(fork()) {
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) pause();
    }
    std::ofstream(path()) << perf_map;
  }
  ~MappedChild() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove(path());
  }
  MappedChild(const MappedChild&) = delete;
  MappedChild& operator=(const MappedChild&) = delete;
  Pid pid() const { return pid_; }

 private:
  std::string path() const { return "/tmp/perf-" + std::to_string(pid_) + ".map"; }

  Pid pid_;
};

constexpr Pid kGone = 0x7ffffffe;  // a number that no process has

}  // namespace

TEST_CASE("an address is what is mapped there at that time", "[callpath]") {
  PlacesFixture fixture;
  CHECK(fixture.module_at(kFree + 0x10) == callpath::kAnonymous);
  CHECK(fixture.at(kFree + 0x10).offset == kFree + 0x10);
  fixture.places.mapped(mapping("/nowhere/a.so", kFree, kLength, 0x1000));
  CHECK(fixture.module_at(kFree + 0x10) == callpath::kAnonymous);  // a record without an inode
  auto event = mapping("/nowhere/a.so", kFree, kLength, 0x1000);
  event.inode = 77;
  fixture.places.mapped(event);
  CHECK(fixture.module_at(kFree + 0x10) == "/nowhere/a.so");
  CHECK(fixture.at(kFree + 0x10).offset == 0x1010);
  event = mapping("/nowhere/b.so", kFree + 0x1000, 0x1000, 0x5000);
  event.inode = 78;
  fixture.places.mapped(event);  // in the middle of the first one
  CHECK(fixture.module_at(kFree + 0xfff) == "/nowhere/a.so");
  CHECK(fixture.module_at(kFree + 0x1000) == "/nowhere/b.so");
  CHECK(fixture.at(kFree + 0x1000).offset == 0x5000);
  CHECK(fixture.module_at(kFree + 0x2000) == "/nowhere/a.so");
  CHECK(fixture.at(kFree + 0x2000).offset == 0x3000);
  CHECK(fixture.module_at(kFree + kLength) == callpath::kAnonymous);
}

TEST_CASE("a file that is mapped elsewhere is the same place", "[callpath]") {
  PlacesFixture fixture;
  auto event = mapping("/nowhere/a.so", kFree, kLength, 0x1000);
  event.inode = 77;
  fixture.places.mapped(event);
  const LocationId first = fixture.places.at(kFree + 0x20, false);
  CHECK(fixture.places.at(kFree + 0x20, true) != first);  // another place: the call before it
  event.start += 0x100000;
  fixture.places.mapped(event);
  CHECK(fixture.places.at(kFree + 0x100020, false) == first);
}

TEST_CASE("a call at the end of a mapping belongs to it", "[callpath]") {
  PlacesFixture fixture;
  auto event = mapping("/nowhere/a.so", kFree, kLength, 0);
  event.inode = 77;
  fixture.places.mapped(event);
  CHECK(fixture.recording.modules.at(fixture.at(kFree + kLength, true).module).path ==
        "/nowhere/a.so");
}

TEST_CASE("locations are link-time addresses, of what is mapped at the beginning, too",
          "[callpath]") {
  PlacesFixture fixture;
  const auto here = reinterpret_cast<Address>(&mapping);
  const auto& location = fixture.at(here);
  const auto kept = fixture.all.files().get(location.module);
  const auto& file = *kept;
  REQUIRE(file.fd);
  CHECK_FALSE(file.segments.empty());
  bool is_code = false;
  for (const auto& segment : file.segments) {
    is_code |= segment.executable && location.offset >= segment.address &&
               location.offset - segment.address < segment.memory_size;
  }
  CHECK(is_code);
}

TEST_CASE("a library is one module, whoever has loaded it", "[callpath]") {
  PlacesFixture fixture;
  ProcessPlaces other{kGone, fixture.all};
  auto event = mapping("/nowhere/a.so", kFree, kLength, 0x1000);
  event.inode = 77;
  fixture.places.mapped(event);
  event.start += 0x100000;
  other.mapped(event);
  CHECK(other.at(kFree + 0x100020, true) == fixture.places.at(kFree + 0x20, true));
  CHECK(fixture.recording.locations.at(other.at(kFree + 0x20, false)).module == 0);
}

TEST_CASE("files of one path are different modules of two processes", "[callpath]") {
  PlacesFixture fixture;
  ProcessPlaces first{kGone, fixture.all};
  ProcessPlaces other{kGone, fixture.all};
  CHECK(first.modules()->empty());
  auto event = mapping("/nowhere/app", kFree, kLength, 0x1000);
  event.inode = 77;
  first.mapped(event);
  event.inode = 78;  // in another container
  other.mapped(event);
  REQUIRE(first.modules()->contains("/nowhere/app"));
  REQUIRE(other.modules()->contains("/nowhere/app"));
  CHECK(first.modules()->at("/nowhere/app") != other.modules()->at("/nowhere/app"));
  CHECK(first.modules()->at("/nowhere/app") == fixture.all.at(first.at(kFree, false)).module);
  const auto before = first.modules();
  first.unmap_all();
  CHECK(first.modules()->empty());
  CHECK(before->size() == 1);
}

TEST_CASE("code in no file without a name is of its program alone", "[callpath]") {
  PlacesFixture fixture;
  ProcessPlaces other{kGone, fixture.all};
  const LocationId first = fixture.places.at(kFree, false);
  const LocationId second = other.at(kFree, false);
  CHECK(first != second);
  CHECK(fixture.places.at(kFree, false) == first);
  CHECK(other.at(kFree, false) == second);
  other.unmap_all();  // it runs another program
  CHECK(other.at(kFree, false) != second);
}

TEST_CASE("code of a set in no file without a name has a module of its program",
          "[callpath][set]") {
  PlacesFixture fixture;
  fixture.places.runs("node");
  ProcessPlaces java{kGone, fixture.all};
  java.runs("java");
  ProcessPlaces child{kGone, java};
  const auto module_of = [&](ProcessPlaces& places) {
    return fixture.recording.modules.at(fixture.all.at(places.at(kFree, false)).module).path;
  };
  CHECK(module_of(fixture.places) == "[anonymous in node]");
  CHECK(module_of(java) == "[anonymous in java]");
  CHECK(module_of(child) == "[anonymous in java]");
  CHECK(child.at(kFree, false) != java.at(kFree, false));
}

TEST_CASE("places of code in no file are bounded", "[callpath]") {
  Recording recording;
  Places places(recording);
  const auto compiled = [&](Address address, const char* name) {
    return places.compiled({1, ""}, address, false, name);
  };
  for (Address address = 1; address <= callpath::kMostCompiled; ++address) compiled(address, "");
  CHECK(recording.locations.size() == callpath::kMostCompiled);
  CHECK(recording.account.code_merged == 0);
  const LocationId beyond = compiled(callpath::kMostCompiled + 1, "");
  CHECK(compiled(callpath::kMostCompiled + 2, "") == beyond);
  CHECK(compiled(1, "name") == beyond);
  CHECK(places.at(beyond).module == 0);
  CHECK(compiled(7, "") != beyond);
  CHECK(recording.account.code_merged == 3);
  CHECK(recording.locations.size() == callpath::kMostCompiled + 1);
}

TEST_CASE("code that is compiled to one address has the name of its process", "[callpath]") {
  const MappedChild one("10000000 1000 compiled_by_one\n10001000 1000 both\n");
  const MappedChild two("10000000 1000 compiled_by_two\n10001000 1000 both\n");
  PlacesFixture fixture;
  ProcessPlaces first{one.pid(), fixture.all};
  ProcessPlaces second{two.pid(), fixture.all};
  const auto name = [&](ProcessPlaces& places, Address address) {
    return fixture.all.at(places.at(address, false)).frames.at(0).function;
  };
  CHECK(name(first, kFree + 0x10) == "compiled_by_one");
  CHECK(name(second, kFree + 0x10) == "compiled_by_two");
  CHECK(first.at(kFree + 0x1010, false) == second.at(kFree + 0x1010, false));
}

TEST_CASE("a child begins with what its parent has mapped", "[callpath]") {
  PlacesFixture fixture;
  const auto here = reinterpret_cast<Address>(&mapping);
  ProcessPlaces child{kGone, fixture.places};
  const LocationId inherited = child.at(here, false);
  CHECK(inherited == fixture.places.at(here, false));
  CHECK(child.address_of(inherited) == here);
  auto event = mapping("/nowhere/a.so", kFree, kLength, 0x1000);
  event.inode = 77;
  child.mapped(event);
  CHECK(child.at(kFree, false) != fixture.places.at(kFree, false));
  const std::uint64_t before = child.mappings();
  child.unmap_all();
  CHECK(child.mappings() != before);
  CHECK(child.address_of(inherited) == std::nullopt);
  CHECK(fixture.places.at(here, false) == inherited);
}

TEST_CASE("an inode that is given to another file makes another module", "[callpath]") {
  PlacesFixture fixture;
  auto event = mapping("/nowhere/a.so", kFree, kLength, 0);
  event.inode = 77;
  const auto module_with = [&](std::uint64_t generation) {
    event.generation = generation;
    fixture.places.mapped(event);
    return fixture.at(kFree).module;
  };
  const auto first = module_with(0);
  CHECK(module_with(5) == first);  // which is known from now on
  const auto second = module_with(6);
  CHECK(second != first);
  CHECK(module_with(0) == second);
  CHECK(module_with(5) == first);
}

TEST_CASE("a file is opened for the next process if it could not be before", "[callpath]") {
  const test::Folder folder;
  folder.write("a.so", "text");
  folder.write("b.so", "another text");
  const auto event = mapping(folder.file("a.so"), kFree, kLength, 0);
  std::filesystem::rename(folder.file("a.so"), folder.file("c.so"));
  std::filesystem::rename(folder.file("b.so"), folder.file("a.so"));
  PlacesFixture fixture;
  ProcessPlaces first{kGone, fixture.all};
  ProcessPlaces second{kGone, fixture.all};
  first.mapped(event);
  const auto not_open = fixture.all.at(first.at(kFree, false)).module;
  CHECK_FALSE(fixture.all.files().get(not_open)->fd);
  std::filesystem::rename(folder.file("c.so"), folder.file("a.so"));
  second.mapped(event);
  CHECK(fixture.all.files().get(fixture.all.at(second.at(kFree, false)).module)->fd);
}

}  // namespace causalctl
