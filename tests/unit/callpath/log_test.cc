#include "controller/callpath/record/log.h"

#include <catch2/catch.hpp>
#include <random>

#include "controller/base/error.h"
#include "controller/callpath/record/calls_seen.h"
#include "tests/support/folder.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::callpath {
namespace {

using Catch::Contains;
using test::content;
using test::Folder;

// Returns the values by path, which do not depend on the numbers of nodes.
std::map<std::string, std::uint64_t> values(const Recording& r) {
  std::map<std::string, std::uint64_t> all;
  for (const auto& [key, slice] : r.slices) {
    for (const auto& [node, value] : slice) {
      std::string path = fmt::format("{} {} {}", r.epochs.at(key.epoch).reason,
                                     r.groups.at(key.group).name, r.name_of_metric(key.metric));
      for (NodeId at = node; at != kRoot; at = r.tree.node(at).parent) {
        const Location& l = r.locations.at(r.tree.node(at).location);
        path +=
            fmt::format(" {}+{:x}{}", r.modules.at(l.module).path, l.offset, l.is_call ? "c" : "");
        for (const SourceFrame& f : l.frames)
          path += " " + f.function + f.file + std::to_string(f.line) + f.home;
      }
      all[path] += value;
    }
  }
  return all;
}

std::string written(const Folder& folder, const std::vector<Recording>& states) {
  const std::string path = folder.file("l.jsonl");
  {
    LogWriter log(path);
    log.begin(states.front());
    for (const Recording& each : states) log.update(each);
    log.end(states.back());
  }
  return content(path);
}

// The recording as it was when it was half done, and whole.
std::vector<Recording> growing() {
  Recording whole = small_recording();
  whole.locations[0].frames[0].home = "/src/main.c";       // its own file
  whole.locations[2].frames[0].home = "/src/b_inlined.h";  // another one, for a part of its lines
  Recording half = whole;
  half.chains = {10, 1, 0, 1, 0};
  half.locations[2].frames.clear();
  for (auto& [key, slice] : half.slices) {
    for (auto& [node, value] : slice) value /= 2;
  }
  half.events = whole.events = {{"page-faults", "faults", "Page faults"},
                                {"uprobe:f", "calls", "Calls of f"}};
  half.counts = whole.counts = {{"uprobe:f", "f", 40, 1000, 1000, 35'000, 0.25, ""}};
  whole.counts[0].calls = 90;
  whole.counts[0].missing = "some";
  whole.chains.searched = 3;
  half.add({0, 0, metric_of_event(1)}, 2, 4);
  half.wakers = {{0, {{{2, 3}, 50}}}};
  whole.wakers = {{0, {{{2, 3}, 80}, {{1, 3}, 9}}}};
  whole.add({0, 0, metric_of_event(1)}, 2, 6);
  half.tails = {{0, 2, TailKind::found, {4, 6}}};
  whole.tails = {half.tails[0], {1, 4, TailKind::ambiguous, {}}};
  whole.groups.push_back({"worker (thread 12)"});
  whole.groups.back().start = 2;
  whole.epochs.push_back({500, "dlopen of libz.so.1"});
  whole.add({1, 1, Metric::blocked_ns}, 2, 77);
  whole.add({1, 1, Metric::waits}, 3, 1);
  return {half, whole};
}

// The first lines of a run.
const std::string kRunLine = R"({"type":"run","kind":"callpath","version":1,"run":"a","n":0})"
                             "\n";
const std::string kModuleLine =
    R"({"type":"modules","run":"a","n":1,"first":0,"modules":[{"path":"/x"}]})"
    "\n";

std::string refusal(const std::string& text) {
  try {
    parse_log(text, "l");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a recording survives the log, written in steps", "[callpath][log]") {
  const Folder folder;
  const auto states = growing();
  const ReadLog read = parse_log(written(folder, states), "l");
  CHECK(read.warnings.empty());
  REQUIRE(read.runs.size() == 1);
  const Recording& r = read.runs[0];
  const Recording& whole = states.back();
  CHECK(values(r) == values(whole));
  CHECK(r.wakers == whole.wakers);
  REQUIRE(r.events.size() == 2);
  CHECK(r.events[1].unit == "calls");
  CHECK(r.events[1].title == "Calls of f");
  REQUIRE(r.counts.size() == 1);
  CHECK(r.counts[0].event == "uprobe:f");
  CHECK(r.counts[0].function == "f");
  CHECK(r.counts[0].calls == 90);
  CHECK(r.counts[0].counted_ns == 1000);
  CHECK(r.counts[0].cost_ns == 35'000);
  CHECK(r.counts[0].cost_share == 0.25);
  CHECK(r.counts[0].missing == "some");
  CHECK(r.id == "run-1");
  CHECK(r.executable == whole.executable);
  CHECK(r.config_json == whole.config_json);
  CHECK(r.started_ns == whole.started_ns);
  CHECK(r.period_ns == whole.period_ns);
  CHECK(r.modules[1].build_id == "ef01");
  CHECK(r.epochs[1].start_ns == 500);
  REQUIRE(r.groups.size() == 2);
  CHECK(r.groups[0].start == std::nullopt);
  CHECK(r.groups[1].start == LocationId{2});
  REQUIRE(r.tails.size() == 2);
  CHECK(r.tails[0].callee == 2);
  CHECK(r.tails[0].jumps == std::vector<LocationId>{4, 6});
  CHECK(r.tails[1].call == 1);
  CHECK(r.tails[1].kind == TailKind::ambiguous);
  CHECK(r.chains.complete == 98);
  CHECK(r.chains.no_table == 1);
  CHECK(r.chains.searched == 3);
  CHECK(r.losses.samples_total == 100);
  CHECK(r.wall_ns == whole.wall_ns);
  CHECK(r.controller_cpu_share == Approx(0.02));
  CHECK(r.ended);
  CHECK(r.reason == EndReason::duration);
}

TEST_CASE("the calls that samples have seen survive the log", "[callpath][log]") {
  const Folder folder;
  std::vector<Recording> states(3, small_recording());
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const auto node = static_cast<NodeId>(1 + random() % (states[0].tree.size() - 1));
    std::vector<bool> is_new;
    for (NodeId at = node; at != kRoot; at = states[0].tree.node(at).parent) {
      is_new.push_back(random() % 2 == 0);
    }
    for (std::size_t state = i < 200 ? 1 : 2; state < 3; ++state) {
      count_calls(is_new, node, 0, 0, states[state]);
    }
  }
  const std::string text = written(folder, states);
  CHECK_THAT(text, !Contains("new_min") && Contains("new_below"));
  REQUIRE(sum_calls(states[2]));
  CHECK(values(parse_log(text, "l").runs.at(0)) == values(states[2]));
}

TEST_CASE("values of many nodes survive the log, whichever of them grow", "[callpath][log]") {
  const Folder folder;
  Recording run = small_recording();
  while (run.tree.size() < 6000) {
    run.tree.child(static_cast<NodeId>(run.tree.size() / 3),
                   static_cast<LocationId>(run.tree.size() % 3));
  }
  std::mt19937 random(9);
  std::vector<Recording> states{run};
  for (int step = 0; step < 3; ++step) {
    for (NodeId node = 1; node < run.tree.size(); ++node) {
      for (const Metric metric : {Metric::samples, Metric::cpu_ns, Metric::waits}) {
        if (random() % 3 == 0) run.add({0, 0, metric}, node, 1 + random() % 1000);
      }
      if (random() % 500 == 0) run.add({0, 0, Metric::blocked_ns}, node, 7);
    }
    states.push_back(run);
  }
  const std::string text = written(folder, states);
  CHECK(values(parse_log(text, "l").runs.at(0)) == values(run));
  CHECK_THAT(text,
             Contains(R"("metrics":["waits"])") && Contains(R"("metrics":["samples","waits"])"));
}

TEST_CASE("times that are told again and again are not added up", "[callpath][log]") {
  const Folder folder;
  const std::string path = folder.file("long.jsonl");
  Recording run = small_recording();
  run.counts = {{"uprobe:f", "f", 40, 0, 0, 35'000, 0.25, ""}};
  LogWriter log(path);
  log.begin(run);
  for (Nanoseconds year = 1; year <= 9; ++year) {
    for (int i = 0; i < 20; ++i) {
      run.counts[0].wall_ns = run.counts[0].counted_ns = run.wall_ns =
          year * 365 * 86400 * kSecond + i;
      log.update(run);
    }
  }
  const ReadLog read = parse_logs(std::vector<LogText>{{"long.jsonl", content(path)}});
  CHECK(read.runs.at(0).counts.at(0).counted_ns == run.wall_ns);
}

TEST_CASE("what is not so any more is not read from an earlier line", "[callpath][log]") {
  const Folder folder;
  const std::string path = folder.file("halted.jsonl");
  Recording run = small_recording();
  run.account.stopped_ns = kSecond;
  run.account.halted_at_end = "stopped";
  run.account.tracer = 17;
  LogWriter log(path);
  log.begin(run);
  log.update(run);
  const auto account = [&] {
    return parse_logs(std::vector<LogText>{{path, content(path)}}).runs.at(0).account;
  };
  CHECK((account().tracer == 17 && account().halted_at_end == "stopped"));
  run.account.halted_at_end.clear();
  run.account.tracer = 0;
  log.update(run);
  CHECK((account().tracer == 0 && account().halted_at_end.empty()));
  CHECK(account().stopped_ns == kSecond);
}

TEST_CASE("a log of call paths is readable wherever it was cut off", "[callpath][log]") {
  const Folder folder;
  const std::string whole = written(folder, growing());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    const ReadLog read = parse_log(whole.substr(0, length), "l");
    CHECK(read.runs.size() <= 1);
    CHECK(read.warnings.size() <= 1);
  }
}

TEST_CASE("a run that was killed and cut off does not hurt the next one", "[callpath][log]") {
  const Folder folder;
  const std::string first = written(folder, growing());
  std::string second = first;
  for (auto at = second.find("run-1"); at != std::string::npos; at = second.find("run-1")) {
    second.replace(at, 5, "run-2");
  }
  const ReadLog read = parse_log(first.substr(0, first.size() - 9) + second, "l");
  CHECK(read.runs.size() == 2);
  REQUIRE(read.warnings.size() == 1);
  CHECK_THAT(read.warnings[0].text(), Contains("begins with one that was cut off"));
  CHECK(values(read.runs[0]) == values(read.runs[1]));
}

TEST_CASE("a log of call paths that is given twice counts once", "[callpath][log]") {
  const Folder folder;
  const std::string text = written(folder, growing());
  const ReadLog read = parse_logs({{"a", text}, {"b", text}});
  REQUIRE(read.runs.size() == 1);
  CHECK(values(read.runs[0]) == values(growing().back()));
  REQUIRE(read.warnings.size() == 1);
  CHECK_THAT(read.warnings[0].text(), Contains("given twice"));
}

TEST_CASE("a log of call paths that is damaged is refused with its line", "[callpath][log]") {
  const auto line = [&](const std::string& type, const std::string& rest) {
    return kRunLine + R"({"type":")" + type + R"(","run":"a","n":1,"first":0,)" + rest + "}\n";
  };
  CHECK(refusal(kRunLine).empty());
  CHECK_THAT(refusal("hello\n"), Contains("l:1: not a line of a log of call paths"));
  CHECK_THAT(refusal(R"({"type":"run","version":1,"run":"a"})"),
             Contains("l:1") && Contains("not a recording"));
  CHECK_THAT(refusal(R"({"type":"run","kind":"callpath","version":2,"run":"a"})"),
             Contains("l:1") && Contains("newer"));
  CHECK_THAT(refusal(R"({"type":"nodes","run":"a","n":3})"), Contains("lines 0 to 2 are missing"));
  CHECK_THAT(refusal(line("nodes", R"("nodes":[1,0])")),
             Contains("l:2") && Contains("\"first\" is 0"));
  CHECK_THAT(refusal(line("locations", R"("locations":[[0,1,1]])")), Contains("no module 0"));
  CHECK_THAT(refusal(line("locations", R"("locations":[[0,1]])")), Contains("three numbers"));
  CHECK_THAT(refusal(line("frames", R"("frames":[[5,0,0,1]])")), Contains("no location 5"));
  CHECK_THAT(refusal(line("cells", R"("epoch":0,"group":0,"metrics":[],"cells":[])")),
             Contains("no epoch 0"));
  CHECK_THAT(refusal(line("cells", R"("metrics":[],"cells":[])")), Contains("l:2"));
  CHECK_THAT(refusal(line("modules", R"("modules":7)")),
             Contains("l:2") && Contains("list of objects"));
  CHECK_THAT(refusal(line("epochs", R"("epochs":[{"start_ns":"x"}])")),
             Contains("not a whole number"));
  CHECK(parse_log(line("weather", R"("x":1)"), "l").warnings.size() == 1);
}

TEST_CASE("lines of the type lives are skipped without a word", "[callpath][log]") {
  const std::string lives =
      R"({"type":"lives","run":"a","n":2,"watched_ns":14000000,"precision_ns":20000,"calls":[)"
      R"({"call":2,"probes":10,"covered":0.95,"clear":12,"unclear":3,"lives_ns":[70,500]}]})"
      "\n";
  const std::string groups = R"({"type":"groups","run":"a","n":3,"first":0,"groups":["all"]})"
                             "\n";
  const ReadLog read = parse_log(kRunLine + kModuleLine + lives + groups, "l");
  CHECK(read.warnings.empty());
  CHECK(read.runs.at(0).groups.size() == 1);
  CHECK_THAT(refusal(kRunLine + kModuleLine + groups), Contains("lines 2 to 2 are missing"));
}

TEST_CASE("the processes of a set survive the log", "[callpath][log][set]") {
  const Folder folder;
  Recording whole = set_recording();
  Recording half = whole;
  half.processes.resize(2);
  half.programs.resize(1);
  half.groups.resize(1);
  std::erase_if(half.slices, [](const auto& slice) { return slice.first.group > 0; });
  whole.groups.push_back({"all", {}, std::nullopt});
  const std::string text = written(folder, {half, whole});
  const ReadLog read = parse_log(text, "l");
  CHECK(read.warnings.empty());
  const Recording& r = read.runs.at(0);
  CHECK(values(r) == values(whole));
  REQUIRE(r.processes.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(r.processes[i].pid == whole.processes[i].pid);
    CHECK(r.processes[i].program == whole.processes[i].program);
    CHECK(r.groups.at(i).process == whole.groups[i].process);
  }
  CHECK(r.groups.at(4).process == std::nullopt);
  REQUIRE(r.programs.size() == 3);
  CHECK((r.programs[2].program == "as" && r.programs[2].processes == 40));
  CHECK(r.account.processes == 43);
  CHECK(r.account.processes_merged == 40);
  // A version that does not know of processes reads the line of groups, whose other keys it skips.
  CHECK_THAT(text, Contains(R"("groups":["all"],"process_of":[0]})"));
  for (std::size_t length = 0; length < text.size(); ++length) {
    CHECK(parse_log(text.substr(0, length), "l").runs.size() <= 1);
  }
}

TEST_CASE("a log of one process has nothing of sets", "[callpath][log][set]") {
  const Folder folder;
  const std::string text = written(folder, growing());
  CHECK_THAT(text, !Contains("process_of") && !Contains("\"processes\"") && !Contains("programs"));
}

TEST_CASE("processes of a log must be there", "[callpath][log][set]") {
  const auto groups = [](const std::string& rest) {
    return kRunLine + R"({"type":"groups","run":"a","n":1,"first":0,)" + rest + "}\n";
  };
  const std::string processes =
      R"("first_process":0,"processes":[{"pid":7,"program":"cc1"},{"pid":0,"program":"as"}],)";
  CHECK(refusal(groups(processes + R"("groups":["all","all"],"process_of":[1,null])")).empty());
  CHECK(refusal(groups(R"("groups":[])")).empty());
  CHECK_THAT(refusal(groups(processes + R"("groups":["all"],"process_of":[2])")),
             Contains("l:2") && Contains("there is no process 2; 2 were named before"));
  CHECK_THAT(refusal(groups(processes + R"("groups":["all"],"process_of":[])")),
             Contains("not each group has its process"));
  CHECK_THAT(refusal(groups(processes + R"("groups":["all"],"process_of":7)")),
             Contains("\"process_of\" is not a list"));
  CHECK_THAT(refusal(groups(R"("first_process":1,"processes":[{"pid":7}],"groups":[])")),
             Contains("\"first_process\" is 1, but 0 were named before"));
  CHECK_THAT(refusal(groups(R"("first_process":0,"processes":[{"pid":-7}],"groups":[])")),
             Contains("negative"));
  CHECK_THAT(refusal(groups(R"("first_process":0,"processes":["cc1"],"groups":[])")),
             Contains("list of objects"));
}

TEST_CASE("lines of a newer version are among those that are counted", "[callpath][log]") {
  const std::string fresh = R"({"type":"weather","run":"a","n":2})"
                            "\n";
  const std::string groups = R"({"type":"groups","run":"a","n":3,"first":0,"groups":["all"]})"
                             "\n";
  const ReadLog read = parse_log(kRunLine + kModuleLine + fresh + groups, "l");
  CHECK(read.runs.at(0).groups.size() == 1);
  REQUIRE(read.warnings.size() == 1);
  CHECK_THAT(read.warnings[0].text(), Contains("weather"));
  CHECK(parse_log(R"({"type":"weather","run":"b","n":0})", "l").runs.empty());
}

TEST_CASE("cells of a log must be of nodes that are there, and add up", "[callpath][log]") {
  const std::string begin =
      kRunLine + kModuleLine +
      R"({"type":"locations","run":"a","n":2,"first":0,"locations":[[0,18446744073709551615,0]]})"
      "\n"
      R"({"type":"nodes","run":"a","n":3,"first":1,"nodes":[1,0]})"
      "\n"
      R"({"type":"groups","run":"a","n":4,"first":0,"groups":["all"]})"
      "\n"
      R"({"type":"epochs","run":"a","n":5,"first":0,"epochs":[{}]})"
      "\n";
  const auto cells = [&](const std::string& metrics, const std::string& list) {
    return begin + R"({"type":"cells","run":"a","n":6,"epoch":0,"group":0,"metrics":[)" + metrics +
           R"(],"cells":[)" + list + "]}\n";
  };
  const ReadLog good = parse_log(cells("\"samples\",\"frost\"", "0,1,9,1,2,9"), "l");
  REQUIRE(good.runs.size() == 1);
  CHECK(good.runs[0].slices.size() == 1);
  CHECK(good.runs[0].slices.begin()->second == Slice{{0, 1}, {1, 2}});
  REQUIRE(good.warnings.size() == 1);
  CHECK_THAT(good.warnings[0].text(), Contains("frost"));
  CHECK_THAT(refusal(cells("\"samples\"", "2,1")), Contains("l:7") && Contains("not named"));
  CHECK_THAT(refusal(cells("\"samples\"", "1,1,18446744073709551615,1")), Contains("not named"));
  CHECK_THAT(refusal(cells("\"samples\"", "1")), Contains("2 numbers each"));
  CHECK_THAT(refusal(cells("\"samples\"", "1,9000000000000000000")), Contains("add up"));
  CHECK_THAT(refusal(cells("\"samples\"", "1,-1")), Contains("whole number"));
  const std::string child = R"({"type":"nodes","run":"a","n":6,"first":2,"nodes":[1,0]})"
                            "\n";
  const std::string chains =
      R"({"type":"cells","run":"a","n":7,"epoch":0,"group":0,"metrics":["chains"],"cells":[2,)";
  CHECK(refusal(begin + child + chains + "2000000000000000000]}\n").empty());
  CHECK_THAT(refusal(begin + child + chains + "3000000000000000000]}\n"),
             Contains("calls of run a add up to more"));
  std::string deep = R"({"type":"nodes","run":"a","n":6,"first":2,"nodes":[1,0)";
  for (int i = 0; i < 16'382; ++i) deep += ",1,0";
  CHECK(refusal(begin + deep + "]}\n").empty());
  CHECK_THAT(refusal(begin + deep + ",1,0]}\n"), Contains("deeper"));
  // Metrics without a value are none of the run's.
  CHECK(parse_log(cells("\"waits\"", "1,0"), "l").runs.at(0).slices.empty());
  // What only a cut or damaged log has: a part of the path that is new, but no sample of it.
  CHECK(parse_log(cells("\"new_to\",\"new_below\"", "1,0,7"), "l").runs.at(0).slices.empty());
  CHECK(parse_log(cells("\"new_to\"", "1,7"), "l").runs.at(0).slices.empty());
  CHECK_THAT(refusal(begin + R"({"type":"nodes","run":"a","n":6,"first":2,"nodes":[1,0,2,0]})"),
             Contains("there twice") || Contains("parent"));
  CHECK_THAT(refusal(begin + R"({"type":"nodes","run":"a","n":6,"first":2,"nodes":[3,0]})"),
             Contains("no parent"));
}

TEST_CASE("tail calls of a log must be of locations that are there", "[callpath][log]") {
  const std::string begin =
      kRunLine + kModuleLine +
      R"({"type":"locations","run":"a","n":2,"first":0,"locations":[[0,10,1],[0,20,0]]})"
      "\n";
  const auto tails = [&](const std::string& list) {
    return begin + R"({"type":"tails","run":"a","n":3,"tails":[)" + list + "]}\n";
  };
  CHECK(refusal(tails("[0,1,0,1]")).empty());
  CHECK_THAT(refusal(tails("[0,1,0,2]")), Contains("no location 2"));
  CHECK_THAT(refusal(tails("[0,1]")), Contains("three numbers"));
  CHECK_THAT(refusal(begin + R"({"type":"starts","run":"a","n":3,"starts":[[0,1]]})"),
             Contains("no group 0"));
  CHECK_THAT(refusal(tails("[0,1,3]")), Contains("no kind of tail 3"));
  CHECK_THAT(refusal(tails("[0,1,0]")), Contains("do not fit"));
  CHECK_THAT(refusal(tails("[0,1,1,1]")), Contains("do not fit"));
}

TEST_CASE("a causal log and a log of call paths are not mixed in one file", "[callpath][log]") {
  const Folder folder;
  written(folder, growing());
  CHECK_NOTHROW(check_log(folder.file("l.jsonl")));
  folder.write("c.jsonl", R"({"type":"run","version":1,"run":"a"})");
  CHECK_THROWS_WITH(check_log(folder.file("c.jsonl")), Contains("not a log of call paths"));
}

TEST_CASE("a full disk ends a log of call paths with whole lines", "[callpath][log]") {
  LogWriter full("/dev/full");
  CHECK_THROWS_WITH(full.begin(small_recording()), Contains("No space left"));
  CHECK(full.failed());
  CHECK_NOTHROW(full.update(small_recording()));
  CHECK_NOTHROW(full.end(small_recording()));
}

}  // namespace causalctl::callpath
