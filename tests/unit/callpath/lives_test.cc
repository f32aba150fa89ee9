// Which words of the stacks are watched, in which order, and what is made of it.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/callpath/call_rates.h"
#include "controller/callpath/life_rounds.h"
#include "controller/callpath/life_survey.h"
#include "controller/callpath/recording.h"

namespace causalctl::callpath {
namespace {

constexpr ThreadId kFirst{1, 1};
constexpr ThreadId kOther{2, 2};

// Samples of main → work → step: each frame is 32 bytes, and main's is outermost.
class Samples {
 public:
  // The instruction, then the return addresses, innermost first.
  void add(ThreadId thread, std::vector<Address> addresses, Address shift = 0, int times = 1) {
    unwind::Chain chain;
    chain.end = unwind::ChainEnd::outermost;
    std::vector<LocationId> path;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const Address cfa = 0x7000 + 0x1000 * thread.serial - 32 * (addresses.size() - 1 - i) - shift;
      chain.frames.push_back(
          {addresses[i], cfa, i == 0 ? unwind::FrameHow::instruction : unwind::FrameHow::table});
      path.insert(path.begin(), static_cast<LocationId>(addresses[i]));
    }
    const NodeId node = tree.path(path);
    for (int i = 0; i < times; ++i) survey.take(thread, chain, node, tree);
  }
  NodeId node(std::vector<LocationId> path) { return tree.path(path); }

  CallTree tree;
  LifeSurvey survey;
};

LifePlace place(NodeId call, std::vector<LifeTarget> targets, double share = 1) {
  return {call, std::move(targets), 1, share};
}

// A recording in which a call from main is under way for 0.3 s of each second.
Recording recording_of_calls(std::vector<Nanoseconds> lives_ns) {
  Recording run;
  run.wall_ns = 10 * kSecond;
  run.modules = {{"/bin/prog", ""}};
  run.locations = {{0, 10, true, {{"main", "/src/main.c", 7}}}, {0, 20, false, {{"work", "", 0}}}};
  const NodeId call = run.tree.path(std::vector<LocationId>{0});
  const NodeId inside = run.tree.path(std::vector<LocationId>{0, 1});
  run.epochs.push_back({0, "start"});
  run.groups.push_back({"all"});
  run.add({0, 0, Metric::cpu_ns}, inside, 2 * kSecond);
  run.add({0, 0, Metric::blocked_ns}, inside, kSecond);
  WatchedCalls watched;
  watched.call = call;
  watched.probes = watched.clear = 1000;
  watched.covered = 1;
  watched.lives_ns = std::move(lives_ns);
  run.watched = {10 * kMillisecond, 0, {watched}};
  return run;
}

}  // namespace

TEST_CASE("calls that come and go are watched where their return address is", "[callpath][lives]") {
  Samples samples;
  samples.add(kFirst, {100, 20, 10}, 0, 30);  // main calls work at 10, work calls step at 20
  samples.add(kFirst, {21, 10}, 0, 20);
  samples.add(kFirst, {11}, 0, 50);
  const auto places = samples.survey.places(24, 100);
  REQUIRE(places.size() == 2);
  CHECK(places[0].call == samples.node({10}));
  REQUIRE(places[0].targets.size() == 1);
  // Below the canonical frame address of the function that was called.
  CHECK(places[0].targets[0] == LifeTarget{kFirst, 0x8000 - 32 - 8, 10});
  CHECK(places[0].covered == Approx(1));
  CHECK(places[1].call == samples.node({10, 20}));
  CHECK(places[1].targets[0].back == 20);
  CHECK(samples.survey.places(1, 100).size() == 1);
}

TEST_CASE("calls that are always under way are not watched", "[callpath][lives]") {
  Samples samples;
  samples.add(kFirst, {100, 20, 10}, 0, 60);
  samples.add(kFirst, {21, 10}, 0, 40);
  const auto places = samples.survey.places(24, 100);
  REQUIRE(places.size() == 1);
  CHECK(places[0].call == samples.node({10, 20}));
}

TEST_CASE("a word that calls of two paths share is not watched", "[callpath][lives]") {
  Samples samples;
  samples.add(kFirst, {100, 20, 10}, 0, 30);
  samples.add(kFirst, {100, 20, 12}, 0, 30);  // the same, called from another line of main
  samples.add(kFirst, {11}, 0, 40);
  std::set<NodeId> calls;
  for (const LifePlace& each : samples.survey.places(24, 100)) calls.insert(each.call);
  CHECK(calls == std::set<NodeId>{samples.node({10}), samples.node({12})});
}

TEST_CASE("a place is watched only where nearly all of its calls are", "[callpath][lives]") {
  Samples samples;
  samples.add(kFirst, {100, 10}, 0, 50);
  samples.add(kOther, {100, 10}, 0, 40);
  samples.add(kFirst, {100, 10}, 64, 10);
  samples.add(kFirst, {11}, 0, 50);
  samples.add(kOther, {11}, 0, 50);
  auto places = samples.survey.places(24, 100);
  REQUIRE(places.size() == 1);
  CHECK(places[0].targets.size() == 2);
  CHECK(places[0].covered == Approx(0.9));
  for (Address shift = 128; shift < 128 + 64 * 20; shift += 64) {
    samples.add(kFirst, {100, 10}, shift, 10);
  }
  CHECK(samples.survey.places(24, 100).empty());
}

TEST_CASE("a thread that has ended has no words to be watched", "[callpath][lives]") {
  Samples samples;
  samples.add(kFirst, {100, 10}, 0, 50);
  samples.add(kFirst, {11}, 0, 50);
  samples.add(kOther, {100, 10}, 0, 40);
  samples.add(kOther, {11}, 0, 60);
  samples.survey.thread_ended(kOther);
  const auto places = samples.survey.places(24, 1000);
  REQUIRE(places.size() == 1);
  REQUIRE(places[0].targets.size() == 1);
  CHECK(places[0].targets[0].thread == kFirst);
  // Half of its samples are in the call, but it has samples at a tenth of all moments only.
  CHECK(places[0].under_way == Approx(0.05));
}

TEST_CASE("each word is watched once a round, and places take turns", "[callpath][lives]") {
  const LifeTarget a{kFirst, 8, 10}, b{kOther, 16, 10}, c{kFirst, 24, 20};
  LifeRounds rounds({place(3, {a, b}), place(5, {c})}, 1);
  std::map<Address, int> watched;
  for (int i = 0; i < 40; ++i) {
    const auto probe = rounds.next([](ThreadId) { return true; });
    REQUIRE(probe);
    ++watched[probe->target.slot];
    rounds.done(*probe, LifeRounds::Found::life, 100);
  }
  CHECK(watched == std::map<Address, int>{{8, 10}, {16, 10}, {24, 20}});
  REQUIRE(rounds.watched().size() == 2);
  CHECK(rounds.watched()[0].probes == 10);
  CHECK(rounds.watched()[0].lives_ns.size() == 20);
  CHECK(rounds.watched()[1].probes == 20);
  CHECK(rounds.watched()[1].lives_ns.size() == 20);
}

TEST_CASE("a thread with many places does not hold up another", "[callpath][lives]") {
  std::vector<LifePlace> places;
  for (Address i = 1; i <= 10; ++i) places.push_back(place(3, {{kFirst, 8 * i, i}}));
  places.push_back(place(5, {{kOther, 8, 10}}));
  LifeRounds rounds(std::move(places), 1);
  for (int i = 0; i < 100; ++i) {
    const auto one = rounds.next([](ThreadId thread) { return thread == kFirst; });
    const auto two = rounds.next([](ThreadId thread) { return thread == kOther; });
    REQUIRE((one && two));
    rounds.done(*one, LifeRounds::Found::life, 1);
    rounds.done(*two, LifeRounds::Found::life, 1);
  }
  CHECK(rounds.watched()[0].probes == 10);
  CHECK(rounds.watched()[10].probes == 100);
}

TEST_CASE("a moment that does not count is made up for", "[callpath][lives]") {
  LifeRounds rounds({place(3, {{kFirst, 8, 10}, {kOther, 16, 10}})}, 1);
  const auto look = [&](ThreadId at, LifeRounds::Found found) {
    const auto probe = rounds.next([at](ThreadId thread) { return thread == at; });
    REQUIRE(probe);
    rounds.done(*probe, found, 100);
  };
  look(kOther, LifeRounds::Found::nothing);
  CHECK_FALSE(rounds.next([](ThreadId thread) { return thread == kOther; }));
  for (int i = 0; i < 3; ++i) look(kFirst, LifeRounds::Found::unclear);
  CHECK(rounds.watched()[0].probes == 0);
  look(kFirst, LifeRounds::Found::life);
  CHECK(rounds.watched()[0].probes == 1);
  CHECK(rounds.watched()[0].lives_ns.size() == 1);
}

TEST_CASE("places of a thread that has ended keep their complete rounds", "[callpath][lives]") {
  LifeRounds rounds({place(3, {{kFirst, 8, 10}, {kOther, 16, 10}}), place(5, {{kOther, 24, 10}})},
                    1);
  const auto any = [](ThreadId) { return true; };
  for (int i = 0; i < 4; ++i) rounds.done(*rounds.next(any), LifeRounds::Found::life, 100);
  rounds.thread_ended(kFirst, 5);
  for (int i = 0; i < 5; ++i) rounds.done(*rounds.next(any), LifeRounds::Found::life, 100);
  CHECK(rounds.watched()[0].probes == 1);
  CHECK(rounds.watched()[0].lives_ns.size() == 2);
  CHECK(rounds.watched()[1].probes > 4);
  rounds.thread_ended(kOther, 5);
  CHECK_FALSE(rounds.next(any));
}

TEST_CASE("a place whose calls do not return is given up", "[callpath][lives]") {
  for (const double share : {1.0, 0.1}) {
    LifeRounds rounds({place(3, {{kFirst, 8, 10}}, share)}, 1);
    int probes = 0;
    while (const auto probe = rounds.next([](ThreadId) { return true; })) {
      rounds.done(*probe, LifeRounds::Found::nothing, 0);
      REQUIRE(++probes < 1000);
    }
    CHECK(probes == 8 / share);
    CHECK(rounds.watched()[0].probes == static_cast<std::uint64_t>(probes));
    CHECK_FALSE(rounds.watched()[0].stopped_ns > 0);
  }
}

TEST_CASE("looks that count and that do not are told apart", "[callpath][lives]") {
  LifeRounds rounds({place(3, {{kFirst, 8, 10}})}, 1);
  const auto look = [&](LifeRounds::Found found) {
    rounds.done(*rounds.next([](ThreadId) { return true; }), found, 100);
  };
  look(LifeRounds::Found::unclear);
  look(LifeRounds::Found::life);
  look(LifeRounds::Found::unclear);
  look(LifeRounds::Found::nothing);
  look(LifeRounds::Found::life);
  CHECK(rounds.watched()[0].clear == 3);
  CHECK(rounds.watched()[0].unclear == 2);
  CHECK_FALSE(rounds.watched()[0].stopped_ns > 0);
  rounds.stop_all(77);
  CHECK(rounds.watched()[0].stopped_ns > 0);
}

TEST_CASE("rates of calls come with the time that each lasts", "[callpath][lives]") {
  // 1,000 calls a second of 300 µs each: a moment in a call comes in 30 %, at any time of it.
  std::vector<Nanoseconds> lives_ns;
  for (int i = 0; i < 300; ++i) lives_ns.push_back((i + 1) * kMicrosecond);
  Recording run = recording_of_calls(std::move(lives_ns));
  auto rate = call_rates(run).rates.at(0);
  CHECK(rate.path == std::vector<std::string>{"main"});
  CHECK(rate.line == 7);
  CHECK(rate.per_second == Approx(1000).epsilon(0.1));
  CHECK((rate.low < 1000 && 1000 < rate.high));
  CHECK(rate.mean_ns == Approx(300 * kMicrosecond).epsilon(0.1));
  CHECK(rate.returns == 300);
  CHECK_FALSE(rate.stopped);
  const double whole = rate.per_second;

  // The thread waits for a core half of the time, in which no call begins.
  run.watched.calls[0].unclear = 1000;
  CHECK(call_rates(run).rates.at(0).per_second == Approx(whole / 2));
  CHECK(call_rates(run).rates.at(0).longer.at(0).high < rate.longer.at(0).high);
  // A tenth of the calls return by other words.
  run.watched.calls[0].unclear = 0;
  run.watched.calls[0].covered = 0.9;
  CHECK(call_rates(run).rates.at(0).per_second == Approx(whole / 0.9));
  // The time is that of the whole recording, and the rate is not.
  run.watched.calls[0].stopped_ns = 5 * kSecond;
  rate = call_rates(run).rates.at(0);
  CHECK((rate.stopped && rate.mean_ns == 0));
  run.watched.calls[0].stopped_ns = run.wall_ns - 10 * kMillisecond;  // the program ended
  rate = call_rates(run).rates.at(0);
  CHECK((!rate.stopped && rate.mean_ns > 0));
}

TEST_CASE("it is told why places have no rate", "[callpath][lives]") {
  Recording run = recording_of_calls({});
  const auto watched = [&](std::uint64_t probes, std::vector<Nanoseconds> lives_ns) {
    run.watched.precision_ns = 50 * kMicrosecond;
    run.watched.calls[0].probes = probes;
    run.watched.calls[0].lives_ns = std::move(lives_ns);
    return call_rates(run);
  };
  auto places = watched(300, std::vector<Nanoseconds>(63, 100 * kMicrosecond));
  CHECK((places.few_returns == 1 && places.out_of_range == 0 && places.rates.empty()));
  CHECK((places.longer_than_ns == 50 * kMicrosecond && places.shorter_than_ns == 10'000'000));
  // 150 returns were to be seen.
  places = watched(500, std::vector<Nanoseconds>(2, 100 * kMicrosecond));
  CHECK((places.few_returns == 0 && places.out_of_range == 1));
  places = watched(500, std::vector<Nanoseconds>(150, 40 * kMicrosecond));
  CHECK((places.few_returns == 0 && places.out_of_range == 1));
  // Nine were to be seen, and there was none; and one of a moment.
  places = watched(30, {});
  CHECK((places.few_returns == 0 && places.out_of_range == 1));
  places = watched(3, {});
  CHECK((places.few_returns == 1 && places.out_of_range == 0));
  places = watched(300, std::vector<Nanoseconds>(64, 100 * kMicrosecond));
  CHECK((places.count() == 1 && places.rates.size() == 1));
}

}  // namespace causalctl::callpath
