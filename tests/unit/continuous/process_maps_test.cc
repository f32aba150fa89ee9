// Tests which mappings are known of processes, by events in time order.
#include "controller/continuous/collect/process_maps.h"

#include <catch2/catch.hpp>

namespace causalctl::continuous {
namespace {

perf::MapEvent map_of(Pid process, Address begin, std::uint64_t length, const char* path,
                      std::uint64_t offset = 0) {
  perf::MapEvent event;
  event.process = process;
  event.start = begin;
  event.length = length;
  event.path = path;
  event.inode = std::string(path) == "//anon" ? 0 : 1;
  event.file_offset = offset;
  return event;
}

perf::ThreadStartEvent start_of(Pid process, std::uint32_t serial, std::uint32_t parent = 0) {
  perf::ThreadStartEvent event;
  event.thread = {process, serial};
  event.parent = {1, parent};
  event.process = process;
  return event;
}

std::string path_at(const ProcessMaps& maps, Pid process, Address address) {
  const auto found = maps.find(process, address);
  return found.code == nullptr ? "none" : found.code->path;
}

}  // namespace

TEST_CASE("Later mappings take the place of earlier ones", "[continuous]") {
  ProcessMaps maps;
  maps.take(perf::Event(start_of(7, 1)));
  maps.take(perf::Event(map_of(7, 0x1000, 0x9000, "/a", 0x100)));
  maps.take(perf::Event(map_of(7, 0x3000, 0x1000, "/b")));
  CHECK(path_at(maps, 7, 0xfff) == "none");
  CHECK(path_at(maps, 7, 0x2fff) == "/a");
  CHECK(path_at(maps, 7, 0x3000) == "/b");
  CHECK(path_at(maps, 7, 0x9fff) == "/a");
  CHECK(path_at(maps, 7, 0xa000) == "none");
  const auto rest = maps.find(7, 0x4000);
  REQUIRE(rest.code != nullptr);
  CHECK(rest.begin == 0x4000);
  CHECK(rest.code->offset == 0x3100);
  maps.take(perf::Event(map_of(7, 0x800, 0x10000, "/c")));
  CHECK(path_at(maps, 7, 0x3000) == "/c");
  CHECK(path_at(maps, 8, 0x3000) == "none");
}

TEST_CASE("Memory without a file has no path", "[continuous]") {
  ProcessMaps maps;
  maps.take(perf::Event(start_of(7, 1)));
  maps.take(perf::Event(map_of(7, 0x1000, 0x1000, "//anon", 0x1000)));
  const auto found = maps.find(7, 0x1800);
  REQUIRE(found.code != nullptr);
  CHECK(found.code->path.empty());
  CHECK(found.code->offset == 0);
}

TEST_CASE("A process of whom no event tells is known until the drain is over", "[continuous]") {
  ProcessMaps maps;
  procfs::Map line;
  line.start = 0x1000;
  line.end = 0x2000;
  line.executable = true;
  line.path = "/usr/bin/stranger (deleted)";
  maps.take(7, {line});
  CHECK(path_at(maps, 7, 0x1000) == "/usr/bin/stranger");
  maps.forget_ended();
  CHECK(maps.size() == 0);
}

TEST_CASE("A child has its parent's mappings, and an exec ends them", "[continuous]") {
  ProcessMaps maps;
  maps.take(perf::Event(start_of(7, 1)));
  maps.take(perf::Event(map_of(7, 0x1000, 0x1000, "/a")));
  maps.take(perf::Event(start_of(8, 2, 1)));
  CHECK(path_at(maps, 8, 0x1000) == "/a");
  maps.take(perf::Event(perf::ExecEvent{{8, 2}, 0, 8}));
  maps.take(perf::Event(map_of(8, 0x2000, 0x1000, "/b")));
  maps.take(perf::Event(perf::NameEvent{{8, 2}, 0, "program"}));
  CHECK(path_at(maps, 8, 0x2000) == "/b");
  CHECK(path_at(maps, 8, 0x1000) == "/a");  // samples of before may still come
  REQUIRE(maps.find_earlier(8, 0x1000).code != nullptr);
  CHECK(maps.find_earlier(8, 0x2000).code == nullptr);
  CHECK(maps.name(8) == "program");
  CHECK(maps.name(7).empty());
  maps.forget_ended();
  CHECK(path_at(maps, 8, 0x1000) == "none");
  CHECK(path_at(maps, 7, 0x1000) == "/a");
}

TEST_CASE("An ended process is known until the drain is over", "[continuous]") {
  ProcessMaps maps;
  maps.take(perf::Event(start_of(7, 1)));
  maps.take(perf::Event(start_of(7, 2, 1)));
  maps.take(perf::Event(map_of(7, 0x1000, 0x1000, "/a")));
  maps.take(perf::Event(perf::ThreadExitEvent{{7, 1}, 0}));
  maps.forget_ended();
  CHECK(path_at(maps, 7, 0x1000) == "/a");
  maps.take(perf::Event(perf::ThreadExitEvent{{7, 2}, 0}));
  CHECK(path_at(maps, 7, 0x1000) == "/a");
  maps.forget_ended();
  CHECK(maps.size() == 0);
  maps.take(perf::Event(start_of(7, 3)));  // the number again
  CHECK(path_at(maps, 7, 0x1000) == "none");
}

}  // namespace causalctl::continuous
