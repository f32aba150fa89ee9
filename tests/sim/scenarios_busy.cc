#include <fmt/format.h>

#include "tests/sim/programs.h"
#include "tests/sim/scenarios.h"

namespace causalctl::sim {
namespace {

// How often threads of the program wait for each other decides how well a busy machine is
// understood (docs/virtual-time.md): against the slice for which others keep a core.
constexpr const char* kApart = "do not wait for each other";
constexpr const char* kSeldom = "meet, no more often than a slice";
constexpr const char* kOften = "meet more often than a slice";
constexpr const char* kDevices = "wait for devices";
constexpr const char* kAlone = "nobody beside";

struct BusyProgram {
  const char* group;
  const char* name;
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

Scenario beside_outsiders(const BusyProgram& of, const Outsiders& outsiders) {
  Scenario scenario;
  scenario.family = "beside";
  scenario.name = fmt::format("{}, k = {}", of.name, outsiders.count);
  scenario.program = beside(of.program, outsiders);
  scenario.units = of.units;
  scenario.speedups = {0.5};
  scenario.cores = 2;
  scenario.scheduling.sharing = Sharing::fair;
  scenario.group = outsiders.count == 0 ? kAlone : of.group;
  return scenario;
}

}  // namespace

std::vector<Scenario> busy_scenarios() {
  std::vector<Scenario> all;
  for (const BusyProgram& each : busy_programs()) {
    for (unsigned count = 0; count <= 3; ++count) all.push_back(beside_outsiders(each, {count}));
  }
  return all;
}

}  // namespace causalctl::sim
