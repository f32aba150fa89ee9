#include <catch2/catch.hpp>

#include "config/load.h"
#include "controller/base/error.h"

namespace causalctl {

using config::parse;

namespace {

std::string faults_of_comparison(const std::string& text) {
  try {
    config::Config config = parse(text, "c.toml");
    config::check_ab(config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every key of [ab] is read", "[config]") {
  config::Config c = parse(R"(
[ab]
a = { command = ["./old", "--x"], env = { LANG = "C" }, directory = "/tmp", nice = -3 }
b = { command = ["./new"], ready = "^up", cpus = [1] }
ready = 'ready (\d+)'
ready_port = 8080
ready_delay = "200ms"
load = ["./load", "--n", "5"]
load_cpus = [0, 1]
cpus = [0]
nice = 4
env = { LANG = "de", HOME = "/" }
warm_up = "1s"
measure = "2s"
time_limit = "1m"
grace = "3s"
rounds = 30
null_rounds = 4
seed = 9
until_certain = true
resolution = 0.5
allow_failures = 5
fail_if_slower = 2
predict = { log = "p.jsonl", unit = "hash.c:217", speedup = 96 }
[progress]
throughput = ["done"]
)",
                           "c.toml");
  config::check_ab(c);
  const config::Ab& ab = c.ab;
  CHECK(ab.a.command == std::vector<std::string>{"./old", "--x"});
  CHECK(ab.a.directory == "/tmp");
  CHECK(ab.b.directory.empty());
  // Both sides get it, unless a side sets it itself.
  CHECK(ab.a.environment == std::map<std::string, std::string>{{"LANG", "C"}, {"HOME", "/"}});
  CHECK(ab.b.environment == std::map<std::string, std::string>{{"LANG", "de"}, {"HOME", "/"}});
  CHECK(ab.a.ready == "ready (\\d+)");
  CHECK(ab.b.ready == "^up");
  CHECK(ab.a.nice == -3);
  CHECK(ab.b.nice == 4);
  CHECK(ab.a.cpus == std::vector<unsigned>{0});
  CHECK(ab.b.cpus == std::vector<unsigned>{1});
  CHECK(ab.b.load_cpus == std::vector<unsigned>{0, 1});
  CHECK(ab.b.ready_port == 8080U);
  CHECK(ab.a.ready_delay_ns == 200 * kMillisecond);
  CHECK(ab.a.load == std::vector<std::string>{"./load", "--n", "5"});
  CHECK(ab.warm_up_ns == kSecond);
  CHECK(ab.measure_ns == 2 * kSecond);
  CHECK(ab.time_limit_ns == 60 * kSecond);
  CHECK(ab.grace_ns == 3 * kSecond);
  CHECK(ab.rounds == 30U);
  CHECK(ab.null_rounds == 4U);
  CHECK(ab.seed == 9U);
  CHECK(ab.until_certain);
  CHECK(ab.resolution_percent == 0.5);
  CHECK(ab.allow_failures_percent == 5);
  CHECK(ab.fail_if_slower_percent == 2);
  CHECK(ab.predict.log == "p.jsonl");
  CHECK(ab.predict.unit == "hash.c:217");
  CHECK(ab.predict.speedup_percent == 96);
}

TEST_CASE("without progress points whole runs are measured, with them a second", "[config]") {
  config::Config c = parse("[ab]\na = {command=[\"x\"]}\nb = {command=[\"y\"]}\n", "c.toml");
  config::check_ab(c);
  CHECK_FALSE(c.ab.measure_ns);
  c.progress.throughput = {"f"};
  config::check_ab(c);
  CHECK(c.ab.measure_ns == kSecond);
}

TEST_CASE("running processes are measured for a second, too", "[config]") {
  config::Config c = parse("[ab]\na = {pid=3}\nb = {pid=4}\n", "c.toml");
  c.progress.throughput = {"f"};
  config::check_ab(c);
  CHECK(c.ab.measure_ns == kSecond);
}

TEST_CASE("what makes no comparison is refused", "[config]") {
  const std::string sides = "[ab]\na = {command=[\"x\"]}\nb = {command=[\"y\"]}\n";
  const auto [text, expected] = GENERATE_REF(table<std::string, std::string>({
      {"", "side a: nothing is named"},
      {"[ab]\na = {command=[\"x\"]}\n", "side b: nothing is named"},
      {"[ab]\na = {command=[\"x\"], pid=3}\nb = {pid=4}\n", "more than one of command"},
      {"[ab]\na = {pid=3, nice=2}\nb = {pid=4}\n", "are for a command"},
      {"[ab]\na = {pid=3}\nb = {pid=4}\n", "needs to be told when a run ends"},
      {"[ab]\na = {command=[\"x\"], load=[\"l\"]}\nb = {command=[\"y\"]}\n", "only one side"},
      {sides + "measure = \"1s\"\n", "measure needs a progress point"},
      {sides + "measure = \"1ms\"\n", "must be from 10ms to 1h"},
      {sides + "ready = \"(\"\n", "is not a pattern"},
      {sides + "ready = \"(a)(b)\"\n", "more than one group"},
      {sides + "cpus = []\n", "at least one"},
      {sides + "fail_if_slower = \"2%\"\n", "must be a number"},
      {sides + "predict = { log = \"x\" }\n", "predict needs log, unit and speedup"},
      {sides + "predict = { log = \"x\", unit = \"u\", speedup = 5 }\n",
       "predict needs the progress"},
      {sides + "[progress]\nthroughput = [\"sampled:a.c:1\"]\n", "takes no samples"},
      {sides + "[[progress.latency]]\nname=\"r\"\nbegin=\"sampled:a.c:1\"\nend=\"f\"\n",
       "takes no samples"},
      {sides + "[[progress.latency]]\nname=\"r\"\nbegin=\"f\"\nend=\"f\"\n",
       "its begin is its end, f"},
      {sides + "ready = \"up\"\n", "mean nothing for whole runs"},
      {sides + "warm_up = \"1s\"\n", "mean nothing for whole runs"},
      {sides + "measure = \"10m\"\n[progress]\nthroughput = [\"f\"]\n",
       "take 10m together, time_limit is 5m"},
      {sides + "[progress]\nend_to_end = true\n", "no meaning for ab"},
      {sides + "[output]\nformat = \"coz\"\n", "is not a format of ab"},
      {sides + "[output]\nformat = \"html\"\n", "is not a format"},
  }));
  INFO(text);
  const std::string faults = faults_of_comparison(text);
  INFO(faults);
  CHECK(faults.find(expected) != std::string::npos);
}

TEST_CASE("csv is a format of ab, and of ab alone", "[config]") {
  config::Config c = parse("[output]\nformat = \"csv\"\n[target]\npid = 1\n", "c.toml");
  c.progress.throughput = {"f"};
  CHECK_THROWS_AS(config::check(c), UsageError);
  c.ab.a.command = c.ab.b.command = {"x"};
  CHECK_NOTHROW(config::check_ab(c));
}

}  // namespace causalctl
