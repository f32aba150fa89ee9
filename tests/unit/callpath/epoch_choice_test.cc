#include "controller/callpath/analysis/epoch_choice.h"

#include <array>
#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/callpath/analysis/present.h"
#include "controller/report/callpath/render.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::callpath {
namespace {

using Catch::Contains;

// Epoch 1 begins after half a second, epoch 2 after 1.5 of 2 s.
Recording with_epochs() {
  Recording recording = small_recording();
  recording.epochs.push_back({500'000'000, "dlopen of libz.so.1"});
  recording.epochs.push_back({1'500'000'000, "visit of f"});
  recording.add({1, 0, Metric::samples}, 3, 7);
  recording.add({1, 0, Metric::cpu_ns}, 3, 7'000'000);
  recording.add({2, 0, Metric::samples}, 3, 2);
  return recording;
}

std::uint64_t samples(const std::string& wanted) {
  const auto profile = present(std::array{with_epochs()}, wanted);
  return totals(profile, 1)[0];
}

}  // namespace

TEST_CASE("epochs are chosen by number, range and reason", "[callpath][epochs]") {
  CHECK(samples("") == 109);
  CHECK(samples("1") == 7);
  CHECK(samples("1-2") == 9);
  CHECK(samples("2-99") == 2);
  CHECK(samples("libz") == 7);
  CHECK(samples("visit of f") == 2);
  CHECK(samples("t") == 102);  // start, visit
}

TEST_CASE("an epoch that is not there is told with those that are", "[callpath][epochs]") {
  for (const char* wanted : {"3", "5-9", "2-1", "exec"}) {
    try {
      samples(wanted);
      FAIL(wanted << " was accepted");
    } catch (const UsageError& error) {
      CHECK_THAT(error.what(), Contains(std::string("--epoch ") + wanted));
      CHECK_THAT(error.hint(), Contains("0 (start), 1 (dlopen of libz.so.1), 2 (visit of f)"));
    }
  }
}

TEST_CASE("a report of some epochs has their time and no other", "[callpath][epochs]") {
  const auto all = present(std::array{with_epochs()});
  REQUIRE(all.epochs.size() == 3);
  CHECK(all.epochs[0].samples == 100);
  CHECK(all.epochs[1].start_ns == 500'000'000);
  CHECK(all.epochs[1].length_ns == 1'000'000'000);
  CHECK(all.epochs[1].cpu_ns == 7'000'000);
  CHECK(all.epochs[2].length_ns == 500'000'000);
  CHECK(all.wall_ns == 2'000'000'000);
  CHECK(all.notes.empty());
  const std::string text =
      report::callpath::render_text(all, report::callpath::By::overview, false, 100);
  CHECK_THAT(text, Contains("    1    0.500 s    1.000 s       7 ms  dlopen of libz.so.1\n"));
  CHECK_THAT(report::callpath::render_text(present(std::array{small_recording()}),
                                           report::callpath::By::overview, false, 100),
             !Contains("epoch"));
  const auto some = present(std::array{with_epochs()}, "1");
  REQUIRE(some.epochs.size() == 1);
  CHECK(some.epochs[0].number == 1);
  CHECK(some.wall_ns == 1'000'000'000);
  REQUIRE(some.notes.size() == 1);
  CHECK_THAT(some.notes[0], Contains("Only some epochs"));
}

}  // namespace causalctl::callpath
