#include "config/load.h"

#include <catch2/catch.hpp>

#include "config/text.h"
#include "controller/base/error.h"

namespace causalctl {

using config::parse;

namespace {

std::string faults_of(std::string_view text) {
  try {
    parse(text, "c.toml");
  } catch (const UsageError& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("words are joined as a shell splits them", "[config]") {
  const std::vector<std::string> words = {"sh", "-c", "echo \"a  b\" it's $HOME", "", "/x.so=1"};
  CHECK(config::joined_words(words) == R"(sh -c 'echo "a  b" it'\''s $HOME' '' /x.so=1)");
  CHECK(config::split_words(config::joined_words(words), "--a") == words);
}

TEST_CASE("every key is read", "[config]") {
  const config::Config c = parse(R"(
[target]
command = ["./server", "--port", "8080", ""]
env = { LANG = "C", EMPTY = "" }
directory = "/srv/app"
[progress]
throughput = ["process_command", "usdt:postgresql:transaction__commit"]
[[progress.latency]]
name = "request"
begin = "conn_new"
end = "conn_close"
[scope]
binary = ["MAIN", "libssl*"]
file = ["src/*.c"]
unit = "function"
[experiment]
duration = "250ms"
cooloff = "0ms"
min_visits = 9
speedups = [50, 0, 25, 50]
baseline_share = 0.3
seed = 42
fixed = "hash.c:217"
speedup = 35
pace_test = false
[sampling]
period = "250us"
peers = false
[pause]
channel = "ptrace"
cost = "120us"
longest = "50ms"
threshold = "500us"
[budget]
duration = "5m"
max_slowdown = 30
until_certain = true
[output]
log = "p.jsonl"
format = "coz"
[ab]
a = { command = ["./old"] }
b = { command = ["./new"], env = { X = "1" } }
load = ["./loadgen"]
rounds = 20
predict = { log = "profile.jsonl", unit = "hash.c:217", speedup = 96 }
)",
                                 "c.toml");
  CHECK(c.target.command == std::vector<std::string>{"./server", "--port", "8080", ""});
  CHECK(c.target.environment == std::map<std::string, std::string>{{"LANG", "C"}, {"EMPTY", ""}});
  CHECK(c.target.directory == "/srv/app");
  CHECK(c.progress.throughput.size() == 2);
  REQUIRE(c.progress.latency.size() == 1);
  CHECK(c.progress.latency[0].begin == "conn_new");
  CHECK(c.progress.latency[0].end == "conn_close");
  CHECK(c.scope.binaries[1] == "libssl*");
  CHECK(c.scope.files == std::vector<std::string>{"src/*.c"});
  CHECK(c.scope.unit == config::Unit::function);
  CHECK(c.experiment.duration_ns == 250 * kMillisecond);
  CHECK(c.experiment.cooloff_ns == 0);
  CHECK(c.experiment.min_visits == 9);
  CHECK(c.experiment.speedups_percent == std::vector<unsigned>{0, 25, 50});
  CHECK(c.experiment.baseline_share == 0.3);
  CHECK(c.experiment.seed == 42U);
  CHECK(c.experiment.fixed_unit == "hash.c:217");
  CHECK(c.experiment.fixed_speedup_percent == 35U);
  CHECK_FALSE(c.experiment.pace_test);
  CHECK(c.sampling.period_ns == 250 * kMicrosecond);
  CHECK_FALSE(c.sampling.peers);
  CHECK(c.pause.channel == "ptrace");
  CHECK(c.pause.cost_ns == 120 * kMicrosecond);
  CHECK(c.pause.longest_ns == 50 * kMillisecond);
  CHECK(c.pause.threshold_ns == 500 * kMicrosecond);
  CHECK(c.budget.duration_ns == 300 * kSecond);
  CHECK(c.budget.max_slowdown_percent == 30.0);
  CHECK(c.budget.until_certain);
  CHECK(c.output.log == "p.jsonl");
  CHECK(c.output.format == "coz");
}

TEST_CASE("a recording of call paths has a table of its own", "[config]") {
  const config::Config c = parse(R"(
[callpath]
duration = "90s"
period = "2ms"
event = ["cpu", "page-faults"]
count = ["f"]
wakers = true
max_event_cost = 0.5
threads = "by-name"
epoch = ["every 10s"]
log = "paths.jsonl"
)",
                                 "c.toml");
  CHECK(c.callpath.duration_ns == 90 * kSecond);
  CHECK(c.callpath.period_ns == 2 * kMillisecond);
  CHECK(c.callpath.events == std::vector<std::string>{"cpu", "page-faults"});
  CHECK(c.callpath.counts == std::vector<std::string>{"f"});
  CHECK(c.callpath.wakers);
  CHECK(c.callpath.max_event_cost_percent == 0.5);
  CHECK(c.callpath.threads == config::Grouping::by_name);
  CHECK(c.callpath.epochs == std::vector<std::string>{"every 10s"});
  CHECK(c.callpath.log == "paths.jsonl");
  CHECK(config::config_json(c) == config::config_json(config::Config{}));  // not of a profile
}

TEST_CASE("an empty configuration has the defaults", "[config]") {
  const config::Config c = parse("", "c.toml");
  CHECK(c.experiment.duration_ns == 500 * kMillisecond);
  CHECK(c.experiment.speedups_percent.size() == 21);
  CHECK(c.experiment.pace_test);
  CHECK_FALSE(c.sampling.period_ns);
  CHECK(c.sampling.peers);
  CHECK(c.scope.binaries == std::vector<std::string>{"MAIN"});
}

TEST_CASE("all faults are told at once, each with its place", "[config]") {
  const std::string text = faults_of(
      "[target]\n"
      "pid = \"x\"\n"
      "[experiment]\n"
      "min_visit = 5\n"
      "baseline_share = 0.99\n"
      "speedups = [5, 101]\n"
      "duration = 500\n"
      "[experimen]\n"
      "[output]\n"
      "format = \"html\"\n");
  CHECK(text ==
        "c.toml:2:7: must be a whole number, not string\n"
        "c.toml:4:1: unknown key \"experiment.min_visit\"; did you mean "
        "\"experiment.min_visits\"?\n"
        "c.toml:5:18: must be from 0.05 to 0.95, not 0.99\n"
        "c.toml:6:16: must be from 0 to 100, not 101\n"
        "c.toml:7:12: must be a time such as \"10ms\", not integer\n"
        "c.toml:8:2: unknown key \"experimen\"; did you mean \"experiment\"?\n"
        "c.toml:10:10: \"html\" is not a format here");
}

TEST_CASE("single faults", "[config]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"[budget]\nperiod = \"1ms\"", "it belongs in [sampling]"},
      {"target = 5", "[target] is a table, not integer"},
      {"[target]\npid = 0", "must be from 1 to"},
      {"[target]\npid = 1\nmatch = \"x\"", "only one of pid, match and command"},
      {"[target]\ncommand = []", "must not be empty"},
      {"[target]\ncommand = [\"\", \"a\"]", "2:12: must not be empty"},
      {"[progress]\nthroughput = [\"a.c:1\", \"\"]", "must not be empty"},
      {"[target]\ncommand = [\"a\", \"b\\u0000\"]", "NUL"},
      {"[target]\ncommand = [\"a\", 1]", "2:17: must be a string, not integer"},
      {"[target]\nmatch = \"a\\u0000b\"", "NUL"},
      {"[target]\nenv = { A = 1 }", "must be a string"},
      {"[target]\nenv = { \"A=B\" = \"c\" }", "has no '=' and is not empty, unlike \"A=B\""},
      {"[target]\nenv = { \"\" = \"c\" }", "has no '=' and is not empty, unlike \"\""},
      {"[target]\nenv = { A = \"c\\u0000\" }", "must not hold a NUL"},
      {"[progress]\nlatency = [1]", "must be tables"},
      {"[[progress.latency]]\nname = \"x\"\nbegn = \"a\"", "unknown key \"begn\""},
      {"[[progress.latency]]\nname = \"x\"", "\"end\" is missing"},
      {"[experiment]\nspeedups = [0]", "at least one speedup above 0"},
      {"[experiment]\nbaseline_share = nan", "must be from 0.05 to 0.95"},
      {"[experiment]\nduration = \"10\"", "the unit is missing"},
      {"[experiment]\nseed = -1", "must be from 0 to"},
      {"[sampling]\nperiod = \"1us\"", "must be from 50us to 1s, not 1us"},
      {"[pause]\ncost = \"1s\"", "must be from 1us to 10ms, not 1s"},
      {"[scope]\nunit = \"file\"", "2:8: \"file\" is not a unit"},
      {"[pause]\nthreshold = \"2s\"", "must be from 100us to 1s, not 2s"},
      {"[pause]\nchannel = \"signal\"", "is not a pause channel"},
      {"[output]\nformat = \"xml\"", "is not a format"},
      {"[ab]\nrounds = 0", "must be from 2 to"},
      {"[ab]\nround = 3", "did you mean \"ab.rounds\"?"},
      {"[target\n", "c.toml:1:"},
      {"a = 1\na = 2\n", "c.toml:2:"},
      {"\x01\xff", "c.toml:1:"},
  }));
  INFO(text);
  const std::string faults = faults_of(text);
  INFO(faults);
  CHECK(faults.find(expected) != std::string::npos);
}

TEST_CASE("the configuration in the log is the same byte for byte", "[config]") {
  CHECK(config::config_json({}) ==
        R"({"target":{},"progress":{"throughput":[],"latency":[],"end_to_end":false,)"
        R"("count_by":"auto"},"scope":{"binary":["MAIN"],"file":[],"unit":"auto"},)"
        R"("experiment":{"duration":"500ms","cooloff":"10ms","min_visits":5,)"
        R"("speedups":[0,5,10,15,20,25,30,35,40,45,50,55,60,65,70,75,80,85,90,95,100],)"
        R"("baseline_share":0.5},"sampling":{"period":"auto","peers":true},)"
        R"("pause":{"channel":"auto","cost":"auto","longest":"100ms","threshold":"auto"},)"
        R"("budget":{},"output":{"log":"profile.jsonl","format":"text"}})");
  const config::Config c = parse(R"(
target = { command = ["./s", ""], env = { B = "1", A = "2" }, directory = "/" }
budget = { until_certain = true, max_slowdown = 30, duration = "5m" }
pause = { threshold = "500us", cost = "120us" }
sampling = { period = "250us", peers = false }
scope = { file = ["*.c"], unit = "line" }
[progress]
throughput = ["f"]
latency = [{ name = "r", begin = "a", end = "b" }]
end_to_end = true
count_by = "uprobe"
[experiment]
speedups = [50, 25]
seed = 42
fixed = "hash.c:217"
speedup = 35
pace_test = false
)",
                                 "c.toml");
  CHECK(config::config_json(c) ==
        R"({"target":{"command":["./s",""],"env":["A","B"],"directory":"/"},)"
        R"("progress":{"throughput":["f"],"latency":[{"name":"r","begin":"a","end":"b"}],)"
        R"("end_to_end":true,"count_by":"uprobe"},)"
        R"("scope":{"binary":["MAIN"],"file":["*.c"],"unit":"line"},)"
        R"("experiment":{"duration":"500ms","cooloff":"10ms","min_visits":5,"speedups":[25,50],)"
        R"("baseline_share":0.5,"pace_test":false,"seed":42,"fixed":"hash.c:217","speedup":35},)"
        R"("sampling":{"period":"250us","peers":false},)"
        R"("pause":{"channel":"auto","cost":"120us","longest":"100ms","threshold":"500us"},)"
        R"("budget":{"duration":"5m","max_slowdown":30.0,"until_certain":true},)"
        R"("output":{"log":"profile.jsonl","format":"text"}})");
}

TEST_CASE("what is applied to a configuration changes that only", "[config]") {
  config::Config c =
      parse("[progress]\nlatency = [{name = \"r\", begin = \"a\", end = \"b\"}]\n", "c.toml");
  config::apply("ab.a.env.LANG = 'C'", "--set", c);
  config::apply("ab.a.env.HOME = '/'", "--set", c);
  CHECK(c.ab.a.environment == std::map<std::string, std::string>{{"HOME", "/"}, {"LANG", "C"}});
  CHECK(c.progress.latency.size() == 1);
  config::apply("progress.latency = [{name = 's', begin = 'a', end = 'b'}]", "--set", c);
  REQUIRE(c.progress.latency.size() == 1);
  CHECK(c.progress.latency[0].name == "s");
  CHECK_THROWS_WITH(config::apply("ab.a.env.X = 1", "--set", c),
                    Catch::Contains("--set:1:14: must be a string"));
  CHECK(c.ab.a.environment.size() == 2);
}

TEST_CASE("a missing file is a usage error", "[config]") {
  CHECK_THROWS_AS(config::load("/nonexistent/c.toml"), UsageError);
}

TEST_CASE("durations", "[config]") {
  CHECK(config::parse_duration("250us", "x") == 250'000);
  CHECK(config::parse_duration("10ms", "x") == 10 * kMillisecond);
  CHECK(config::parse_duration("1.5s", "x") == 1500 * kMillisecond);
  CHECK(config::parse_duration("90s", "x") == 90 * kSecond);
  CHECK(config::parse_duration("5m", "x") == 300 * kSecond);
  CHECK(config::parse_duration("2h", "x") == 7200 * kSecond);
  CHECK(config::parse_duration("7ns", "x") == 7);
  for (const char* bad : {"", "5", "s", "-5s", "+5s", "inf", "nan s", "5 s", "5sec", "1e9h",
                          "99999999999h", "0x5s", "1.s.5"}) {
    INFO(bad);
    CHECK_THROWS_AS(config::parse_duration(bad, "--duration"), UsageError);
  }
  for (const Nanoseconds time :
       {Nanoseconds{0}, Nanoseconds{7}, 250 * kMicrosecond, 90 * kSecond}) {
    CHECK(config::parse_duration(config::duration_text(time), "x") == time);
  }
}

TEST_CASE("latency points", "[config]") {
  const config::LatencyPoint point = config::parse_latency("r=a.c:1,usdt:p:n", "--latency");
  CHECK(point.name == "r");
  CHECK(point.begin == "a.c:1");
  CHECK(point.end == "usdt:p:n");
  for (const char* bad : {"", "r", "r=a", "r=,b", "=a,b", "r=a,", "a,b"}) {
    CHECK_THROWS_AS(config::parse_latency(bad, "--latency"), UsageError);
  }
}

TEST_CASE("commas of C++ names do not separate the ends of a latency point", "[config]") {
  const auto ends = [](const std::string& text) {
    const auto point = config::parse_latency("q=" + text, "--latency");
    return std::pair(point.begin, point.end);
  };
  using Ends = std::pair<std::string, std::string>;
  CHECK(ends("ns::enter(int, int),ns::leave<int, 3>") ==
        Ends("ns::enter(int, int)", "ns::leave<int, 3>"));
  CHECK(ends("f<g(int, int), 2>::h,k(a<1, 2>, b)") ==
        Ends("f<g(int, int), 2>::h", "k(a<1, 2>, b)"));
  CHECK(ends("f[abi:x,y],g") == Ends("f[abi:x,y]", "g"));
  CHECK(ends("operator<<(std::ostream&, int),g") == Ends("operator<<(std::ostream&, int)", "g"));
  CHECK(ends("ns::operator<,g") == Ends("ns::operator<", "g"));
  CHECK(ends("p::operator->,g") == Ends("p::operator->", "g"));
  CHECK(ends("p::operator,(q, r),g") == Ends("p::operator,(q, r)", "g"));
  CHECK(ends("operators<int, 2>,g") == Ends("operators<int, 2>", "g"));
  CHECK_THROWS_AS(ends("ns::enter(int, int)"), UsageError);
}

TEST_CASE("what no single key shows", "[config]") {
  config::Config good;
  good.target.pid = 1;
  good.progress.throughput = {"f"};
  CHECK_NOTHROW(config::check(good));
  const auto refused = [&](auto change) {
    config::Config bad = good;
    change(bad);
    CHECK_THROWS_AS(config::check(bad), UsageError);
  };
  refused([](config::Config& c) { c.target.pid.reset(); });
  refused([](config::Config& c) { c.target.match.push_back('x'); });
  refused([](config::Config& c) { c.progress.throughput.clear(); });
  refused([](config::Config& c) { c.progress.throughput.push_back("f"); });
  refused([](config::Config& c) { c.progress.latency.push_back({"f", "a", "b"}); });
  refused([](config::Config& c) { c.progress.end_to_end = true; });
  refused([](config::Config& c) {  // it allows no other option
    c.target.pid.reset();
    c.target.command = {"gzip"};
    c.progress.end_to_end = true;
  });
  refused([](config::Config& c) {  // no limit is possible on what is sped up as a whole
    c.target.pid.reset();
    c.target.command = {"gzip"};
    c.progress.throughput.clear();
    c.progress.end_to_end = true;
    CHECK_NOTHROW(config::check(c));
    c.budget.max_slowdown_percent = 10;
  });
  refused([](config::Config& c) { c.experiment.fixed_speedup_percent = 5; });
}

}  // namespace causalctl
