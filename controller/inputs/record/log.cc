// Writes the log of input sizes. Points are written as what they have grown by since the last time;
// their least and greatest costs as they are, so that a reader gets the same whether it adds up few
// lines or many.
#include "controller/inputs/record/log.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/json_lines.h"
#include "controller/inputs/record/log_kind.h"

namespace causalctl::inputs {
namespace {

using json_fields::Json;

// A line holds at most as many items, so that a reader that loses one loses little.
constexpr std::size_t kItemsOfLine = 1024;

void append_cost(const Cost& cost, const Cost& before, Json& row) {
  row.push_back(cost.min);
  row.push_back(cost.max);
  row.push_back(cost.sum - before.sum);
  // A difference of rounded sums may come out below what it is.
  row.push_back(std::max(0.0, cost.sum_of_squares - before.sum_of_squares));
}

Json row_since(const SizeRow& row, const SizeRow& before) {
  Json written = Json::array({row.size, row.calls - before.calls});
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    append_cost(row.cost[unit], before.cost[unit], written);
    append_cost(row.own[unit], before.own[unit], written);
  }
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    written.push_back(row.outermost[unit] - before.outermost[unit]);
  }
  written.push_back(row.external - before.external);
  written.push_back(row.thread - before.thread);
  return written;
}

Json object_of(const Module& module) {
  return {{"path", module.path}, {"build_id", module.build_id}};
}

Json object_of(const Routine& routine) {
  Json object = {{"module", routine.module}, {"offset", routine.offset}};
  if (!routine.function.empty()) object["function"] = routine.function;
  if (!routine.file.empty()) object["file"] = routine.file;
  if (routine.line != 0) object["line"] = routine.line;
  return object;
}

Json object_of(const Thread& thread) { return {{"number", thread.number}, {"name", thread.name}}; }

}  // namespace

void check_log(const std::string& path) { LineFile::check(path, kLogKind); }

LogWriter::LogWriter(const std::string& path) : file_(path, kLogKind) {}

Json LogWriter::line_of_type(const char* type) const { return {{"type", type}, {"run", run_}}; }

void LogWriter::append(const Json& line) { file_.append(line_of(line)); }

void LogWriter::begin(const Recording& recording) {
  run_ = recording.run;
  append({{"type", "run"},
          {"kind", "inputs"},
          {"version", kLogVersion},
          {"run", run_},
          {"host", recording.host},
          {"command", recording.command},
          {"started_ns", recording.started_ns},
          {"cell_bytes", recording.cell_bytes},
          {"aprof_compatible", recording.aprof_compatible}});
}

void LogWriter::update(const Recording& recording) {
  append_lists(recording);
  for (const RoutineProfile& profile : recording.profiles) {
    for (std::size_t metric = 0; metric < kMetrics; ++metric) append_points(profile, metric);
  }
}

void LogWriter::end(const Recording& recording) {
  INVARIANT(recording.end);
  update(recording);
  Json line = line_of_type("end");
  line["reason"] = recording.end->reason;
  line["status"] = recording.end->status;
  line["total_blocks"] = recording.total[static_cast<std::size_t>(CostUnit::blocks)];
  line["total_instructions"] = recording.total[static_cast<std::size_t>(CostUnit::instructions)];
  line["events_lost"] = recording.events_lost;
  append(line);
}

void LogWriter::append_lists(const Recording& recording) {
  const auto append_new = [this](const char* name, const auto& items, std::size_t& written) {
    INVARIANT(items.size() >= written);
    while (written < items.size()) {
      Json line = line_of_type(name);
      line["first"] = written;
      Json& list = line[name] = Json::array();
      const std::size_t last = std::min(items.size(), written + kItemsOfLine);
      for (; written < last; ++written) list.push_back(object_of(items[written]));
      append(line);
    }
  };
  append_new("modules", recording.modules, modules_);
  append_new("routines", recording.routines, routines_);
  append_new("threads", recording.threads, threads_);
}

void LogWriter::append_points(const RoutineProfile& profile, std::size_t metric) {
  Json list = Json::array();
  const auto append_list = [&] {
    if (list.empty()) return;
    Json line = line_of_type("points");
    line["routine"] = profile.routine;
    line["thread"] = profile.thread;
    line["metric"] = kMetricNames[metric];
    line["rows"] = std::move(list);
    append(line);
    list = Json::array();
  };
  for (const SizeRow& row : profile.rows[metric]) {
    SizeRow& before = rows_[{profile.routine, profile.thread, metric, row.size}];
    INVARIANT(row.calls >= before.calls);
    if (row.calls == before.calls) continue;
    list.push_back(row_since(row, before));
    before = row;
    if (list.size() == kItemsOfLine) append_list();
  }
  append_list();
}

}  // namespace causalctl::inputs
