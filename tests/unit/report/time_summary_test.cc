#include "controller/report/callpath/time_summary.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {
namespace {

using Catch::Contains;
using Catch::StartsWith;

enum Column : std::size_t { kCpu, kBlocked, kRunnable };

// Ten seconds of a program, without any time yet.
Profile empty() {
  Profile profile;
  profile.program = "/usr/bin/server";
  profile.pid = 4711;
  profile.wall_ns = 10 * kSecond;
  profile.columns = {{"cpu", "nanoseconds", "CPU time"},
                     {"blocked", "nanoseconds", "Time blocked"},
                     {"runnable", "nanoseconds", "Time waiting for a core"}};
  profile.nodes.emplace_back();
  profile.own.assign(3, {0});
  return profile;
}

struct Code {
  std::string function;
  std::string module = "/usr/bin/server";
  bool kernel = false;
};

// Adds time at the end of a path, outermost function first. Each call makes nodes of its own.
void add(Profile& profile, const std::vector<Code>& path, std::size_t column, double seconds) {
  std::uint32_t at = 0;
  for (const Code& code : path) {
    Frame frame;
    frame.function = code.function;
    frame.module = code.module;
    frame.kernel = code.kernel;
    profile.frames.push_back(frame);
    profile.nodes.push_back({at, static_cast<std::uint32_t>(profile.frames.size() - 1)});
    at = static_cast<std::uint32_t>(profile.nodes.size() - 1);
    for (auto& own : profile.own) own.push_back(0);
  }
  profile.own[column][at] += static_cast<std::uint64_t>(seconds * kSecond);
}

TimeSummary summary_of(const Profile& profile) { return summary_of(profile, by_function(profile)); }

std::string words(const Profile& profile) {
  const Labels labels = by_function(profile);
  return words_of(summary_of(profile), profile, labels,
                  short_names(labels, merged(profile, labels)));
}

const Code kMain{"main"};
const std::string kLibc = "/lib/x86_64-linux-gnu/libc.so.6";

// One that flushes a log, and is asked by a client now and then.
Profile backend() {
  Profile profile = empty();
  add(profile, {kMain, {"parse"}}, kCpu, 1.2);
  add(profile, {kMain, {"flush"}, {"sync_log"}, {"fdatasync", kLibc}}, kBlocked, 5.7);
  add(profile, {kMain, {"read_request"}, {"epoll_wait", kLibc}, {"[k] schedule", "[kernel]", true}},
      kBlocked, 2.0);
  add(profile, {kMain, {"parse"}}, kRunnable, 1.1);
  return profile;
}

}  // namespace

TEST_CASE("the time of one thread is told in shares, the largest first", "[report][callpath]") {
  CHECK(words(backend()) ==
        "10.0 s of server (process 4711): 77 % blocked (57 % sync_log, 20 % read_request), 12 % on "
        "a core (12 % parse), 11 % waiting for a core");
  CHECK(summary_of(backend()).waits_most);
}

TEST_CASE("the time of several threads is told in threads", "[report][callpath]") {
  Profile profile = backend();
  add(profile, {{"clone3", kLibc}, {"work"}}, kCpu, 9.0);
  add(profile, {{"clone3", kLibc}, {"work"}, {"read", kLibc}}, kBlocked, 0.05);
  CHECK(words(profile) ==
        "10.0 s of server (process 4711), 1.9 threads on average: 1.0 on a core (0.9 work), 0.8 "
        "blocked (0.6 sync_log, 0.2 read_request), 0.1 waiting for a core");
  CHECK_FALSE(summary_of(profile).waits_most);
}

TEST_CASE("a path without code of the program has the function in which it waits",
          "[report][callpath]") {
  Profile profile = empty();
  add(profile, {{"clone3", kLibc}, {"nanosleep", kLibc}}, kBlocked, 10);
  CHECK_THAT(words(profile), Contains("100 % blocked (100 % nanosleep)"));
}

TEST_CASE("the path that woke a thread is not the one that waited", "[report][callpath]") {
  Profile profile = empty();
  add(profile, {kMain, {"take"}, {"futex", kLibc}, {kWokenBy, ""}, {"put"}, {"start"}}, kBlocked,
      10);
  CHECK_THAT(words(profile), Contains("100 % blocked (100 % take)"));
}

TEST_CASE("what has little of the time is told as little, and no function of many",
          "[report][callpath]") {
  Profile profile = empty();
  for (int i = 0; i < 8; ++i) add(profile, {kMain, {"f" + std::to_string(i)}}, kCpu, 1);
  add(profile, {kMain, {"f0"}}, kRunnable, 0.001);
  CHECK(words(profile) ==
        "10.0 s of server (process 4711): 100 % on a core, under 0.1 % waiting for a core");
  CHECK(words(empty()) == "10.0 s of server (process 4711): no time was recorded");
}

TEST_CASE("without recorded waits there are cores, not shares", "[report][callpath]") {
  Profile profile = empty();
  profile.columns.resize(1);
  profile.own.resize(1);
  add(profile, {kMain, {"parse"}}, kCpu, 0.5);
  CHECK(words(profile) == "10.0 s of server (process 4711): 0.05 cores (0.05 parse)");
  CHECK_FALSE(summary_of(profile).waits_most);
}

TEST_CASE("without time on a core the samples are told", "[report][callpath]") {
  Profile profile = empty();
  add(profile, {kMain, {"take"}, {"futex", kLibc}, {kWokenBy, ""}, {"put"}}, kBlocked, 10);
  profile.columns.erase(profile.columns.begin());
  profile.own.erase(profile.own.begin());
  profile.chains.complete = 3;
  CHECK(words(profile) == "server (process 4711): 3 call chains in 10.0 s");
}

TEST_CASE("groups, and a wait and what ended it, have lines of their own", "[report][callpath]") {
  Profile profile = empty();
  for (const char* name : {"reader", "writer"}) {
    add(profile, {{name}, {"clone3", kLibc}, {"work"}}, kCpu, 5);
    for (Frame& frame : profile.frames) {
      if (frame.function == name) frame.stands = Stands::threads;
    }
  }
  std::string text = render_text(profile, By::overview, false, 80);
  CHECK_THAT(text, Contains("threads: reader\n") && Contains("threads: writer\n") &&
                       Contains("clone3 › work\n"));
  profile = empty();
  add(profile, {kMain, {"take"}, {kWokenBy, ""}, {"put"}, {"run"}}, kBlocked, 10);
  text = render_text(profile, By::overview, false, 80);
  CHECK_THAT(text,
             Contains("main › take\n") && Contains("  [woken by]\n") && Contains("  put › run\n"));
}

TEST_CASE("of some paths there are no shares of the program's time", "[report][callpath]") {
  Profile profile = backend();
  profile.is_part = true;
  CHECK_THAT(words(profile), StartsWith("10.0 s of server (process 4711), on these paths, 1.0 "
                                        "threads on average: 0.8 blocked"));
}

TEST_CASE("the waits of a program that mostly waits come first", "[report][callpath]") {
  std::string text = render_text(backend(), By::overview, false, 80);
  CHECK(text.find("Time blocked: ") < text.find("CPU time: "));
  Profile busy = backend();
  add(busy, {kMain, {"parse"}}, kCpu, 6);
  text = render_text(busy, By::overview, false, 80);
  CHECK(text.find("Time blocked: ") > text.find("CPU time: "));
  // The user's choice holds.
  Profile chosen = backend();
  chosen.first_only = true;
  CHECK_THAT(render_text(chosen, By::overview, false, 80), !Contains("Time blocked: "));
}

TEST_CASE("functions that only call the next one share its line", "[report][callpath]") {
  Profile profile = empty();
  add(profile, {{"_start"}, {"begin", kLibc}, kMain, {"loop"}, {"parse"}}, kCpu, 10);
  std::string text = render_text(profile, By::overview, false, 120);
  CHECK_THAT(text, Contains("  _start › begin › main › loop › parse\n"));
  // Names that do not fit stand on the next line.
  text = render_text(profile, By::overview, false, 80);
  CHECK_THAT(text, Contains("  _start › begin › main\n") && Contains("  loop › parse\n"));
  CHECK_THAT(render_text(profile, By::path, false, 120), !Contains("›"));

  SECTION("but not one that has something itself") {
    profile.own[kBlocked][3] = kSecond;
    text = render_text(profile, By::overview, false, 120);
    CHECK_THAT(text, Contains("_start › begin › main\n"));
    CHECK_THAT(text, Contains(" loop › parse\n"));
  }
}

}  // namespace causalctl::report::callpath
