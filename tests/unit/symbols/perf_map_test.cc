#include "controller/symbols/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <utility>

namespace causalctl::symbols {
namespace {

std::string name_at(const PerfMap& map, Address address) {
  const auto* function = map.find(address);
  return function == nullptr ? "" : function->name;
}

TEST_CASE("a perf map names code, with blanks in the names", "[symbols][perf_map]") {
  PerfMap map;
  map.add("1000 20 JS:*work /a b.js:3:1\n0x2000 0x10 LLoop;::work\n");
  CHECK(name_at(map, 0x1000) == "JS:*work /a b.js:3:1");
  CHECK(name_at(map, 0x101f) == "JS:*work /a b.js:3:1");
  CHECK(name_at(map, 0x1020).empty());
  CHECK(name_at(map, 0xfff).empty());
  CHECK(name_at(map, 0x2008) == "LLoop;::work");
}

TEST_CASE("a carriage return at the end of a line is no part of a name", "[symbols][perf_map]") {
  PerfMap map;
  map.add("1000 20 first\r\n2000 20 \r\n3000 20 a\rb\n");
  CHECK(name_at(map, 0x1000) == "first");
  CHECK(name_at(map, 0x2000).empty());
  CHECK(name_at(map, 0x3000) == "a?b");
}

TEST_CASE("pieces of a perf map may end anywhere", "[symbols][perf_map]") {
  const std::string text = "1000 20 first\n2000 20 second\n3000 20 cut off";
  PerfMap map;
  for (const char c : text) map.add({&c, 1});
  CHECK(map.size() == 2);
  CHECK(name_at(map, 0x2000) == "second");
  map.add("\n");
  CHECK(name_at(map, 0x3000) == "cut off");
}

TEST_CASE("the last entry of overlapping ones is right, in any order", "[symbols][perf_map]") {
  PerfMap map;
  map.add("3000 100 c\n1000 100 a\n2000 100 b\n");
  map.add("10f0 f20 new\n");  // from within a to within b
  CHECK(name_at(map, 0x1000).empty());
  CHECK(name_at(map, 0x10ff) == "new");
  CHECK(name_at(map, 0x200f) == "new");
  CHECK(name_at(map, 0x2010).empty());
  CHECK(name_at(map, 0x3000) == "c");
  map.add("3000 10 d\n3010 10 e\n2000 2000 all\n");
  CHECK(name_at(map, 0x3010) == "all");
  CHECK(map.size() == 1);
}

TEST_CASE("what is no entry of a perf map is passed over", "[symbols][perf_map]") {
  PerfMap map;
  for (const char* line :
       {"", "\n", "garbage\n", "1000\n", "1000 10\n", "1000 10 \n", "1000 0 none\n",
        "xyz 10 name\n", "1000 -10 name\n", "ffffffffffffffff 10 name\n", "1000 ffffffffff big\n",
        "fffffffffffffffff 10 name\n", "800000000000 10 kernel\n", " 1000 10 blank\n"}) {
    map.add(line);
  }
  map.add(std::string(100'000, '1') + " 10 long\n");
  CHECK(map.size() == 0);
  map.add(std::string("1000 10 a\0b\x1b[31m\n", 17) + "2000 10 " + std::string(3000, 'n') + "\n");
  CHECK(name_at(map, 0x1000).find('\x1b') == std::string::npos);
  CHECK(name_at(map, 0x2000).size() == 200);
}

// A perf map of this process, which is its own target.
class OwnMap {
 public:
  OwnMap() { ::unlink(path_.c_str()); }
  ~OwnMap() { ::unlink(path_.c_str()); }
  OwnMap(const OwnMap&) = delete;
  OwnMap& operator=(const OwnMap&) = delete;
  void append(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = fmt::format("/tmp/perf-{}.map", ::getpid());
};

TEST_CASE("a perf map is read on as it grows, and anew when it was written anew",
          "[symbols][perf_map]") {
  const OwnMap own;
  PerfMapFile file(::getpid());
  CHECK_FALSE(file.read_on());
  own.append("1000 10 a\n2000 ");
  CHECK(file.read_on());
  CHECK_FALSE(file.read_on());
  own.append("10 b\n");
  CHECK(file.read_on());
  CHECK(name_at(file.map(), 0x1000) == "a");
  CHECK(name_at(file.map(), 0x2000) == "b");
  ::unlink(own.path().c_str());
  own.append("3000 10 c\n");
  CHECK(file.read_on());
  CHECK(name_at(file.map(), 0x1000).empty());
  CHECK(name_at(file.map(), 0x3000) == "c");
}

TEST_CASE("a map that is older than the process is another one's", "[symbols][perf_map]") {
  const OwnMap own;
  own.append("1000 10 a\n");
  const timespec old{1'600'000'000, 0};
  const timespec times[2] = {old, old};
  REQUIRE(::utimensat(AT_FDCWD, own.path().c_str(), times, 0) == 0);
  PerfMapFile file(::getpid());
  CHECK_FALSE(file.read_on());
  CHECK(file.unused() == fmt::format("{} is older than process {}, so its names are not used; "
                                     "remove it",
                                     own.path(), ::getpid()));
  own.append("2000 10 b\n");
  CHECK(file.read_on());
  CHECK(file.unused().empty());
}

TEST_CASE("links, FIFOs and files of others are no perf maps", "[symbols][perf_map]") {
  const OwnMap own;
  PerfMapFile file(::getpid());
  REQUIRE(::symlink("/etc/passwd", own.path().c_str()) == 0);
  CHECK_FALSE(file.read_on());
  ::unlink(own.path().c_str());
  REQUIRE(::mkfifo(own.path().c_str(), 0600) == 0);
  CHECK_FALSE(file.read_on());
  ::unlink(own.path().c_str());
  if (::getuid() != 0) return;  // only root can give a file away
  own.append("1000 10 a\n");
  REQUIRE(::chown(own.path().c_str(), 12345, 12345) == 0);
  CHECK_FALSE(file.read_on());
}

// Knows of one library at 100 to 200, and nothing else.
class OneLibrary final : public LocationSource {
 public:
  void ask(Address address) override { answers_.push_back(location_of(address)); }
  std::optional<Location> answer_now(Address address) override { return location_of(address); }
  std::vector<Location> answers() override { return std::exchange(answers_, {}); }
  std::optional<LineInformation> lines() override { return LineInformation{}; }

 private:
  static Location location_of(Address address) {
    Location location{.address = address, .module = {}};
    if (address >= 0x100 && address < 0x200) location.module = "/lib/libx.so";
    return location;
  }

  std::vector<Location> answers_;
};

TEST_CASE("an answer at once has the map's names, and gets those that come later",
          "[symbols][perf_map]") {
  const OwnMap own;
  own.append("1000 10 f\n");
  WithPerfMap source(std::make_unique<OneLibrary>(), ::getpid(), {});
  CHECK(source.answer_now(0x100)->module == "/lib/libx.so");
  CHECK(source.answer_now(0x1008)->module != "/lib/libx.so");
  std::vector<Location> later;
  for (int i = 0; i < 5; ++i) {  // the map is read meanwhile
    for (Location& location : source.answers()) later.push_back(std::move(location));
  }
  REQUIRE(later.size() == 1);
  CHECK(later[0].address == 0x1008);
  REQUIRE(later[0].frames.size() == 1);
  CHECK(later[0].frames[0].function == "f");
  const auto known = source.answer_now(0x1008);
  REQUIRE(known->frames.size() == 1);
  CHECK(known->frames[0].function == "f");
}

TEST_CASE("code in no file gets the names of the map, as soon as it has them",
          "[symbols][perf_map]") {
  const OwnMap own;
  own.append("1000 10 JS:*work a.js:1:1\n2000 10 Builtin:Call\n100 10 not this\n");
  WithPerfMap source(std::make_unique<OneLibrary>(), ::getpid(), {});
  for (const Address address : {0x1008, 0x2000, 0x100, 0x3000}) source.ask(address);
  std::vector<Location> all;
  for (int i = 0; i < 5; ++i) {  // the map is read meanwhile
    for (Location& location : source.answers()) all.push_back(std::move(location));
  }
  const auto last_of = [&](Address address) {
    const auto found = std::find_if(all.rbegin(), all.rend(),
                                    [&](const Location& one) { return one.address == address; });
    REQUIRE(found != all.rend());
    return *found;
  };
  CHECK(last_of(0x1008).module == kCompiledCode);
  REQUIRE(last_of(0x1008).frames.size() == 1);
  CHECK(last_of(0x1008).frames[0].function == "JS:*work a.js:1:1");
  CHECK(last_of(0x2000).module == kCompiledCode);
  CHECK(last_of(0x2000).frames.empty());
  CHECK(last_of(0x100).module == "/lib/libx.so");
  CHECK(last_of(0x3000).module.empty());
}

TEST_CASE("a scope that was chosen has compiled code by its name only", "[symbols][perf_map]") {
  const OwnMap own;
  own.append("1000 10 f\n");
  config::Scope scope;
  scope.binaries = {"libx*"};
  const auto frames = [&] {
    WithPerfMap source(std::make_unique<OneLibrary>(), ::getpid(), scope);
    source.ask(0x1000);
    Location last;
    for (int i = 0; i < 5; ++i) {
      for (Location& location : source.answers()) last = std::move(location);
    }
    CHECK(last.module == kCompiledCode);
    return last.frames.size();
  };
  CHECK(frames() == 0);
  scope.binaries = {"libx*", "[jit]"};
  CHECK(frames() == 1);
}

}  // namespace
}  // namespace causalctl::symbols
