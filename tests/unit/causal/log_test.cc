#include "controller/causal/record/log.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "controller/base/error.h"
#include "tests/support/folder.h"
#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {

using Catch::Contains;
using causalctl::test::content;
using causalctl::test::Folder;

namespace {

bool is_that(const CoreTotals& cores, Nanoseconds first) {
  return cores.cpu_ns == first && cores.stranger_wait_ns == first + 1 &&
         cores.visitors_cpu_ns == first + 2 && cores.met == static_cast<std::uint64_t>(first + 3) &&
         cores.ended_externally == static_cast<std::uint64_t>(first + 4) && cores.spin &&
         cores.coupled_cpu_ns == first + 5 && cores.busiest_cpu_ns == first + 6 &&
         cores.coupled_unit_ns == first + 7 && cores.resting_unit_ns == first + 14 &&
         cores.peers_cpu_ns == first + 8 && cores.cores == static_cast<int>(first + 9) &&
         cores.idle_ns == first + 10 && cores.quota_ns == first + 11 &&
         cores.quota_stopped_ns == first + 12 && cores.quota_granted_ns == first + 13;
}

Run full_run() {
  Run run;
  run.id = "run-1";
  run.host = "host";
  run.pid = 4711;
  run.executable = "/srv/a \"quoted\" \xff";
  run.started_as = "a-server";
  run.build_id = "abcd";
  run.started_ns = 1763690000000000000;
  run.config_json = R"({"experiment":{"min_visits":5}})";
  run.seed = 18446744073709551615ULL;
  run.facilities = {{"sample", "seen"}, {"wake-up", "never-fired"}};
  run.counting = {{"work", "uprobe at 6 places", 40}};
  Experiment e;
  e.unit = {"hash.c:217", true, "search", "/src/hash.c", 217};
  e.speedup = 0.35;
  e.start_ns = 1;
  e.wall_ns = 2000;
  e.delay_ns = 300;
  e.effective_ns = 1700;
  e.samples = 4;
  e.throughput = {{"work", 5, 6, 7}};
  e.latency = {{"request", 8, 9, -1, 2, 10, 11, 12}};
  e.runnable_wait_ns = 13;
  e.foreign_wait_ns = 12;
  e.cores = {50, 51, 52, 53, 54, true, 55, 56, 57, 64, 58, 61, 62, 63, 59, 60};
  e.lost_records = 14;
  e.asked_ns = 15;
  e.paid_ns = 16;
  e.pauses = 17;
  e.cost_error_ns = 35;
  e.model_error_ns = 36;
  e.discarded = "controller late";
  run.experiments = {e};
  run.samples = {{e.unit, 18, 17, 16}};
  run.ended = true;
  run.reason = EndReason::duration;
  run.wall_ns = 19;
  run.overhead = {0.25, -0.5, 0.75, 0.125, 12.5, 0.5, 20, 31, 32, 21, {33, 34, 37}};
  run.losses = {22, 23, 24, 25, 38, 39};
  run.cores = {60, 61, 62, 63, 64, true, 65, 66, 67, 74, 68, 71, 72, 73, 69, 70};
  run.throttled = true;
  run.digest = DigestResult::same;
  run.death = {11, 41, 42};
  run.stopped_calls = {3, 2, 1, 4};
  run.peers = {"client (process 35)"};
  run.elsewhere = {{"libc.so.6", 50, 7}, {"/usr/include/", 3, 0}};
  run.pacing = {{"work", 0.2, 0.8, 0.75, 0.85, true, 0.9, 0.7, 1.1}, {"untested"}};
  run.warnings = {"w"};
  return run;
}

void write(LogWriter& log, const Run& run) {
  log.run(run);
  log.pacing(run);
  for (const Experiment& e : run.experiments) log.experiment(run, e);
  for (const UnitSamples& s : run.samples) log.samples(run, s);
  log.end(run);
}

}  // namespace

TEST_CASE("two runs of one id are refused, a run that is given twice is not", "[causal][log]") {
  const std::string run = R"({"type":"run","version":1,"run":"a","executable":"/bin/x"})"
                          "\n";
  CHECK(parse_log(run + run, "l").runs.size() == 1);
  std::string other = run;
  other.replace(other.find("/bin/x"), 6, "/bin/y");
  CHECK_THROWS_WITH(parse_log(run + other, "l"), Contains("l:2: another run has this id"));
}

TEST_CASE("a run survives the log", "[causal]") {
  const Folder folder;
  const std::string path = folder.file("a.jsonl");
  const Run run = full_run();
  {
    LogWriter log(path);
    write(log, run);
  }
  const ReadLog read = read_logs({path});
  CHECK(read.warnings.empty());
  REQUIRE(read.runs.size() == 1);
  const Run& r = read.runs[0];
  CHECK(r.id == run.id);
  CHECK(r.host == run.host);
  CHECK(r.pid == run.pid);
  CHECK(r.started_as == "a-server");
  CHECK(r.executable == "/srv/a \"quoted\" \xef\xbf\xbd");  // invalid UTF-8 is replaced
  CHECK(r.build_id == run.build_id);
  CHECK(r.started_ns == run.started_ns);
  CHECK(r.config_json == run.config_json);
  CHECK(r.seed == run.seed);
  CHECK(r.facilities == run.facilities);
  REQUIRE(r.counting.size() == 1);
  CHECK(r.counting[0].point == "work");
  CHECK(r.counting[0].by == "uprobe at 6 places");
  CHECK(r.counting[0].visit_cost_ns == 40);
  REQUIRE(r.death);
  CHECK(r.death->signal == 11);
  CHECK(r.death->after_pause_ns == 41);
  CHECK(r.death->paused == 42);
  CHECK(r.ended);
  CHECK(r.reason == EndReason::duration);
  CHECK(r.wall_ns == 19);
  CHECK(r.overhead.slowdown == 0.25);
  CHECK(r.overhead.slowdown_low == -0.5);
  CHECK(r.overhead.slowdown_high == 0.75);
  CHECK(r.overhead.sample_ns == 12.5);
  CHECK(r.overhead.slowdown_by_samples == 0.125);
  CHECK(r.overhead.controller_cpu_share == 0.5);
  CHECK(r.overhead.attach_stop_ns == 20);
  CHECK(r.overhead.sample_to_pause_p50_ns == 31);
  CHECK(r.overhead.sample_to_pause_p99_ns == 32);
  CHECK(r.overhead.period_ns == 21);
  CHECK(r.overhead.pause_cost.cost_ns == 33);
  CHECK(r.overhead.pause_cost.error_ns == 34);
  CHECK(r.overhead.pause_cost.length_ns == 37);
  CHECK(r.experiments.at(0).cost_error_ns == 35);
  CHECK(r.experiments.at(0).model_error_ns == 36);
  CHECK(r.losses.records_lost == 22);
  CHECK(r.losses.stacks_truncated == 23);
  CHECK(r.losses.samples_unknown == 24);
  CHECK(r.losses.samples_total == 25);
  CHECK(r.losses.throttles == 38);
  CHECK(r.losses.stacks_copied_in_part == 39);
  CHECK(r.digest == DigestResult::same);
  CHECK(r.stopped_calls.continued == 3);
  CHECK(r.stopped_calls.repeated == 2);
  CHECK(r.stopped_calls.broken == 1);
  CHECK(r.stopped_calls.shortened == 4);
  CHECK(r.warnings == run.warnings);
  CHECK(r.peers == run.peers);
  REQUIRE(r.elsewhere.size() == 2);
  CHECK(r.elsewhere[0].place == "libc.so.6");
  CHECK(r.elsewhere[0].count == 50);
  CHECK(r.elsewhere[0].unclaimed == 7);
  REQUIRE(r.pacing.size() == 2);
  CHECK_FALSE(r.pacing[1].tested());
  CHECK(r.pacing[0].point == "work");
  CHECK(r.pacing[0].paused_share == 0.2);
  CHECK(r.pacing[0].rate == 0.8);
  CHECK(r.pacing[0].low == 0.75);
  CHECK(r.pacing[0].high == 0.85);
  CHECK(r.pacing[0].cores_short);
  CHECK(r.pacing[0].absorbed == 0.9);
  CHECK(r.pacing[0].absorbed_low == 0.7);
  CHECK(r.pacing[0].absorbed_high == 1.1);
  REQUIRE(r.samples.size() == 1);
  CHECK(r.samples[0].count == 18);
  CHECK(r.samples[0].baseline_count == 17);
  CHECK(r.samples[0].inherited == 16);
  REQUIRE(r.experiments.size() == 1);
  const Experiment& e = r.experiments[0];
  CHECK(e.unit.name == "hash.c:217");
  CHECK(e.unit.is_line);
  CHECK(e.unit.function == "search");
  CHECK(e.unit.file == "/src/hash.c");
  CHECK(e.unit.line == 217);
  CHECK(e.speedup == 0.35);
  CHECK(e.start_ns == 1);
  CHECK(e.wall_ns == 2000);
  CHECK(e.delay_ns == 300);
  CHECK(e.effective_ns == 1700);
  CHECK(e.samples == 4);
  CHECK(e.throughput[0].visits == 5);
  CHECK(e.throughput[0].first_ns == 6);
  CHECK(e.throughput[0].last_ns == 7);
  CHECK(e.latency[0].begins == 8);
  CHECK(e.latency[0].ends == 9);
  CHECK(e.latency[0].in_progress_start == -1);
  CHECK(e.latency[0].in_progress_end == 2);
  CHECK(e.latency[0].mean_ns == 10);
  CHECK(e.latency[0].p50_ns == 11);
  CHECK(e.latency[0].p99_ns == 12);
  CHECK(e.runnable_wait_ns == 13);
  CHECK(e.foreign_wait_ns == 12);
  CHECK(is_that(e.cores, 50));
  CHECK(is_that(read.runs[0].cores, 60));
  CHECK(read.runs[0].throttled);
  CHECK(e.lost_records == 14);
  CHECK(e.asked_ns == 15);
  CHECK(e.paid_ns == 16);
  CHECK(e.pauses == 17);
  CHECK(e.discarded == "controller late");

  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a log is readable however early its run was killed", "[causal]") {
  const Folder folder;
  const std::string path = folder.file("a.jsonl");
  {
    LogWriter log(path);
    write(log, full_run());
  }
  const std::string whole = content(path);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    INFO("cut at " << length);
    const ReadLog read = parse_log(whole.substr(0, length), "a.jsonl");
    CHECK(read.runs.size() <= 1);
    const bool cut_inside = length > 0 && whole[length - 1] != '\n' && whole[length] != '\n';
    CHECK(read.warnings.size() == (cut_inside ? 1 : 0));
  }
}

TEST_CASE("appending to a log that was cut off", "[causal]") {
  const Folder folder;
  const std::string path = folder.file("a.jsonl");
  std::ofstream(path) << R"({"type":"run","version":1,"run":"old"})"
                      << "\n"
                      << R"({"type":"experiment","ru)";
  {
    LogWriter log(path);
    write(log, full_run());
  }
  const ReadLog read = read_logs({path});
  CHECK(read.runs.size() == 2);
  CHECK(texts_of(read.warnings) ==
        std::vector<std::string>{path + ":2: the line is cut off; it is ignored"});
}

TEST_CASE("logs may be concatenated, also after a cut", "[causal]") {
  const ReadLog read = parse_log(
      "{\"type\":\"run\",\"version\":1,\"run\":\"a\"}\n"
      "{\"type\":\"experiment\",\"run\":\"a\",\"unit{\"type\":\"run\",\"version\":1,\"run\":\"b\"}"
      "\n"
      "\n"
      "{\"type\":\"samples\",\"run\":\"b\",\"unit\":\"x\",\"count\":3}\n"
      "{\"type\":\"samples\",\"run\":\"a\",\"unit\":\"x\",\"count\":4}\r\n",
      "l");
  REQUIRE(read.runs.size() == 2);
  CHECK(read.runs[0].samples[0].count == 4);
  CHECK(read.runs[1].samples[0].count == 3);
  REQUIRE(read.warnings.size() == 1);
  CHECK_THAT(read.warnings[0].text(), Contains("l:2: the line begins with one that was cut off"));
}

TEST_CASE("the same log given twice counts once", "[causal]") {
  const Folder folder;
  const std::string path = folder.file("a.jsonl");
  {
    LogWriter log(path);
    write(log, full_run());
  }
  const ReadLog read = read_logs({path, path});
  REQUIRE(read.runs.size() == 1);
  CHECK(read.runs[0].experiments.size() == 1);
  CHECK(read.runs[0].samples.size() == 1);
  REQUIRE(read.warnings.size() == 1);
  CHECK_THAT(read.warnings[0].text(), Contains("given twice"));
}

TEST_CASE("what the reader tolerates and what not", "[causal]") {
  const std::string run = "{\"type\":\"run\",\"version\":1,\"run\":\"a\",\"future\":[1]}\n";
  const ReadLog read = parse_log(run +
                                     "{\"type\":\"weather\",\"run\":\"a\"}\n"
                                     "{\"type\":\"weather\",\"run\":\"a\"}\n"
                                     "{\"type\":\"end\",\"run\":\"a\",\"overhead\":{\"slowdown\":"
                                     "null}}\n",
                                 "l");
  REQUIRE(read.warnings.size() == 1);
  CHECK_THAT(read.warnings[0].text(), Contains("l:2") && Contains("weather"));
  CHECK_FALSE(read.runs[0].overhead.slowdown);
  const Run novel =
      parse_log(run + R"({"type":"end","run":"a","reason":"novel","digest":"odd"})", "l").runs[0];
  CHECK(novel.reason == EndReason::none);
  CHECK(novel.digest == DigestResult::unknown);

  const auto [line, words] = GENERATE(table<std::string, std::string>({
      {"hello", "not a line of an experiment log"},
      {"[1]", "not a line of an experiment log"},
      {"{\"kind\":1}x", "not a line of an experiment log"},
      {"{\"type\":\"run\",\"version\":2,\"run\":\"b\"}", "newer"},
      {"{\"type\":\"experiment\",\"run\":\"a\",\"speedup\":1.5}", "\"speedup\""},
      {"{\"type\":\"experiment\",\"run\":\"a\",\"speedup\":\"x\"}", "\"speedup\""},
      {"{\"type\":\"experiment\",\"run\":\"a\",\"samples\":-1}", "\"samples\""},
      {"{\"type\":\"experiment\",\"run\":\"a\",\"samples\":1e300}", "\"samples\""},
      {"{\"type\":\"experiment\",\"run\":\"a\",\"throughput\":[5]}", "l:2"},
      {"{\"type\":\"experiment\",\"run\":\"a\",\"throughput\":5}", "l:2"},
      {"{\"type\":\"end\",\"run\":\"a\",\"warnings\":[5]}", "\"warnings\""},
      {"{\"type\":5}", "\"type\""},
      {"{\"type\":\"samples\",\"run\":\"a\",\"unit\":\"f\",\"kind\":5}", "\"kind\""},
      {"{\"type\":\"experiment\",\"run\":\"a\",\"line\":4294967297}", "\"line\""},
      {"{\"type\":\"experiment\",\"run\":\"a\",\"start_ns\":9223372036854775808}", "\"start_ns\""},
      {"{\"type\":\"end\",\"run\":\"a\",\"wall_ns\":9223372036854775807}", "ten years"},
      {"{\"type\":\"run\",\"config\":" + std::string(100'000, '[') + std::string(100'000, ']') +
           "}",
       "nested"},
      {"{\"type\":\"x{\"type\":\"run\",\"config\":" + std::string(100'000, '[') +
           std::string(100'000, ']') + "}",
       "nested"},
  }));
  INFO(line);
  try {
    parse_log(run + line + "\n", "l");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Contains("l:2") && Contains(words));
  }
}

TEST_CASE("times in a log can be added up", "[causal]") {
  const std::string year = "{\"type\":\"end\",\"run\":\"a\",\"wall_ns\":31536000000000000}\n";
  std::string text;
  for (int i = 0; i < 146; ++i) text += year;
  CHECK_NOTHROW(parse_log(text, "l"));
  CHECK_THROWS_WITH(parse_log(text + year, "l"), Contains("l:147") && Contains("century"));
}

TEST_CASE("brackets in a text are not nesting", "[causal]") {
  const std::string text = std::string(100, '[') + "\\\"" + std::string(100, '{');
  const ReadLog log = parse_log(R"({"type":"run","run":"a","host":")" + text + "\"}\n", "l");
  REQUIRE(log.runs.size() == 1);
  CHECK(log.runs[0].host.size() == 201);
}

TEST_CASE("logs are not written through links, nor to what cannot be opened", "[causal]") {
  const Folder folder;
  const std::string victim = folder.file("victim");
  std::ofstream(victim) << "keep";
  REQUIRE(::symlink(victim.c_str(), folder.file("link").c_str()) == 0);
  CHECK_THROWS_AS(LogWriter(folder.file("link")), Error);
  CHECK(content(victim) == "keep");
  CHECK_THROWS_AS(LogWriter(folder.file("no/such")), Error);
  CHECK_THROWS_AS(LogWriter(folder.file("")), Error);
  CHECK_THROWS_AS(read_logs({folder.file("none")}), Error);
  CHECK_THROWS_AS(read_logs({folder.file("")}), Error);  // a directory
  LogWriter null("/dev/null");
  CHECK_NOTHROW(null.run(full_run()));
}

TEST_CASE("a full disk is told once and leaves whole lines", "[causal]") {
  LogWriter full("/dev/full");
  CHECK_THROWS_WITH(full.run(full_run()), Contains("/dev/full") && Contains("No space left"));
  CHECK(full.failed());
  CHECK_NOTHROW(full.end(full_run()));

  // A limit on the file's size cuts a line in the middle, as a full disk does.
  const Folder folder;
  const std::string path = folder.file("a.jsonl");
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  REQUIRE(::sigaction(SIGXFSZ, &ignore, &before) == 0);
  rlimit unlimited{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  {
    LogWriter log(path);
    log.run(full_run());
    const auto size = content(path).size();
    const rlimit limit{size + 40, unlimited.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK_THROWS_AS(log.experiment(full_run(), full_run().experiments[0]), Error);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
    CHECK(content(path).size() == size);
    log.end(full_run());  // there is room again, so later lines are still written
  }
  ::sigaction(SIGXFSZ, &before, nullptr);
  const ReadLog read = read_logs({path});
  CHECK(read.warnings.empty());
  REQUIRE(read.runs.size() == 1);
  CHECK(read.runs[0].ended);
  CHECK(read.runs[0].experiments.empty());
}

}  // namespace causalctl::causal
