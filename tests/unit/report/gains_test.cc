#include "controller/report/callpath/gains.h"

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/base/proportion.h"
#include "controller/base/statistics.h"
#include "controller/callpath/analysis/charge.h"
#include "controller/callpath/analysis/filter.h"
#include "controller/callpath/analysis/present.h"
#include "controller/report/text.h"
#include "tests/support/golden.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::report::callpath {
namespace {

using Catch::Contains;
using nlohmann::json;
using test::check_golden;

// In small_recording(), c.c:40 has 90 samples: 50 + 20 below a, 20 below main; libz has 10, called
// by c.c:42.
CausalUnit line_of_c() {
  return {"c.c:40", true, "c", "/src/c.c", 40, {}, Interval{0.5, 0.4, 0.6}, UnitVerdict::optimise};
}
CausalUnit call_of_z() {
  return {"c.c:42",
          true,
          "c",
          "/src/c.c",
          42,
          {},
          Interval{0.1, -0.3, 0.5},
          UnitVerdict::not_enough_data};
}

CausalProfile causal(std::vector<CausalUnit> units) {
  return {"/srv/bin/server", "reply", std::move(units), {}};
}

Profile profile_of_paths() {
  return causalctl::callpath::present(std::array{causalctl::callpath::small_recording()});
}

std::vector<Charge> charged(const Profile& profile, const CausalProfile& by,
                            const config::Scope& scope = {}) {
  return causalctl::callpath::charge(profile, by.units, scope);
}

Gains small_gains(std::vector<CausalUnit> units) {
  const Profile profile = profile_of_paths();
  CausalProfile by = causal(std::move(units));
  const std::vector<Charge> charges = charged(profile, by);
  return gains_of(profile, charges, std::move(by));
}

const Gain& gain_on(const Gains& gains, const std::vector<std::string>& path) {
  for (const Gain& each : gains.paths) {
    if (each.path == path) return each;
  }
  FAIL("no such path");
  return gains.paths.front();
}

}  // namespace

TEST_CASE("a path gains its share of the unit's slope", "[report][callpath][gains]") {
  const Gains gains = small_gains({line_of_c(), call_of_z()});
  REQUIRE(gains.paths.size() == 3);
  const Gain& most = gains.paths.front();
  CHECK(most.path == std::vector<std::string>{"main", "a(int)", "b(int)", "c"});
  CHECK(most.samples == 50);
  CHECK(most.gain.value == Approx(0.5 * 50 / 90));
  CHECK(gain_on(gains, {"main", "a(int)", "b(int)", "c", "c"}).samples == 20);
  CHECK(gain_on(gains, {"main", "c"}).gain.value == Approx(0.5 * 20 / 90));
  double sum = 0;
  for (const Gain& each : gains.paths) {
    sum += each.gain.value;
    CHECK(each.gain.low < each.gain.value);
    CHECK(each.gain.value < each.gain.high);
  }
  CHECK(sum == Approx(0.5));  // all paths of a unit have its slope together
  CHECK(gains.samples_of_unit == std::vector<std::uint64_t>{90, 10});
  CHECK(gains.not_certain == 10);  // the library's time is that of the line that calls it
  CHECK(gains.out_of_scope == 0);
}

TEST_CASE("what has no unit is counted", "[report][callpath][gains]") {
  CHECK(small_gains({line_of_c()}).not_in_profile == 10);
  const Profile profile = profile_of_paths();
  CausalProfile by = causal({line_of_c()});
  config::Scope scope;
  scope.files = {"c.c"};
  CHECK(gains_of(profile, charged(profile, by, scope), by).not_in_profile == 10);
  scope.files.clear();
  scope.binaries = {"libz.so.1"};
  for (const Charge& each : charged(profile, by, scope)) CHECK(each.unit == Charge::kOutOfScope);
}

TEST_CASE("files out of scope leave their time to their callers", "[report][callpath][gains]") {
  const CausalUnit b{
      "b.h:30", true, "b(int)", "/src/b.h", 30, {}, Interval{0.5, 0.4, 0.6}, UnitVerdict::optimise};
  const Profile profile = profile_of_paths();
  CausalProfile by = causal({b});
  config::Scope scope;
  scope.files = {"b.h"};
  const Gains gains = gains_of(profile, charged(profile, by, scope), by);
  CHECK(gains.samples_of_unit == std::vector<std::uint64_t>{70});
  CHECK(gains.out_of_scope == 30);
}

TEST_CASE("of units with one name the one of the frame's file is meant",
          "[report][callpath][gains]") {
  CausalUnit elsewhere = line_of_c();
  elsewhere.file = "/other/c.c";
  CHECK(small_gains({elsewhere, line_of_c()}).samples_of_unit == std::vector<std::uint64_t>{0, 90});
}

TEST_CASE("of functions with one name the one that is declared there is meant",
          "[report][callpath][gains]") {
  const auto unit = [](const char* file) {
    return CausalUnit{
        file, false, "c", file, 0, "server", Interval{0.5, 0.4, 0.6}, UnitVerdict::optimise};
  };
  Profile profile = profile_of_paths();
  CausalProfile by = causal({unit("/other/c.c"), unit("/src/c.c")});
  CHECK(gains_of(profile, charged(profile, by), by).samples_of_unit[0] == 100);  // it is not known
  for (Frame& frame : profile.frames) frame.home = "/src/c.c";
  CHECK(gains_of(profile, charged(profile, by), by).samples_of_unit ==
        std::vector<std::uint64_t>{0, 100});
}

TEST_CASE("functions have the time of what is inlined into them", "[report][callpath][gains]") {
  CausalUnit a{"a", false, "a(int)", "", 0, {}, Interval{0.2, 0.1, 0.3}, UnitVerdict::optimise};
  CausalUnit c{"c", false, "c", "", 0, {}, Interval{0.5, 0.4, 0.6}, UnitVerdict::optimise};
  Profile profile = profile_of_paths();
  causalctl::callpath::apply({{causalctl::callpath::Filter::Kind::through, "a"}}, profile);
  CausalProfile by = causal({a, c});
  CHECK(gains_of(profile, charged(profile, by), by).samples_of_unit ==
        std::vector<std::uint64_t>{0, 70});
  // Samples in b, which is inlined, are a's.
  for (Node& node : profile.nodes) {
    if (profile.frames[node.frame].function == "c")
      profile.frames[node.frame].file = "/usr/include/x";
  }
  CHECK(gains_of(profile, charged(profile, by), by).samples_of_unit ==
        std::vector<std::uint64_t>{70, 0});
}

TEST_CASE("a profile of another program, or without a verdict, is refused",
          "[report][callpath][gains]") {
  CausalUnit other = line_of_c();
  other.name = "x.c:9";
  other.file = "/src/x.c";
  other.line = 9;
  CHECK_THROWS_WITH(small_gains({other}), Contains("have none of the profile's units"));
  try {
    small_gains({other});
  } catch (const Error& error) {
    CHECK_THAT(error.hint(), Contains("/srv/bin/server; its units were looked for: x.c:9"));
  }
  CHECK_THROWS_WITH(small_gains({call_of_z()}), Contains("has a verdict on no unit"));
  CHECK_THROWS_WITH(small_gains({}), Contains("has a verdict on no unit"));
}

TEST_CASE("the interval of a gain contains the truth in 19 of 20", "[report][callpath][gains]") {
  std::mt19937_64 random(11);
  constexpr int kTrials = 4000;
  for (const double slope : {0.6, -0.4, 0.05}) {
    INFO(slope);
    const double error = 0.05;
    std::normal_distribution<double> measured(slope, error);
    std::binomial_distribution<std::uint64_t> samples(400, 0.3);
    int held = 0;
    for (int i = 0; i < kTrials; ++i) {
      const double value = measured(random);
      const Interval of_slope{value, value - statistics::kNormal95 * error,
                              value + statistics::kNormal95 * error};
      const Interval gain = product(of_slope, share_with_interval(samples(random), 400));
      held += gain.low <= slope * 0.3 && slope * 0.3 <= gain.high;
    }
    CHECK(held > 0.936 * kTrials);  // four standard errors below 95 %
    CHECK(held < 0.965 * kTrials);
  }
}

TEST_CASE("gains as text, JSON and a page", "[report][callpath][gains][page]") {
  const Profile profile = profile_of_paths();
  CausalUnit none{
      "main.c:12",           true, "main", "/src/main.c", 12, {}, Interval{0, -0.01, 0.01},
      UnitVerdict::no_effect};
  CausalProfile by = causal({line_of_c(), call_of_z(), none});
  by.notes = {"a note"};
  const std::vector<Charge> charges = charged(profile, by);
  const Gains gains = gains_of(profile, charges, by);
  check_golden(render_gains_text(profile, gains, false, 100), "callpath/gains.txt");
  check_golden(render_gains_text(profile, gains, true, 80), "callpath/gains_color.txt");
  check_golden(render_gains_json(profile, gains), "callpath/gains.json");
  const std::string page = render_gains_html(profile, charges, gains);
  const std::size_t begin = page.find("id=\"data\">") + 10;
  const json slopes =
      json::parse(page.substr(begin, page.find("</script>", begin) - begin))["causal"];
  double all = 0;
  double certain = 0;
  double sum = 0;
  for (std::size_t i = 0; i < slopes["samples"].size(); ++i) {
    all += slopes["samples"][i].get<double>();
    certain += slopes["certain"][i].get<double>();
    sum += slopes["slopes"][i].get<double>();
  }
  CHECK(all == 100);
  CHECK(certain == 90);
  CHECK(sum == Approx(45));
}

}  // namespace causalctl::report::callpath
