#include "controller/commands/options.h"

#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/load.h"
#include "controller/base/error.h"

namespace causalctl {

using commands::ProfileOptions;
using commands::RecordingOptions;

namespace {

template <typename Options, typename... Others>
config::Config merged_by(std::vector<std::string> arguments, Others... others) {
  CLI::App app;
  const Options options(app, others...);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 expects them reversed
  app.parse(arguments);
  return options.config();
}
config::Config merged(std::vector<std::string> arguments) {
  return merged_by<ProfileOptions>(std::move(arguments), true);
}

class File {
 public:
  explicit File(const std::string& text) {
    const int fd = ::mkstemp(path_);
    ::close(fd);
    std::ofstream(path_) << text;
  }
  ~File() { ::unlink(path_); }
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/causalctl_testXXXXXX";
};

}  // namespace

TEST_CASE("a recording's options stand over the file", "[config]") {
  const File file("[callpath]\nthreads = \"each\"\nepoch = [\"dlopen\"]\nwakers = true\n");
  const config::Config c =
      merged_by<RecordingOptions>({"--config", file.path(), "--threads", "by-start", "--set",
                                   "callpath.max_event_cost=7", "-o", "x.jsonl"});
  CHECK(c.callpath.threads == config::Grouping::by_start);
  CHECK(c.callpath.epochs == std::vector<std::string>{"dlopen"});
  CHECK((c.callpath.wakers && c.callpath.max_event_cost_percent == 7));
  CHECK(c.callpath.log == "x.jsonl");
}

TEST_CASE("options stand over the file, lists whole", "[config]") {
  const File file(R"(
[progress]
throughput = ["a", "b"]
[[progress.latency]]
name = "r"
begin = "x"
end = "y"
[experiment]
duration = "1s"
min_visits = 7
[sampling]
period = "2ms"
)");
  const config::Config c =
      merged({"--config",       file.path(), "--progress",   "f.c:1", "--progress",  "g",
              "--experiment",   "200ms",     "--period",     "auto",  "--duration",  "90s",
              "--max-slowdown", "30%",       "--seed",       "7",     "--fixed",     "u",
              "--speedup",      "35",        "--unit",       "line",  "-o",          "log.jsonl",
              "--format",       "json",      "--scope-file", "*.c",   "--end-to-end"});
  CHECK(c.progress.throughput == std::vector<std::string>{"f.c:1", "g"});
  CHECK(c.progress.latency.size() == 1);
  CHECK(c.progress.end_to_end);
  CHECK(c.experiment.duration_ns == 200 * kMillisecond);
  CHECK(c.experiment.min_visits == 7);
  CHECK_FALSE(c.sampling.period_ns);
  CHECK(c.budget.duration_ns == 90 * kSecond);
  CHECK(c.budget.max_slowdown_percent == 30.0);
  CHECK(c.experiment.seed == 7U);
  CHECK(c.experiment.fixed_speedup_percent == 35U);
  CHECK(c.scope.unit == config::Unit::line);
  CHECK(c.output.log == "log.jsonl");
  CHECK(c.output.format == "json");
  CHECK(c.scope.files == std::vector<std::string>{"*.c"});
}

TEST_CASE("auto stands over the file, too", "[config]") {
  const File file("[pause]\ncost = \"1ms\"\n[scope]\nunit = \"line\"\n");
  CHECK(merged({"--config", file.path()}).scope.unit == config::Unit::line);
  CHECK(merged({"--config", file.path(), "--unit", "auto"}).scope.unit == config::Unit::automatic);
  CHECK(merged({"--config", file.path()}).pause.cost_ns == kMillisecond);
  CHECK(merged({"--config", file.path(), "--pause-cost", "90us"}).pause.cost_ns ==
        90 * kMicrosecond);
  CHECK_FALSE(merged({"--config", file.path(), "--pause-cost", "auto"}).pause.cost_ns);
}

TEST_CASE("--set stands over the file, and under the other options", "[config]") {
  const File file("[pause]\nlongest = \"20ms\"\n[sampling]\nperiod = \"2ms\"\n");
  const config::Config c = merged(
      {"--config", file.path(), "--set", "pause.longest='30ms'", "--set", "sampling.period='3ms'",
       "--set", "experiment.min_visits=9", "--period", "4ms", "--set", "pause.threshold='3ms'"});
  CHECK(c.pause.longest_ns == 30 * kMillisecond);
  CHECK(c.sampling.period_ns == 4 * kMillisecond);
  CHECK(c.experiment.min_visits == 9);
  CHECK(c.pause.threshold_ns == 3 * kMillisecond);
  CHECK_FALSE(
      merged({"--config", file.path(), "--set", "pause.threshold='auto'"}).pause.threshold_ns);
  CHECK_FALSE(
      merged({"--config", file.path(), "--set", "sampling.period='auto'"}).sampling.period_ns);
}

TEST_CASE("a repeatable option leaves the arguments after it alone", "[config]") {
  CLI::App app;
  const ProfileOptions options(app, false);
  int pid = 0;
  app.add_option("PID", pid);
  app.parse(std::vector<std::string>{"4711", "f", "--progress"});
  CHECK(pid == 4711);
  CHECK(options.config().progress.throughput == std::vector<std::string>{"f"});
}

TEST_CASE("bad options are usage errors", "[config]") {
  const auto arguments = GENERATE(values<std::vector<std::string>>({{"--duration", "5"},
                                                                    {"--duration", "0s"},
                                                                    {"--experiment", "1us"},
                                                                    {"--period", "never"},
                                                                    {"--speedup", "-1"},
                                                                    {"--speedup", "101"},
                                                                    {"--speedup", "3.5"},
                                                                    {"--speedup", "x"},
                                                                    {"--max-slowdown", "nan"},
                                                                    {"--min-visits", "0"},
                                                                    {"--latency", "r=a"},
                                                                    {"--format", "csv"},
                                                                    {"--pause-channel", "x"},
                                                                    {"--unit", "file"},
                                                                    {"--set", "pause.longest=20ms"},
                                                                    {"--set", "pause.shortest=1"},
                                                                    {"--pause-cost", "0us"},
                                                                    {"--seed", "-1"},
                                                                    {"--config", "/nonexistent"}}));
  INFO(arguments[0] << " " << arguments[1]);
  CHECK_THROWS_AS(merged(arguments), UsageError);
}

TEST_CASE("what the command line cannot mean", "[config]") {
  CHECK_THROWS_AS(merged({"--color", "blue"}), CLI::ParseError);
  CHECK_THROWS_AS(merged({"--quiet", "--verbose"}), CLI::ParseError);
}

TEST_CASE("the configuration in the log names no secrets", "[config]") {
  config::Config c;
  c.target.environment["TOKEN"] = "hunter2";
  c.sampling.period_ns = kMillisecond;
  const std::string text = config::config_json(c);
  CHECK(text.find("hunter2") == std::string::npos);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["target"]["env"][0] == "TOKEN");
  CHECK(json["sampling"]["period"] == "1ms");
  CHECK(json["pause"]["cost"] == "auto");
  CHECK(json["experiment"]["duration"] == "500ms");
}

}  // namespace causalctl
