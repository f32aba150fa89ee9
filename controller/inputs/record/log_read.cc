// Reads logs of input sizes (docs/inputs-format.md). Pure.
//
// Points are added up by routine, thread, metric and size, because a run may write those of a
// routine several times. INVARIANT: no sum of one column, over all lines of all runs, overflows; a
// line that would make it do so is refused.
#include "controller/inputs/record/log_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/json_fields.h"
#include "controller/base/json_lists.h"
#include "controller/base/printable.h"
#include "controller/inputs/record/log_kind.h"
#include "controller/inputs/record/sums.h"

namespace causalctl::inputs {
namespace {

using namespace json_fields;

constexpr std::uint64_t kLargestSum = INT64_MAX / 2;
// A row: size, calls, four numbers of each cost, the outermost sums, external and thread input.
constexpr std::size_t kCostNumbers = 4;
constexpr std::size_t kRowNumbers = 2 + 2 * kCostUnits * kCostNumbers + kCostUnits + 2;

// Numbers of routine, thread and metric.
using ProfileKey = std::tuple<std::size_t, std::size_t, std::size_t>;

struct Reading {
  Recording run;
  std::map<ProfileKey, std::map<std::uint64_t, SizeRow>> rows;  // by size
};

// Sums over all lines.
struct ColumnSums {
  std::uint64_t calls = 0;
  std::array<std::uint64_t, kCostUnits> cost{};
  std::uint64_t input = 0;
  std::array<std::uint64_t, kCostUnits> total{};
  std::uint64_t lost = 0;
  double squares = 0;
};

void add(std::uint64_t value, std::uint64_t& sum) {
  if (value > kLargestSum - sum) throw BadField{"the values add up to more than a log holds"};
  sum += value;
}

Cost cost_at(const Json& row, std::size_t at_number) {
  Cost cost;
  cost.min = at<std::uint64_t>(row, at_number, "rows");
  cost.max = at<std::uint64_t>(row, at_number + 1, "rows");
  cost.sum = at<std::uint64_t>(row, at_number + 2, "rows");
  cost.sum_of_squares = at<double>(row, at_number + 3, "rows");
  return cost;
}

std::uint64_t rounded_up(std::uint64_t sum, std::uint64_t parts) {
  return sum / parts + (sum % parts != 0 ? 1 : 0);
}

// Checks a cost over `calls` activations.
void check_cost(const Cost& cost, std::uint64_t calls) {
  if (cost.min > cost.sum / calls || cost.max < rounded_up(cost.sum, calls)) {
    throw BadField{"the mean of a cost is not between its smallest and its largest value"};
  }
  if (cost.sum_of_squares < 0) throw BadField{"a sum of squares is negative"};
}

SizeRow parsed_row(const Json& row) {
  if (!row.is_array() || row.size() != kRowNumbers) {
    throw BadField{fmt::format("a row has not {} numbers", kRowNumbers)};
  }
  SizeRow result;
  std::size_t next = 0;
  result.size = at<std::uint64_t>(row, next++, "rows");
  result.calls = at<std::uint64_t>(row, next++, "rows");
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    for (Cost* cost : {&result.cost[unit], &result.own[unit]}) {
      *cost = cost_at(row, next);
      next += kCostNumbers;
    }
  }
  for (std::uint64_t& outermost : result.outermost)
    outermost = at<std::uint64_t>(row, next++, "rows");
  result.external = at<std::uint64_t>(row, next++, "rows");
  result.thread = at<std::uint64_t>(row, next, "rows");
  return result;
}

void check_row(const SizeRow& row, Metric metric) {
  if (row.calls == 0) throw BadField{"a row is of no activation"};
  if (row.size > kLargestSum) throw BadField{"a size is larger than any memory"};
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    check_cost(row.cost[unit], row.calls);
    check_cost(row.own[unit], row.calls);
    if (row.own[unit].sum > row.cost[unit].sum || row.outermost[unit] > row.cost[unit].sum) {
      throw BadField{"a part of a cost is larger than the cost"};
    }
  }
  if (row.external > kLargestSum || row.thread > kLargestSum) {
    throw BadField{"the values add up to more than a log holds"};
  }
  const std::uint64_t input = row.external + row.thread;
  const bool fits = input <= (metric == Metric::rms ? 0 : kLargestSum) &&
                    rounded_up(input, row.calls) <= row.size;
  if (!fits) throw BadField{"external and thread input are larger than the size"};
}

class Reader {
 public:
  Reader()
      : lines_(kLogKind, [this](Json& line, std::string_view, const std::string& type) {
          take_line(line, type);
        }) {}
  void read(const std::string& text, const std::string& name) { lines_.read(text, name); }
  ReadLog take();

 private:
  void take_line(const Json& line, const std::string& type);
  void take_head(const Json& line, const std::string& id);
  static void take_modules(const Json& line, Recording& run);
  static void take_routines(const Json& line, Recording& run);
  static void take_threads(const Json& line, Recording& run);
  void take_points(const Json& line, Reading& reading);
  void add_row(const SizeRow& row, SizeRow& all);
  void take_end(const Json& line, Recording& run);

  std::vector<Reading> readings_;
  std::map<std::string, std::size_t> index_;  // run id → readings_
  ColumnSums sums_;
  JsonLines lines_;
};

void Reader::take_line(const Json& line, const std::string& type) {
  if (std::find(std::begin(kLogTypes), std::end(kLogTypes), type) == std::end(kLogTypes)) {
    return lines_.ignore(type);
  }
  std::string id;
  get(line, "run", id);
  if (type == "run") return take_head(line, id);
  const auto found = index_.find(id);
  if (found == index_.end()) {
    throw BadField{fmt::format("the first line of run \"{}\" is not before it", printable(id))};
  }
  Reading& reading = readings_[found->second];
  if (reading.run.end) throw BadField{"the run has ended in a line before"};
  if (type == "modules") return take_modules(line, reading.run);
  if (type == "routines") return take_routines(line, reading.run);
  if (type == "threads") return take_threads(line, reading.run);
  if (type == "points") return take_points(line, reading);
  take_end(line, reading.run);
}

void Reader::take_head(const Json& line, const std::string& id) {
  std::string kind;
  get(line, "kind", kind);
  if (kind != "inputs") throw BadField{"this run is not a recording of input sizes"};
  lines_.check_version(line, kLogVersion);
  if (!index_.emplace(id, readings_.size()).second) {
    throw BadField{fmt::format("run \"{}\" was read before; name each log once", printable(id))};
  }
  Recording& run = readings_.emplace_back().run;
  run.run = id;
  get(line, "host", run.host);
  get(line, "command", run.command);
  get(line, "started_ns", run.started_ns);
  get(line, "cell_bytes", run.cell_bytes);
  get(line, "aprof_compatible", run.aprof_compatible);
  if (run.cell_bytes == 0) throw BadField{"a cell has no byte"};
}

void Reader::take_modules(const Json& line, Recording& run) {
  check_first(line, run.modules.size());
  for (const Json& each : list_of(line, "modules")) {
    Module& module = run.modules.emplace_back();
    get(each, "path", module.path);
    get(each, "build_id", module.build_id);
  }
}

void Reader::take_routines(const Json& line, Recording& run) {
  check_first(line, run.routines.size());
  for (const Json& each : list_of(line, "routines")) {
    Routine& routine = run.routines.emplace_back();
    routine.module = index(each.at("module"), "module", run.modules.size());
    get(each, "offset", routine.offset);
    get(each, "function", routine.function);
    get(each, "file", routine.file);
    get(each, "line", routine.line);
  }
}

void Reader::take_threads(const Json& line, Recording& run) {
  check_first(line, run.threads.size());
  for (const Json& each : list_of(line, "threads")) {
    Thread& thread = run.threads.emplace_back();
    get(each, "number", thread.number);
    get(each, "name", thread.name);
  }
}

void Reader::take_points(const Json& line, Reading& reading) {
  const std::size_t routine = index(line.at("routine"), "routine", reading.run.routines.size());
  const std::size_t thread = index(line.at("thread"), "thread", reading.run.threads.size());
  std::string name;
  get(line, "metric", name);
  const auto* const metric = std::find(std::begin(kMetricNames), std::end(kMetricNames), name);
  if (metric == std::end(kMetricNames)) {
    throw BadField{fmt::format("\"{}\" is no metric; there are trms and rms", printable(name))};
  }
  const auto number = static_cast<std::size_t>(metric - std::begin(kMetricNames));
  std::map<std::uint64_t, SizeRow>& rows = reading.rows[{routine, thread, number}];
  for (const Json& each : list_of(line, "rows")) {
    const SizeRow row = parsed_row(each);
    check_row(row, static_cast<Metric>(number));
    add_row(row, rows[row.size]);
  }
}

void Reader::add_row(const SizeRow& row, SizeRow& all) {
  add(row.calls, sums_.calls);
  add(row.external, sums_.input);
  add(row.thread, sums_.input);
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    add(row.cost[unit].sum, sums_.cost[unit]);
    sums_.squares += row.cost[unit].sum_of_squares + row.own[unit].sum_of_squares;
  }
  add_up(row, all);
  if (!std::isfinite(sums_.squares)) {
    throw BadField{"the sums of squares add up to more than a log holds"};
  }
}

void Reader::take_end(const Json& line, Recording& run) {
  RunEnd end;
  get(line, "reason", end.reason);
  get(line, "status", end.status);
  get(line, "total_blocks", run.total[static_cast<std::size_t>(CostUnit::blocks)]);
  get(line, "total_instructions", run.total[static_cast<std::size_t>(CostUnit::instructions)]);
  get(line, "events_lost", run.events_lost);
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) add(run.total[unit], sums_.total[unit]);
  add(run.events_lost, sums_.lost);
  run.end = std::move(end);
}

ReadLog Reader::take() {
  ReadLog log;
  for (Reading& reading : readings_) {
    std::map<std::pair<std::size_t, std::size_t>, RoutineProfile> profiles;
    for (auto& [key, rows] : reading.rows) {
      const auto [routine, thread, metric] = key;
      RoutineProfile& profile = profiles[{routine, thread}];
      profile.routine = routine;
      profile.thread = thread;
      for (const auto& [size, row] : rows) profile.rows[metric].push_back(row);
    }
    for (auto& [key, profile] : profiles) reading.run.profiles.push_back(std::move(profile));
    log.runs.push_back(std::move(reading.run));
  }
  log.warnings = std::move(lines_.warnings());
  return log;
}

}  // namespace

ReadLog parse_logs(const std::vector<LogText>& logs) { return read_each<Reader>(logs); }

}  // namespace causalctl::inputs
