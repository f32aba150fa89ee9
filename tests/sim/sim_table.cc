// Prints truth and prediction of the scenarios over latencies and speedups, and the errors by
// family. The same options print the same table, whatever --jobs is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "controller/base/error.h"
#include "tests/sim/scenarios.h"

namespace causalctl::sim {
namespace {

constexpr double kMostRange = 0.015;  // of truths with several seeds

struct Options {
  std::string family;
  std::vector<std::string> latencies = {"0.05", "2", "10", "0.05-10"};
  double period_ms = 1;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  bool quick = false;
  double lost_share = 0;
  double tick_cost_ms = 0.06;
  double wake_ms = 0;
  double sample_cost_ms = 0.002;
  double pause_cost_ms = 0.15;     // as on a virtual machine
  double credited_cost_ms = 0.08;  // as the controller believes
  double duration_s = 0;           // 0 if the scenario decides
};

struct Row {
  const Scenario* scenario = nullptr;
  Question question;
  std::vector<std::string> latencies;
  std::string error;
  double truth = 0;
  double truth_range = 0;  // half of the range, if it was measured several times
  struct Cell {
    std::optional<Interval> effect;
    std::size_t pauses = 0;
  };
  std::vector<Cell> cells;  // by latency
};

Nanoseconds ns_of(double ms) { return static_cast<Nanoseconds>(ms * kMillisecond); }

// "2" means always this late; "0.05-10" means anything between.
Latency latency_of(const std::string& text) {
  try {
    const auto dash = text.find('-');
    const Nanoseconds least_ns = ns_of(std::stod(text.substr(0, dash)));
    return {least_ns,
            dash == std::string::npos ? least_ns : ns_of(std::stod(text.substr(dash + 1)))};
  } catch (const std::logic_error&) {
    throw UsageError("--latency " + text + ": not a number of ms, or two with a dash");
  }
}

// Scenarios of busy machines are included only if asked for.
std::vector<Scenario> scenarios_of(const std::string& family) {
  std::vector<Scenario> scenarios = all_scenarios();
  if (family.empty()) return scenarios;
  for (Scenario& each : busy_scenarios()) scenarios.push_back(std::move(each));
  std::erase_if(scenarios, [&](const Scenario& each) { return each.family != family; });
  return scenarios;
}

std::vector<Row> rows_of(const std::vector<Scenario>& scenarios, const Options& options) {
  std::vector<Row> rows;
  for (const Scenario& scenario : scenarios) {
    for (const Line unit : scenario.units) {
      for (const double speedup : scenario.speedups) {
        Row row;
        row.scenario = &scenario;
        row.latencies = options.latencies;
        row.question.program = scenario.program;
        row.question.unit = unit;
        row.question.speedup = speedup;
        row.question.machine.cores = scenario.cores;
        row.question.machine.spread = scenario.spread;
        row.question.machine.scheduling = scenario.scheduling;
        row.question.machine.quota_ns = scenario.quota_ns;
        row.question.machine.seed = options.seed;
        row.question.machine.lost_share = options.lost_share;
        row.question.machine.pause_cost_ns = ns_of(options.pause_cost_ms);
        row.question.machine.sample_cost_ns = ns_of(options.sample_cost_ms);
        row.question.machine.wake_ns = ns_of(options.wake_ms);
        row.question.duration_ns = scenario.duration_ns;
        if (options.duration_s > 0) row.question.duration_ns = ns_of(1000 * options.duration_s);
        if (options.quick) row.question.duration_ns /= 4;
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

void find_truth(Row& row) {
  double sum = 0, least = 1, most = -1e9;
  for (unsigned i = 0; i < row.scenario->truths; ++i) {
    Question question = row.question;
    question.machine.seed += 1000 * i;
    const double truth = true_effect(question);
    sum += truth;
    least = std::min(least, truth);
    most = std::max(most, truth);
  }
  row.truth = sum / row.scenario->truths;
  row.truth_range = (most - least) / 2;
}

void fill(Row& row, const Options& options) {
  find_truth(row);
  for (const std::string& latency : row.latencies) {
    Controller controller;
    controller.latency = latency_of(latency);
    controller.period_ns = ns_of(options.period_ms);
    controller.credited_cost_ns = ns_of(options.credited_cost_ms);
    controller.tick_cost_ns = ns_of(options.tick_cost_ms);
    const Prediction prediction = predict(row.question, controller);
    Row::Cell cell{prediction.effect, 0};
    for (const auto& experiment : prediction.run.experiments) cell.pauses += experiment.pauses;
    row.cells.push_back(cell);
  }
}

void fill_all(std::vector<Row>& rows, const Options& options) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < rows.size(); i = next++) {
      try {
        fill(rows[i], options);
      } catch (const std::exception& error) {
        rows[i].error = error.what();
      }
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < options.jobs; ++i) workers.emplace_back(work);
}

struct Errors {
  double sum = 0;
  double worst = 0;
  unsigned count = 0, covered = 0;
  void add(double truth, const Interval& effect) {
    const double error = std::abs(effect.value - truth);
    sum += error;
    worst = std::max(worst, error);
    ++count;
    if (truth >= effect.low && truth <= effect.high) ++covered;
  }
};

using ErrorTable = std::map<std::string, std::vector<Errors>>;  // by latency

std::string range_of(const Row& row) {
  return row.scenario->truths > 1 ? fmt::format(" ± {:.1f}", 100 * row.truth_range) : "";
}

std::string group_of(const Row& row) {
  const Scenario& scenario = *row.scenario;
  if (row.truth_range > kMostRange) return "= truth varies by more than ± 1.5";
  if (!scenario.group.empty()) return "= " + scenario.group;
  if (scenario.beyond) return "= beyond the model";
  return scenario.oversubscribed ? "= within, short of cores" : "= within the model";
}

ErrorTable print_rows(const std::vector<Row>& rows, const Options& options) {
  ErrorTable table;
  fmt::print("Percent. Latencies in ms: prediction [95 % interval] error, pauses\n\n");
  fmt::print("| scenario | line | s | truth |");
  for (const auto& latency : options.latencies) fmt::print(" {} |", latency);
  fmt::print("\n|---|---|---|---|");
  for (std::size_t i = 0; i < options.latencies.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const Row& row : rows) {
    fmt::print("| {}: {} | {} | {:.0f} | {:.1f}{} |", row.scenario->family, row.scenario->name,
               row.question.unit, 100 * row.question.speedup, 100 * row.truth, range_of(row));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const auto& effect = row.cells[i].effect;
      if (!effect) {
        fmt::print(" no result |");
        continue;
      }
      fmt::print(" {:.1f} [{:.1f}, {:.1f}] {:+.1f}, {} |", 100 * effect->value, 100 * effect->low,
                 100 * effect->high, 100 * (effect->value - row.truth), row.cells[i].pauses);
      for (const std::string& group : {row.scenario->family, group_of(row)}) {
        auto& errors = table[group];
        errors.resize(options.latencies.size());
        errors[i].add(row.truth, *effect);
      }
    }
    fmt::print("{}\n", row.error.empty() ? "" : " FAILED: " + row.error);
  }
  return table;
}

void print_errors(const ErrorTable& table, const Options& options) {
  fmt::print("\nAbsolute error, mean / max, and intervals that cover the truth\n\n| family |");
  for (const auto& latency : options.latencies) fmt::print(" {} ms |", latency);
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < options.latencies.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const auto& [family, by_latency] : table) {
    fmt::print("| {} |", family);
    for (const Errors& errors : by_latency) {
      fmt::print(" {:.1f} / {:.1f}, {} of {} |", 100 * errors.sum / std::max(errors.count, 1U),
                 100 * errors.worst, errors.covered, errors.count);
    }
    fmt::print("\n");
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app{"Simulates programs with and without speedups and compares with predictions."};
  app.add_option("--family", options.family, "only this family of scenarios");
  app.add_option("--latency", options.latencies, "of the controller: MS, or MS-MS for random ones");
  app.add_option("--period", options.period_ms, "sampling period, ms")->capture_default_str();
  app.add_option("--duration", options.duration_s, "of a simulated run, s");
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--lost", options.lost_share, "share of records lost")->capture_default_str();
  app.add_option("--tick-cost", options.tick_cost_ms, "CPU time of the controller a tick, ms")
      ->capture_default_str();
  app.add_option("--wake", options.wake_ms, "that a wake-up takes, ms")->capture_default_str();
  app.add_option("--sample-cost", options.sample_cost_ms, "ms")->capture_default_str();
  app.add_option("--pause-cost", options.pause_cost_ms, "of a pause to its thread, besides, ms")
      ->capture_default_str();
  app.add_option("--credited-cost", options.credited_cost_ms, "… that the controller counts, ms")
      ->capture_default_str();
  app.add_option("--jobs", options.jobs, "simulations at a time")->capture_default_str();
  app.add_flag("--quick", options.quick, "a quarter of the simulated time");
  CLI11_PARSE(app, argc, argv);

  const std::vector<Scenario> scenarios = scenarios_of(options.family);
  std::vector<Row> rows = rows_of(scenarios, options);
  if (rows.empty()) throw UsageError("no scenario is of family " + options.family);
  for (const auto& latency : options.latencies) (void)latency_of(latency);
  fill_all(rows, options);
  print_errors(print_rows(rows, options), options);
  const bool failed =
      std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.error.empty(); });
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace causalctl::sim

int main(int argc, char** argv) {
  try {
    return causalctl::sim::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sim_table: {}\n", error.what());
    return 2;
  }
}
