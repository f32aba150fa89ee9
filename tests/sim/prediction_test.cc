// Tests whether the predictions of the shipping controller are true on the simulated machine.
//
// An error may be as large as sampling allows, 3 standard errors (the 95 % interval is about 2 to
// either side), plus kSystematic, the mean error that issue 3 of the project allows. The interval
// itself must be narrow, so that a wide one is no excuse. If the truth is no effect, none may be
// found beyond the same bound. Programs that are known to be misjudged are not here but in the
// table of scripts/simulate.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "controller/base/error.h"
#include "tests/sim/programs.h"
#include "tests/sim/simulate.h"

using namespace causalctl;
using namespace causalctl::sim;

namespace {

constexpr double kSystematic = 0.01;
constexpr double kWidestHalf = 0.025;
constexpr double kStandardErrors = 3 / 1.96;

struct Case {
  const char* name;
  Program program;
  Line unit;
  double speedup;
};

void check(const Case& each, Latency latency, unsigned cores = MachineOptions{}.cores) {
  INFO(each.name << ", line " << each.unit << ", speedup " << each.speedup << ", latency up to "
                 << latency.most_ns << " ns");
  Question question;
  question.program = each.program;
  question.unit = each.unit;
  question.speedup = each.speedup;
  question.duration_ns = 60 * kSecond;
  question.machine.cores = cores;
  Controller controller;
  controller.latency = latency;
  const double truth = true_effect(question);
  const Prediction prediction = predict(question, controller);
  REQUIRE(prediction.effect);
  CHECK(prediction.report.experiments_discarded == 0);
  const double half_width = (prediction.effect->high - prediction.effect->low) / 2;
  CHECK(half_width <= kWidestHalf);
  CAPTURE(truth, prediction.effect->value, half_width);
  CHECK(std::abs(prediction.effect->value - truth) <= kSystematic + kStandardErrors * half_width);
}

constexpr Latency kPrompt = {50 * kMicrosecond, 50 * kMicrosecond};
constexpr Latency kLate = {2 * kMillisecond, 2 * kMillisecond};

}  // namespace

TEST_CASE("predictions are true", "[sim]") {
  const Case cases[] = {
      {"serial chain", serial_chain(3, 7), 1, 0.5},
      {"serial chain", serial_chain(3, 7), 2, 1.0},
      {"barrier of 90 ms, critical", barrier({90, 0.955 * 90}), 1, 0.5},
      {"barrier of 90 ms, other", barrier({90, 0.955 * 90}), 2, 0.5},
      {"barrier of 5 ms, critical", barrier({5, 0.955 * 5}), 1, 1.0},
      {"barrier of 5 ms, other", barrier({5, 0.955 * 5}), 2, 1.0},
      {"mutex queue, producer", locked_queue(2, 4, 4), 1, 0.5},
      {"mutex queue, consumer", locked_queue(2, 4, 4), 2, 0.5},
      {"queue of items as long as half of the warm-up, consumer", pipe(20, 40, 4), 2, 1.0},
      {"decoy", decoy(), 3, 1.0},
      {"chain beside a decoy", decoy(), 1, 0.5},
      {"two identical workers", identical_workers(2), 1, 0.5},
      {"four identical workers", identical_workers(4), 1, 0.75},
      {"lock of 0.2 ms, held", contended_lock(0.2, 0.3, 3), 1, 0.5},
      {"lock of 0.2 ms, outside", contended_lock(0.2, 0.3, 3), 2, 0.5},
      {"lock of 2 ms, outside", contended_lock(2, 3, 3), 2, 1.0},
      {"a new thread that waits at once", new_worker_waits(10, 10), 1, 0.5},
      {"requests at their own pace", requests(5, 1.5, 1), 1, 0.5},
      {"requests at their own pace", requests(5, 1.5, 1), 1, 1.0},
  };
  for (const Case& each : cases) {
    check(each, kPrompt);
    check(each, kLate);
  }
}

// Threads that work for a moment every 6 ms would never meet ticks of 2 ms that are in step with
// them.
TEST_CASE("a pace is looked for where waits are ended externally, and only there", "[sim]") {
  const auto pacing_of = [](const Program& program, Nanoseconds duration_ns = 60 * kSecond) {
    Question question;
    question.program = program;
    question.unit = 1;
    question.speedup = 0.5;
    question.duration_ns = duration_ns;
    return predict(question, Controller{}).report.progress.at(0).pacing;
  };
  CHECK_FALSE(pacing_of(serial_chain(3, 7)));
  const auto requests_every_5 = pacing_of(requests(5, 1.5, 1));
  REQUIRE(requests_every_5);
  CHECK(requests_every_5->pace == report::Pace::own);
  CHECK(requests_every_5->rate.value == Approx(1).margin(0.02));
  // 8 % of it is one pair of phases, which tells nothing, so the test continues.
  const auto in_short = pacing_of(requests(5, 1.5, 1), 12 * kSecond);
  REQUIRE(in_short);
  CHECK(in_short->pace == report::Pace::own);
  const auto busy_device = pacing_of(device_bound(1, 2, 3));
  REQUIRE(busy_device);
  CHECK(busy_device->pace != report::Pace::of_program);
  // Requests of a program that hardly waits for them queue up, so that no pause could tell.
  CHECK_FALSE(pacing_of(requests(5, 3.9, 1)));
}

// All cores are taken at once, from time to time, and are idle in between.
TEST_CASE("a pace is looked for where threads queue for cores that are not always busy", "[sim]") {
  const auto predicted = [](const Program& program) {
    Question question;
    question.program = program;
    question.machine.cores = 2;
    question.machine.spread = 0.5;
    return predict(question, Controller{});
  };
  const auto warned = [](const Prediction& prediction) {
    return std::any_of(
        prediction.run.warnings.begin(), prediction.run.warnings.end(),
        [](const std::string& each) { return each.find("(cores are short)") != each.npos; });
  };
  const Prediction by_clock = predicted(requests_of_pool(16, 1 / (2 * 0.5), 1, 8));
  REQUIRE(by_clock.run.pacing.size() == 1);
  CHECK(by_clock.run.pacing[0].cores_short);
  CHECK(by_clock.report.progress.at(0).pacing->pace == report::Pace::own);
  CHECK_FALSE(warned(by_clock));
  REQUIRE(by_clock.effect);
  CHECK(by_clock.effect->low < 0);
  CHECK(std::abs(by_clock.effect->value) < 0.05);  // the bound is the effect of half as much work
  const Prediction in_turn = predicted(many_waiting(4, 2, 1, 4));
  REQUIRE(in_turn.run.pacing.size() == 1);
  CHECK(in_turn.run.pacing[0].cores_short);
  CHECK(in_turn.report.progress.at(0).pacing->pace == report::Pace::of_program);
  // If cores are never idle, the target is not paused for the test.
  const Prediction busy = predicted(requests_of_pool(16, 1 / (2 * 0.99), 1, 8));
  REQUIRE(busy.run.pacing.size() == 1);
  CHECK_FALSE(busy.run.pacing[0].tested());
  CHECK(warned(busy));
  REQUIRE(busy.effect);
  CHECK(busy.effect->low <= 0);
  // On such cores the few waits for devices do not make the pace of a point doubtful.
  const Prediction pool = predicted(pool_of(8, 1, 1, 0));
  CHECK(pool.run.pacing.empty());
  CHECK_FALSE(warned(pool));
}

TEST_CASE("predictions are true where threads wait for cores", "[sim]") {
  check({"pool", pool_of(8, 1, 1, 0), 1, 0.5}, kPrompt, 2);
  check({"pool with a lock", pool_of(8, 1, 1, 0.2), 1, 0.5}, kPrompt, 2);
  check({"three threads", pool_of(3, 1, 1, 0), 1, 1.0}, kPrompt, 2);
  check({"16 threads on 4 cores", pool_of(16, 1, 1, 0), 1, 1.0}, kPrompt, 4);
  check({"64 threads on 16 cores", pool_of(64, 1, 1, 0), 1, 0.5}, kPrompt, 16);
}

// The whole interval holds the truth, and its half is no wider than `widest_half`.
Prediction check_interval(const Question& question, double widest_half) {
  Controller controller;
  controller.latency = kPrompt;
  controller.whole_interval = true;
  const double truth = true_effect(question);
  const Prediction prediction = predict(question, controller);
  REQUIRE(prediction.effect);
  CAPTURE(truth, prediction.effect->low, prediction.effect->value, prediction.effect->high);
  CHECK(prediction.effect->low <= truth);
  CHECK(prediction.effect->high >= truth);
  CHECK((prediction.effect->high - prediction.effect->low) / 2 <= widest_half);
  return prediction;
}

// Beside k programs that compute all the time, on two cores that are shared as in Linux. A result
// is as exact as its interval says, and a unit that gains nothing is not reported to gain.
TEST_CASE("beside strangers intervals hold the truth", "[sim]") {
  const struct {
    Case of;
    unsigned strangers;
    double widest_half;
  } cases[] = {
      {{"serial chain", serial_chain(5, 5), 1, 0.5}, 2, 0.08},
      {{"two identical workers", identical_workers(2), 1, 0.5}, 1, 0.08},
      {{"barrier, the other", barrier({12, 8}), 2, 0.5}, 2, 0.25},
      {{"queue, producer", locked_queue(2, 4, 4), 1, 0.5}, 2, 0.25},
      {{"decoy", decoy(), 3, 0.5}, 1, 0.08},
      {{"decoy with a common logger", decoy_and_logger(), 3, 0.5}, 0, 0.01},
      {{"decoy with a common logger", decoy_and_logger(), 3, 0.5}, 1, 0.08},
      {{"decoy with a common logger", decoy_and_logger(), 3, 0.5}, 2, 0.08},
      {{"chain with a common logger", decoy_and_logger(), 1, 0.5}, 1, 0.08},
      {{"chain with a common logger", decoy_and_logger(), 1, 0.5}, 2, 0.08},
  };
  for (const auto& [each, strangers, widest_half] : cases) {
    INFO(each.name << " beside " << strangers);
    Question question;
    question.program = beside(each.program, {strangers});
    question.unit = each.unit;
    question.speedup = each.speedup;
    question.machine.cores = 2;
    question.machine.scheduling.sharing = Sharing::per_core;
    check_interval(question, widest_half);
  }
}

// A cgroup grants half a core, one, or 1.6, so that the program stops in each period.
TEST_CASE("under a quota intervals hold the truth", "[sim]") {
  const struct {
    Case of;
    Nanoseconds quota_ms;
    double widest_half;
  } cases[] = {
      {{"serial chain", serial_chain(5, 5), 1, 0.5}, 50, 0.1},
      // Uniform pauses hardly change its rate, so that their cost is not known well.
      {{"barrier, the other", barrier({12, 8}), 2, 0.5}, 50, 0.2},
      {{"queue, producer", locked_queue(2, 4, 4), 1, 0.5}, 100, 0.1},
      {{"decoy", decoy(), 3, 0.5}, 50, 0.1},
      {{"chain beside the decoy", decoy(), 1, 0.5}, 50, 0.1},
      // Two busy threads use up 1.6 cores, but not while one of them is paused.
      {{"decoy", decoy(), 3, 0.5}, 160, 0.1},
      {{"chain beside the decoy", decoy(), 1, 0.5}, 160, 0.1},
      {{"barrier, the slower", barrier({2, 1.6}), 1, 0.5}, 160, 0.2},
      // Made 50 % faster it leaves some of the quota unused.
      {{"barrier, the other", barrier({2, 1.6}), 2, 0.5}, 160, 0.2},
      {{"barrier that stops for 4 % of the time", barrier({12, 8}), 1, 0.5}, 160, 0.2},
  };
  for (const auto& [each, quota_ms, widest_half] : cases) {
    INFO(each.name << ", " << quota_ms << " ms of 100");
    Question question;
    question.program = each.program;
    question.unit = each.unit;
    question.speedup = each.speedup;
    question.machine.quota_ns = quota_ms * kMillisecond;
    const Prediction prediction = check_interval(question, widest_half);
    Nanoseconds stopped_ns = 0;
    for (const causal::Experiment& experiment : prediction.run.experiments) {
      stopped_ns += experiment.cores.quota_stopped_ns;
      CHECK(experiment.effective_ns ==
            experiment.wall_ns - experiment.delay_ns - experiment.cores.quota_stopped_ns);
    }
    CHECK(stopped_ns > kSecond / 2);
  }
}

// It runs for half of the time, and the quota is a little less.
TEST_CASE("no pace is looked for where pauses save a quota", "[sim]") {
  const auto predicted = [](Nanoseconds quota_ms) {
    Question question;
    question.program = io_wait(2, 3, 1);
    question.machine.quota_ns = quota_ms * kMillisecond;
    return predict(question, Controller{});
  };
  CHECK(predicted(100).run.pacing.size() == 1);
  const Prediction under_quota = predicted(48);
  REQUIRE(under_quota.run.pacing.size() == 1);
  CHECK_FALSE(under_quota.run.pacing[0].tested());
  CHECK(std::any_of(under_quota.run.warnings.begin(), under_quota.run.warnings.end(),
                    [](const std::string& each) {
                      return each.find("(a quota of CPU time stops it)") != each.npos;
                    }));
}

// A visit stops its core, and threads that wait for one begin later; the twin has no visits.
TEST_CASE("predictions are of the program without breakpoints where threads wait for cores",
          "[sim]") {
  Question question;
  question.program = pool_of(8, 0.25, 0.25, 0);
  question.machine.cores = 2;
  question.machine.visit_cost_ns = 40 * kMicrosecond;
  Controller controller;
  controller.latency = kPrompt;
  const double truth = true_effect(question);
  const auto prediction = [&](Nanoseconds visit_cost_ns) {
    controller.visit_cost_ns = visit_cost_ns;
    const auto effect = predict(question, controller).effect;
    REQUIRE(effect);
    return *effect;
  };
  const Interval effect = prediction(question.machine.visit_cost_ns);
  CAPTURE(truth, effect.value, effect.low, effect.high);
  CHECK(std::abs(effect.value - truth) <=
        kSystematic + kStandardErrors * (effect.high - effect.low) / 2);
  CHECK(prediction(0).value < truth - kSystematic);
}

// An answer takes 0.12 ms of work, 0.08 ms of work after it is sent, and 0.2 ms of the client's.
TEST_CASE("predictions are true of a server beside its clients", "[sim]") {
  const Service pairs{4, 0.16, 0.04, 4, 0.2, 0};
  check({"as many cores as threads", service(pairs), 1, 0.5}, kPrompt, 8);
  check({"two cores", service(pairs), 1, 0.5}, kPrompt, 2);
  Service after = pairs;
  after.first_ms = after.after_ms = 0.08;
  check({"half of the work when the answer is sent", service(after), 1, 0.5}, kPrompt, 2);
  check({"… more cores", service(after), 1, 0.5}, kLate, 4);
  check({"many more threads than cores", service({16, 0.16, 0.04, 16, 0.2, 0}), 1, 0.5}, kPrompt,
        2);
}

TEST_CASE("threads are paused from the threshold on that the user says", "[sim]") {
  Question question;
  question.program = barrier({90, 60});
  question.duration_ns = 10 * kSecond;
  const auto pauses = [&](std::optional<Nanoseconds> threshold_ns) {
    Controller controller;
    controller.pause_threshold_ns = threshold_ns;
    std::uint64_t count = 0;
    for (const auto& each : predict(question, controller).run.experiments) count += each.pauses;
    return count;
  };
  const std::uint64_t usual = pauses(std::nullopt);
  CHECK(usual > 0);
  CHECK(pauses(kSecond) == 0);
  CHECK(pauses(kMillisecond) > 2 * usual);
}

TEST_CASE("a program that is suspended goes on once, when it is followed", "[sim]") {
  Question question;
  question.program = barrier({90, 60});
  question.duration_ns = kSecond;
  CHECK(predict(question, {}).let_go == std::vector{true});
}

// The controller's first value is far from the truth, and two threads suffice to correct it.
TEST_CASE("the cost of a pause is found by uniform pauses", "[sim]") {
  const Nanoseconds cost_ns = GENERATE(150, 300) * kMicrosecond;
  Question question;
  question.program = barrier({5, 4});
  question.machine.pause_cost_ns = cost_ns;
  Controller controller;
  controller.credited_cost_ns = 60 * kMicrosecond;
  const auto found_ns =
      static_cast<double>(predict(question, controller).run.overhead.pause_cost.cost_ns);
  // There are 12 pairs of phases, whose periods differ by 2 % / sqrt(n): a few hundredths of the
  // loss.
  CHECK(found_ns > 0.7 * static_cast<double>(cost_ns) - 15'000);
  CHECK(found_ns < 1.3 * static_cast<double>(cost_ns) + 15'000);
}

TEST_CASE("truth is what arithmetic says", "[sim]") {
  Question question;
  question.machine.spread = 0;
  question.speedup = 0.5;
  question.program = serial_chain(3, 7);
  CHECK(true_effect(question) == Approx(0.15).margin(1e-6));
  question.program = barrier({5, 4});  // each meeting adds a switch, which is on neither line
  CHECK(true_effect(question) == Approx(0.2).margin(0.001));
  question.program = locked_queue(2, 4, 4);
  question.unit = 2;
  CHECK(true_effect(question) == Approx(0.5).margin(0.005));
  question.unit = 1;
  CHECK(true_effect(question) == Approx(0).margin(0.005));
}

TEST_CASE("the same seed gives the same prediction", "[sim]") {
  Question question;
  question.program = barrier({5, 4});
  question.duration_ns = 20 * kSecond;
  const auto first = predict(question, {}).effect;
  const auto second = predict(question, {}).effect;
  question.machine.seed = 2;
  const auto other = predict(question, {}).effect;
  REQUIRE((first && second && other));
  CHECK(first->value == second->value);
  CHECK(first->value != other->value);
}

TEST_CASE("experiments that lost records are discarded", "[sim]") {
  Question question;
  question.program = barrier({5, 4});
  question.duration_ns = 20 * kSecond;
  question.machine.lost_share = 0.01;
  const Prediction prediction = predict(question, {});
  CHECK(prediction.report.losses.records_lost > 0);
  CHECK(prediction.report.experiments_discarded == prediction.report.experiments);
}

TEST_CASE("pauses that never come are told of", "[sim]") {
  const bool arrive = GENERATE(true, false);
  Question question;
  question.program = decoy();
  question.unit = 3;
  question.duration_ns = 20 * kSecond;
  Controller controller;
  controller.pauses_arrive = arrive;
  const report::Report report = predict(question, controller).report;
  CAPTURE(arrive, report.selfcheck.delay_asked_ns, report.selfcheck.delay_paid_ns);
  const bool told =
      std::any_of(report.warnings.begin(), report.warnings.end(), [](const auto& warning) {
        return warning.text().find("of delay were asked for") != std::string::npos;
      });
  CHECK(told != arrive);
}
