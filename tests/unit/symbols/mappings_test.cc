#include "controller/symbols/mappings.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "controller/base/clock.h"
#include "controller/callpath/places/places.h"
#include "controller/callpath/places/process_places.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::symbols {
namespace {

using callpath::kAnonymous;

constexpr Address kFree = 0x10000000;  // nothing is mapped there

struct Fixture {
  Fixture() { places.read(); }
  std::string module_at(Address address) {
    return recording.modules.at(recording.locations.at(places.at(address, false)).module).path;
  }
  void map(const std::string& path, Nanoseconds time_ns) {
    perf::MapEvent event;
    event.start = kFree;
    event.length = 0x1000;
    event.inode = 77;
    event.path = path;
    event.time_ns = time_ns;
    mappings.take(event);
  }
  void execute(Nanoseconds time_ns) { mappings.take(perf::ExecEvent{{}, time_ns}); }
  bool has_own_code() {
    return module_at(reinterpret_cast<Address>(&procfs::maps)) != kAnonymous;  // NOLINT
  }
  void sample(Nanoseconds time_ns) {
    perf::SampleEvent event;
    event.time_ns = time_ns;
    mappings.take(event);
  }

  callpath::Recording recording;
  callpath::Places all{recording};
  callpath::ProcessPlaces places{getpid(), all};
  unwind::Unwinder unwinder{getpid()};
  Following<unwind::Unwinder> following{unwinder};
  Mappings mappings{getpid(), {&places, &following}};
};

}  // namespace

TEST_CASE("the vdso has its name, other mappings without a file have none", "[symbols][mappings]") {
  perf::MapEvent event;
  event.start = kFree;
  event.length = 0x2000;
  event.path = GENERATE("[vdso]", "//anon", "[heap]");
  const bool is_vdso = event.path == "[vdso]";
  CHECK(line_of(event).path == (is_vdso ? "[vdso]" : ""));
  Fixture fixture;
  fixture.mappings.take(event);
  CHECK(fixture.module_at(kFree) == (is_vdso ? "[vdso]" : kAnonymous));
}

TEST_CASE("what is read counts once events reach its time", "[symbols][mappings]") {
  Fixture fixture;
  const Nanoseconds before_ns = monotonic_now();
  fixture.map("/nowhere/a.so", before_ns);
  CHECK(fixture.module_at(kFree) == "/nowhere/a.so");
  fixture.mappings.read();
  CHECK_FALSE(fixture.mappings.known_at(before_ns));
  fixture.sample(before_ns);
  CHECK(fixture.module_at(kFree) == "/nowhere/a.so");
  const Nanoseconds after_ns = monotonic_now() + 1;
  CHECK(fixture.mappings.known_at(after_ns));
  fixture.sample(after_ns);
  CHECK(fixture.module_at(kFree) == kAnonymous);
  fixture.map("/nowhere/b.so", after_ns + 1);
  CHECK(fixture.module_at(kFree) == "/nowhere/b.so");
}

TEST_CASE("mappings are read again when records were lost, once a second", "[symbols][mappings]") {
  Fixture fixture;
  const auto is_read = [&](std::uint64_t lost, Nanoseconds now_ns) {
    fixture.map("/nowhere/a.so", 1);
    fixture.mappings.lost(lost, now_ns);
    fixture.sample(INT64_MAX);
    return fixture.module_at(kFree) == kAnonymous;
  };
  CHECK_FALSE(is_read(0, kSecond));
  CHECK(is_read(3, kSecond));
  CHECK_FALSE(is_read(3, 3 * kSecond));
  CHECK(is_read(4, 3 * kSecond));
  CHECK_FALSE(is_read(5, 3 * kSecond + 1));
  CHECK(is_read(5, 4 * kSecond));
}

TEST_CASE("an exec ends all mappings until records tell of others", "[symbols][mappings]") {
  Fixture fixture;
  CHECK(fixture.has_own_code());
  fixture.map("/nowhere/a.so", 1000);
  fixture.execute(2000);
  CHECK(fixture.has_own_code());  // in the registers of a sample
  CHECK(fixture.module_at(kFree) == "/nowhere/a.so");
  fixture.map("/nowhere/b.so", 3000);
  CHECK_FALSE(fixture.has_own_code());
  CHECK(fixture.module_at(kFree) == "/nowhere/b.so");
  CHECK(fixture.unwinder.maps().size() == 1);
  fixture.map("/nowhere/a.so", 4000);
  CHECK(fixture.module_at(kFree) == "/nowhere/a.so");
}

TEST_CASE("an exec that is told late ends the mappings of before it", "[symbols][mappings]") {
  Fixture fixture;
  fixture.map("/nowhere/a.so", 3000);
  fixture.execute(2000);
  CHECK_FALSE(fixture.has_own_code());
  CHECK(fixture.module_at(kFree) == "/nowhere/a.so");
  CHECK(fixture.unwinder.maps().size() == 1);
}

TEST_CASE("what is read counts of before an exec and of after it", "[symbols][mappings]") {
  Fixture fixture;
  const Nanoseconds before_ns = monotonic_now();
  fixture.mappings.read();
  const Nanoseconds after_ns = monotonic_now() + 1;
  SECTION("the exec is older") {
    fixture.map("/nowhere/a.so", before_ns - 1);
    fixture.execute(before_ns);
    fixture.map("/nowhere/b.so", before_ns + 1);
    CHECK_FALSE(fixture.has_own_code());
    fixture.sample(after_ns);
    CHECK(fixture.has_own_code());
    fixture.execute(before_ns);  // late
    CHECK(fixture.has_own_code());
  }
  SECTION("the exec is younger") {
    fixture.execute(after_ns);
    fixture.map("/nowhere/b.so", after_ns + 1);
    CHECK_FALSE(fixture.has_own_code());
    fixture.sample(after_ns + 2);
    CHECK_FALSE(fixture.has_own_code());
  }
}

TEST_CASE("mappings are read if an exec is followed by none", "[symbols][mappings]") {
  Fixture fixture;
  const Nanoseconds executed_ns = monotonic_now();
  fixture.map("/nowhere/a.so", executed_ns - 1);
  fixture.execute(executed_ns);
  const bool is_told = GENERATE(true, false);
  if (is_told) fixture.map("/nowhere/b.so", executed_ns + 1);
  fixture.mappings.lost(0, executed_ns + 10 * kMillisecond);
  fixture.sample(INT64_MAX);
  CHECK(fixture.module_at(kFree) == (is_told ? "/nowhere/b.so" : "/nowhere/a.so"));
  fixture.mappings.lost(0, executed_ns + kSecond);
  fixture.sample(INT64_MAX);
  CHECK(fixture.has_own_code() == !is_told);
  CHECK(fixture.module_at(kFree) == (is_told ? "/nowhere/b.so" : kAnonymous));
}

}  // namespace causalctl::symbols
