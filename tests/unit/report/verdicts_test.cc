// The first lines of reports of continuous profiles.
#include <catch2/catch.hpp>
#include <string>

#include "controller/report/continuous/calc_model.h"
#include "controller/report/continuous/model.h"
#include "controller/report/continuous/stalls_model.h"

namespace causalctl::report::continuous {
namespace {

template <class Table>
std::string first_line_of(const Table& table) {
  std::string text;
  if constexpr (std::is_same_v<Table, Calc>) {
    text = render_text(table, CalcOptions{.width = 300});
  } else {
    text = render_text(table, TextOptions{.width = 300});
  }
  return text.substr(0, text.find('\n'));
}

ProfileTable profile() {
  ProfileTable table;
  table.epochs = {{1, "", "10:00", "10:01", 10 * kSecond}};
  table.time_ns = 12 * kSecond;
  table.rows = {{"hash", "/bin/server", 500, 6 * kSecond, {0.5, 0.45, 0.55}},
                {"copy", "", 100, kSecond, {0.1, 0.08, 0.12}},
                {"rare", "/bin/server", 1, kSecond, {0.001, 0, 0.01}}};
  return table;
}

SpreadRow row(const std::string& name, bool differs, bool is_compared = true) {
  SpreadRow made;
  made.name = name;
  made.differs = differs;
  made.is_compared = is_compared;
  return made;
}

StallTable stalls() {
  StallTable table;
  table.epochs = profile().epochs;
  table.samples = 1000;
  table.analysed = 0.9;
  table.causes = {{'d', "a data cache miss"}};
  StallRow chase;
  chase.function = "chase";
  chase.image = "/bin/server";
  chase.text = "mov rax, [rax]";
  chase.share = {0.123, 0.11, 0.135};
  chase.culprits = "dD";
  chase.ns_each = 12.0;
  table.rows = {chase};
  return table;
}

}  // namespace

TEST_CASE("prof begins with the functions that have most", "[report]") {
  CHECK(first_line_of(profile()) ==
        "12.0 s on a core in 10.0 s (1.2 cores): 50 % hash (server), 10 % copy");
  ProfileTable large = profile();
  large.time_ns = 1280 * kSecond;
  CHECK(first_line_of(large).find("(128 cores)") != std::string::npos);
  large.rows.clear();
  CHECK(first_line_of(large) == "21 min 20 s on a core in 10.0 s (128 cores)");
}

TEST_CASE("stats begins with the functions that differ", "[report]") {
  SpreadTable table;
  table.sets.resize(5);
  CHECK(first_line_of(table) == "No function has enough samples in two sets to be compared");
  table.rows = {row("a", false), row("b", false, false)};
  CHECK(first_line_of(table) == "No function of 1 differs between the 5 sets by more than chance");
  table.rows = {row("a", true), row("b", false)};
  CHECK(first_line_of(table) ==
        "1 of 2 functions differs between the 5 sets by more than chance: a");
  table.rows = {row("a", true), row("b", true), row("c", true), row("d", true)};
  CHECK(first_line_of(table) ==
        "4 of 4 functions differ between the 5 sets by more than chance: a, b, c, …");
}

TEST_CASE("stalls begins with the largest one, as far as it is known", "[report]") {
  StallTable table = stalls();
  CHECK(first_line_of(table) ==
        "12.3 % [11.0, 13.5] of the time is a wait of mov rax, [rax] in chase (server), likely for "
        "a data cache miss (d)");
  table.rows[0].ns_each.reset();  // without counts all of the time may be a wait
  CHECK(first_line_of(table).starts_with("At most 12.3 % [11.0, 13.5] of the time is a wait"));
  table.rows.clear();
  CHECK(first_line_of(table) == "No instruction waits for a thousandth of the time");
  table.analysed = 0;
  CHECK(first_line_of(table) == "No code was analysed");
}

TEST_CASE("stalls by effect begins with a gain only if it is certain", "[report]") {
  StallTable table = stalls();
  table.effects = EffectHead{"/bin/server", "request", 0.5, 0.3, 0.2, {}};
  table.rows[0].effect = StallEffect{"chase.c:7", {0.4, 0.3, 0.5}, {0.031, 0.02, 0.042}};
  CHECK(first_line_of(table).starts_with(
      "Without the wait of mov rax, [rax] in chase (server) each request would take 3.1 % [2.0, "
      "4.2] less time"));
  table.rows[0].ns_each.reset();
  CHECK(first_line_of(table).find("take at most 3.1 %") != std::string::npos);
  table.rows[0].effect->gain = {0.031, -0.01, 0.07};
  CHECK(first_line_of(table) ==
        "No stall is certain to matter; the largest is mov rax, [rax] in chase (server)");
}

TEST_CASE("calc begins with the function's share and what it may wait for", "[report]") {
  Calc calc;
  calc.epochs = profile().epochs;
  calc.function = "chase";
  calc.image = "/bin/server";
  calc.share = {0.6, 0.55, 0.65};
  CHECK(first_line_of(calc) == "chase (/bin/server): 60.0 % [55.0, 65.0] of the time on a core");
  calc.summary.causes = {{'d', "a data cache miss", 0.1, 0.42}, {'b', "a branch", 0, 0.05}};
  CHECK(first_line_of(calc) ==
        "chase (/bin/server): 60.0 % [55.0, 65.0] of the time on a core; up to 42 % of that it may "
        "wait for a data cache miss (d)");
}

}  // namespace causalctl::report::continuous
