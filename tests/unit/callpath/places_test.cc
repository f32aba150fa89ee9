#include "controller/callpath/places.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace causalctl {

using callpath::LocationId;
using callpath::Places;
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
  const callpath::Location& at(Address address, bool is_call = false) {
    return recording.locations.at(places.at(address, is_call));
  }
  std::string module_at(Address address) { return recording.modules.at(at(address).module).path; }

  Recording recording;
  Places places{getpid(), recording};
};

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
  const auto kept = fixture.places.files().get(location.module);
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

}  // namespace causalctl
