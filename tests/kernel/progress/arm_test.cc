// Tests every form of progress point on a real process: exact counts, and events with thread and
// time.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/progress/boundary.h"
#include "controller/progress/progress.h"
#include "controller/progress/usdt.h"
#include "tests/kernel/progress/probed.h"
#include "tests/kernel/progress/probed_child.h"
#include "tests/support/skip.h"

namespace causalctl::progress {

namespace {

constexpr unsigned kHits = 50;

struct Rig {
  probed::Child child;
  unwind::Symbolizer symbolizer{child.pid()};
  perf::Session session{child.pid(), options()};

  static perf::SessionOptions options() {
    perf::SessionOptions result;
    result.wake_edges = false;
    return result;
  }

  std::string arm(const std::string& spec, std::uint32_t tag,
                  config::CountBy count_by = config::CountBy::automatic) {
    const auto point = resolve(spec, child.pid(), symbolizer);
    return text_of(progress::arm({point}, child.pid(), count_by, session, tag).at(0));
  }

  // Collects visits for a limited time.
  template <typename Condition>
  void drain_until(Condition condition) {
    const auto deadline = monotonic_now() + 5 * kSecond;
    do {
      for (const auto& event : session.drain(monotonic_now())) {
        if (const auto* visit = std::get_if<perf::VisitEvent>(&event)) all.push_back(*visit);
      }
      if (condition()) return;
    } while (monotonic_now() < deadline);
    FAIL("did not happen within 5 s");
  }

  std::vector<perf::VisitEvent> with_tag(std::uint32_t tag) const {
    std::vector<perf::VisitEvent> tagged;
    for (const auto& visit : all) {
      if (visit.tag == tag) tagged.push_back(visit);
    }
    return tagged;
  }

  // Returns the visits counted so far.
  std::vector<perf::VisitEvent> visits(std::uint32_t tag) {
    drain_until([&] { return with_tag(tag).size() >= session.count(tag); });
    return with_tag(tag);
  }

  std::vector<perf::VisitEvent> all;
};

// kernel_tests is one executable, so the twin functions and lines are in it.
std::string line_spec(int line) { return fmt::format("progress/probed.cc:{}", line); }

void check_exact(const std::string& spec, const std::string& expected_kind, unsigned per_hit,
                 config::CountBy count_by = config::CountBy::automatic) {
  CAPTURE(spec, expected_kind);
  Rig rig;
  CHECK(rig.arm(spec, 7, count_by) == expected_kind);
  rig.session.start();
  const auto before = monotonic_now();
  rig.child.hit(kHits);
  const auto after = monotonic_now();
  CHECK(rig.session.count(7) == kHits * per_hit);
  const auto visits = rig.visits(7);
  CHECK(visits.size() == kHits * per_hit);
  Nanoseconds last = before;
  for (const auto& visit : visits) {
    CHECK(visit.thread.tid == rig.child.pid());
    CHECK(visit.time_ns >= last);
    last = visit.time_ns;
  }
  CHECK(last <= after);
}

}  // namespace

TEST_CASE("a breakpoint on each form of code counts exactly", "[progress]") {
  if (!test::test_has_breakpoints()) return;
  check_exact("probed::function_1", "hardware breakpoint", 1);
  check_exact("kernel_tests:probed::function_2", "hardware breakpoint", 1);
  check_exact(line_spec(probed::hit_line_number), "hardware breakpoint", 1);
}

TEST_CASE("each form that needs no breakpoint counts exactly", "[progress]") {
  check_exact("usdt:causalctl_test:plain", "uprobe at 2 places", 2);
  check_exact("usdt:causalctl_test:guarded", "uprobe", 1);
  check_exact("syscall:getppid", "tracepoint", 1);
}

TEST_CASE("code counts exactly by uprobes, where they are asked for", "[progress]") {
  constexpr auto kUprobe = config::CountBy::uprobe;
  check_exact("probed::function_1", "uprobe", 1, kUprobe);
  check_exact("kernel_tests:probed::function_2", "uprobe", 1, kUprobe);
  check_exact(line_spec(probed::hit_line_number), "uprobe", 1, kUprobe);
  check_exact(line_spec(probed::inlined_line_number), "uprobe at 6 places", 6, kUprobe);
  check_exact("usdt:causalctl_test:plain", "uprobe at 2 places", 2, kUprobe);
}

TEST_CASE("an offset counts exactly, also where a uprobe has changed the code", "[progress]") {
  Rig rig;
  const auto place = resolve("probed::function_3", rig.child.pid(), rig.symbolizer).places.at(0);
  const auto spec = name_by_offset(rig.child.pid(), place.address);
  CHECK(spec.starts_with("kernel_tests+0x"));
  for (int i = 1; i <= 4; ++i) rig.arm(fmt::format("probed::function_{}", i == 3 ? 5 : i), 1);
  CHECK(rig.arm(spec, 3) == "uprobe");
  CHECK(resolve(spec, rig.child.pid(), rig.symbolizer).places.at(0).address == place.address);
  rig.session.start();
  rig.child.hit(kHits);
  CHECK(rig.session.count(3) == kHits);
}

TEST_CASE("the fifth point is a uprobe, and all count", "[progress]") {
  if (!test::test_has_breakpoints()) return;
  Rig rig;
  for (unsigned i = 1; i <= 5; ++i) {
    CHECK(rig.arm(fmt::format("probed::function_{}", i), i) ==
          (i <= 4 ? "hardware breakpoint" : "uprobe"));
  }
  rig.session.start();
  rig.child.start_thread();
  rig.drain_until([&] { return rig.session.threads().size() == 2; });
  rig.child.hit(kHits);
  rig.child.hit_in_thread(kHits);
  for (unsigned i = 1; i <= 5; ++i) {
    CAPTURE(i);
    CHECK(rig.session.count(i) == 2 * kHits);
    std::set<ThreadId> threads;
    for (const auto& visit : rig.visits(i)) threads.insert(visit.thread);
    CHECK(threads.size() == 2);
  }
}

TEST_CASE("all copies of an inlined line count as one point", "[progress]") {
  if (!test::test_has_breakpoints()) return;
  SECTION("more than four: uprobes") {
    Rig rig;
    const auto spec = line_spec(probed::inlined_line_number);
    CHECK(resolve(spec, rig.child.pid(), rig.symbolizer).places.size() == 6);
    CHECK(rig.arm(spec, 1) == "uprobe at 6 places");
    CHECK(rig.arm("probed::function_1", 2) == "hardware breakpoint");
    rig.session.start();
    rig.child.hit(kHits);
    CHECK(rig.session.count(1) == 6 * kHits);
    CHECK(rig.session.count(2) == kHits);
  }
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
  SECTION("not inlined: a loop that the compiler unrolled") {
    Rig rig;
    CHECK(rig.arm(line_spec(probed::unrolled_line_number), 3) == "hardware breakpoint at 4 places");
    rig.session.start();
    rig.child.hit(kHits);
    CHECK(rig.session.count(3) == 4 * kHits);
    CHECK(rig.visits(3).size() == 4 * kHits);
  }
#endif
  SECTION("registers for some of them only: all by uprobe") {
    Rig rig;
    for (unsigned i = 1; i <= 3; ++i) rig.arm(fmt::format("probed::function_{}", i), i);
    CHECK(rig.arm(line_spec(probed::pair_line_number), 9) == "uprobe at 2 places");
    rig.session.start();
    rig.child.hit(kHits);
    CHECK(rig.session.count(9) == 2 * kHits);
  }
}

TEST_CASE("an instruction on which no uprobe can stand is counted at its neighbour", "[progress]") {
  check_exact(line_spec(probed::locked_line_number), "uprobe", 1, config::CountBy::uprobe);
}

TEST_CASE("more places than can be counted are refused, with better ones", "[progress]") {
  Rig rig;
  const std::string spec = line_spec(probed::everywhere_line_number);
  try {
    rig.arm(spec, 1);
    FAIL("it was armed");
  } catch (const UsageError& error) {
    CHECK(std::string(error.what()).find("66 places, and at most 64") != std::string::npos);
    CHECK(error.hint().find("(66)") != std::string::npos);
  }
}

TEST_CASE("a probe's semaphore is up while it is armed, and back to 0 after", "[progress]") {
  probed::Child child;
  CHECK(child.semaphore() == 0);
  {
    unwind::Symbolizer symbolizer(child.pid());
    perf::Session session(child.pid(), Rig::options());
    const auto point = resolve("usdt:causalctl_test:guarded", child.pid(), symbolizer);
    CHECK(point.places.size() == 1);
    CHECK(point.places[0].file.ends_with("probed_guarded.cc"));
    const auto armed = arm({point}, child.pid(), config::CountBy::automatic, session, 1);
    CHECK(text_of(armed.at(0)) == "uprobe");
    CHECK(child.semaphore() > 0);
  }
  CHECK(child.semaphore() == 0);
}

TEST_CASE("USDT probes of a process are listed", "[progress]") {
  probed::Child child;
  std::set<std::string> names;
  for (const auto& probe : usdt_probes(child.pid()))
    names.insert(probe.provider + ":" + probe.name);
  CHECK(names.count("causalctl_test:plain") == 1);
  CHECK(names.count("causalctl_test:guarded") == 1);
}

TEST_CASE("a sampled point arms nothing", "[progress]") {
  Rig rig;
  CHECK(rig.arm("sampled:" + line_spec(probed::hit_line_number), 1) == "samples");
  rig.session.start();
  rig.child.hit(kHits);
  CHECK(rig.visits(1).empty());
}

}  // namespace causalctl::progress
