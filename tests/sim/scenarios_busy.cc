#include <fmt/format.h>

#include "tests/sim/programs.h"
#include "tests/sim/scenarios.h"

namespace causalctl::sim {
namespace {

// How exact predictions on a busy machine are depends on how often threads of the program wait for
// each other, compared with the slice for which strangers keep a core.
constexpr const char* kApart = "do not wait for each other";
constexpr const char* kSeldom = "meet, no more often than a slice";
constexpr const char* kOften = "meet more often than a slice";
constexpr const char* kDevices = "wait for devices";
constexpr const char* kAlone = "nobody beside";

struct BusyProgram {
  const char* group;
  std::string name;
  Program program;
  std::vector<Line> units;
};

std::vector<BusyProgram> busy_programs() {
  return {
      {kApart, "serial 5/5", serial_chain(5, 5), {1}},
      {kApart, "serial .05/.05", serial_chain(0.05, 0.05), {1}},
      {kApart, "2 workers", identical_workers(2), {1}},
      {kApart, "pool of 4, 1+1", pool_of(4, 1, 1, 0), {1}},
      {kApart, "pool of 4, 1+1, lock .2", pool_of(4, 1, 1, 0.2), {1}},
      {kApart, "chain 3/7 and a hot thread", decoy(), {1, 3}},
      {kApart, "chain and a hot thread, one logger", decoy_and_logger(), {1, 3}},
      {kSeldom, "barrier 12/8", barrier({12, 8}), {1, 2}},
      {kSeldom, "lock held 2 outside 3, 2 threads", contended_lock(2, 3, 2), {1, 2}},
      {kSeldom, "lock held 6 outside 2, 2 threads", contended_lock(6, 2, 2), {1}},
      {kSeldom, "queue 2/4", locked_queue(2, 4, 4), {1, 2}},
      {kOften, "barrier 2/1.6", barrier({2, 1.6}), {1, 2}},
      {kOften, "queue .1/.2", locked_queue(0.1, 0.2, 4), {1, 2}},
      {kDevices, "io 2, device 3, 1", io_wait(2, 3, 1), {1}},
      {kDevices, "io .3, device 3, .2", io_wait(0.3, 3, 0.2), {1}},
  };
}

// Programs with as many threads as the machine has cores, and with more.
std::vector<BusyProgram> programs_of(unsigned cores) {
  std::vector<double> each_ms(cores, 8);
  each_ms[0] = 12;
  return {
      {kApart, "serial 5/5", serial_chain(5, 5), {1}},
      {kApart, fmt::format("{} workers", cores / 2), identical_workers(cores / 2), {1}},
      {kApart, fmt::format("{} workers", cores), identical_workers(cores), {1}},
      {kApart, fmt::format("pool of {}, 1+1", 2 * cores), pool_of(2 * cores, 1, 1, 0), {1}},
      {kApart, "chain 3/7 and a hot thread", decoy(), {1, 3}},
      {kSeldom, fmt::format("barrier of {}, 12 and 8 each", cores), barrier(each_ms), {1, 2}},
      {kSeldom,
       fmt::format("lock held 2 outside 6, {} threads", cores),
       contended_lock(2, 6, cores),
       {1, 2}},
      {kSeldom, "queue 2/4", locked_queue(2, 4, 4), {1, 2}},
  };
}

Scenario beside_strangers(const BusyProgram& of, const Strangers& strangers) {
  Scenario scenario;
  scenario.name = fmt::format("{}, k = {}", of.name, strangers.count);
  scenario.program = beside(of.program, strangers);
  scenario.units = of.units;
  scenario.speedups = {0.5};
  scenario.cores = 2;
  scenario.truths = 4;
  scenario.group = strangers.count == 0 ? kAlone : of.group;
  return scenario;
}

// k strangers compute all the time, on two cores.
void add_beside(std::vector<Scenario>& all, const std::string& family, Sharing sharing) {
  for (const BusyProgram& each : busy_programs()) {
    for (unsigned count = 0; count <= 3; ++count) {
      Scenario scenario = beside_strangers(each, {count});
      scenario.family = family;
      scenario.scheduling.sharing = sharing;
      all.push_back(std::move(scenario));
    }
  }
}

void add_many_cores(std::vector<Scenario>& all) {
  for (const unsigned cores : {4U, 8U}) {
    for (const BusyProgram& each : programs_of(cores)) {
      for (const unsigned count : {cores / 2, cores, 3 * cores / 2}) {
        Scenario scenario = beside_strangers(each, {count});
        scenario.family = "sizes";
        scenario.name += fmt::format(", {} cores", cores);
        scenario.cores = cores;
        scenario.scheduling.sharing = Sharing::per_core;
        all.push_back(std::move(scenario));
      }
    }
  }
}

void add_other_strangers(std::vector<Scenario>& all) {
  const struct {
    const char* name;
    Strangers strangers;
  } kinds[] = {{"bursts of 5", {4, 5}},
               {"bursts of 1", {3, 1}},
               {"of weight 1/3", {2, 0, 1.0 / 3}},
               {"of weight 3", {2, 0, 3}}};
  for (const auto& [name, strangers] : kinds) {
    for (const BusyProgram& each : busy_programs()) {
      Scenario scenario = beside_strangers(each, strangers);
      scenario.family = "outsiders";
      scenario.name += fmt::format(" {}", name);
      scenario.scheduling.sharing = Sharing::per_core;
      all.push_back(std::move(scenario));
    }
  }
}

// The program is in a cgroup that may use half a core, one, or 1.6 of two, beside k threads in it
// or outside. The last is used up by two busy threads, but not while one of them is paused.
void add_quotas(std::vector<Scenario>& all) {
  const struct {
    const char* name;
    Strangers strangers;
  } kinds[] = {{"", {}}, {"", {2}}, {" inside", {2, 0, 1, true}}};
  for (const BusyProgram& each : busy_programs()) {
    for (const Nanoseconds quota_ms : {50, 100, 160}) {
      for (const auto& [name, strangers] : kinds) {
        Scenario scenario = beside_strangers(each, strangers);
        scenario.family = "quota";
        scenario.name += fmt::format("{}, {} ms of 100", name, quota_ms);
        scenario.scheduling.sharing = Sharing::per_core;
        scenario.quota_ns = quota_ms * kMillisecond;
        scenario.group = each.group;
        all.push_back(std::move(scenario));
      }
    }
  }
}

}  // namespace

std::vector<Scenario> busy_scenarios() {
  std::vector<Scenario> all;
  add_beside(all, "beside", Sharing::fair);
  add_beside(all, "cores", Sharing::per_core);
  add_many_cores(all);
  add_other_strangers(all);
  add_quotas(all);
  return all;
}

}  // namespace causalctl::sim
