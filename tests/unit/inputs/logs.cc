#include "tests/unit/inputs/logs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace causalctl::inputs::test {
namespace {

using Json = nlohmann::ordered_json;

void add_value(std::uint64_t value, Cost& cost) {
  cost.min = std::min(cost.min, value);
  cost.max = std::max(cost.max, value);
  cost.sum += value;
  cost.sum_of_squares += static_cast<double>(value) * static_cast<double>(value);
}

SizeRow& row_of(std::vector<SizeRow>& rows, std::uint64_t size) {
  const auto place =
      std::lower_bound(rows.begin(), rows.end(), size,
                       [](const SizeRow& row, std::uint64_t wanted) { return row.size < wanted; });
  if (place != rows.end() && place->size == size) return *place;
  SizeRow row;
  row.size = size;
  return *rows.insert(place, row);
}

RoutineProfile& profile_in(Recording& recording, std::size_t routine, std::size_t thread) {
  for (RoutineProfile& profile : recording.profiles) {
    if (profile.routine == routine && profile.thread == thread) return profile;
  }
  RoutineProfile& profile = recording.profiles.emplace_back();
  profile.routine = routine;
  profile.thread = thread;
  return profile;
}

Json row_json(const SizeRow& row) {
  Json json = {row.size, row.calls};
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    for (const Cost* cost : {&row.cost[unit], &row.own[unit]}) {
      for (const std::uint64_t value : {cost->min, cost->max, cost->sum}) json.push_back(value);
      json.push_back(cost->sum_of_squares);
    }
  }
  for (const std::uint64_t value : row.outermost) json.push_back(value);
  json.push_back(row.external);
  json.push_back(row.thread);
  return json;
}

}  // namespace

Recording empty_recording(const std::string& run) {
  Recording recording;
  recording.run = run;
  recording.host = "h";
  recording.command = {"./program", "1"};
  recording.started_ns = 1'700'000'000'000'000'000;
  recording.modules = {{"/bin/program", "9a"}};
  recording.threads = {{1, "program"}, {2, "worker"}};
  return recording;
}

std::size_t add_routine(Recording& recording, const std::string& function) {
  const std::size_t number = recording.routines.size();
  recording.routines.push_back({0, 16 * number, function, function.empty() ? "" : "/src/a.c", 10});
  return number;
}

void add_call(Recording& recording, std::size_t routine, std::size_t thread, const Call& call) {
  RoutineProfile& profile = profile_in(recording, routine, thread);
  for (const Metric metric : {Metric::trms, Metric::rms}) {
    const bool is_trms = metric == Metric::trms;
    SizeRow& row =
        row_of(profile.rows[static_cast<std::size_t>(metric)], is_trms ? call.trms : call.rms);
    ++row.calls;
    for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
      const std::uint64_t factor = unit == 0 ? 1 : 4;
      add_value(factor * call.blocks, row.cost[unit]);
      add_value(factor * call.own, row.own[unit]);
      if (call.is_outermost) row.outermost[unit] += factor * call.blocks;
    }
    if (!is_trms) continue;
    row.external += call.external;
    row.thread += call.thread;
  }
}

void add_plain(Recording& recording, std::size_t routine, std::uint64_t size,
               std::uint64_t blocks) {
  add_call(recording, routine, 0, {size, size, blocks, blocks, true, 0, 0});
}

void end(Recording& recording, std::uint64_t blocks) {
  recording.total = {blocks, 4 * blocks};
  recording.end = RunEnd{"exited", 0};
}

std::string log_of(const Recording& recording) {
  const std::string& run = recording.run;
  std::string text;
  const auto add = [&](const Json& json) { text += json.dump() + "\n"; };
  add({{"type", "run"},
       {"kind", "inputs"},
       {"version", 1},
       {"run", run},
       {"host", recording.host},
       {"command", recording.command},
       {"started_ns", recording.started_ns},
       {"cell_bytes", recording.cell_bytes},
       {"aprof_compatible", recording.aprof_compatible}});
  Json modules = Json::array();
  for (const Module& each : recording.modules) {
    modules.push_back({{"path", each.path}, {"build_id", each.build_id}});
  }
  add({{"type", "modules"}, {"run", run}, {"first", 0}, {"modules", modules}});
  Json routines = Json::array();
  for (const Routine& each : recording.routines) {
    Json& routine = routines.emplace_back(Json{{"module", each.module}, {"offset", each.offset}});
    if (each.function.empty()) continue;
    routine["function"] = each.function;
    routine["file"] = each.file;
    routine["line"] = each.line;
  }
  add({{"type", "routines"}, {"run", run}, {"first", 0}, {"routines", routines}});
  Json threads = Json::array();
  for (const Thread& each : recording.threads) {
    threads.push_back({{"number", each.number}, {"name", each.name}});
  }
  add({{"type", "threads"}, {"run", run}, {"first", 0}, {"threads", threads}});
  for (const RoutineProfile& profile : recording.profiles) {
    for (const Metric metric : {Metric::trms, Metric::rms}) {
      Json rows = Json::array();
      for (const SizeRow& row : profile.rows[static_cast<std::size_t>(metric)]) {
        rows.push_back(row_json(row));
      }
      add({{"type", "points"},
           {"run", run},
           {"routine", profile.routine},
           {"thread", profile.thread},
           {"metric", metric == Metric::trms ? "trms" : "rms"},
           {"rows", rows}});
    }
  }
  if (!recording.end) return text;
  add({{"type", "end"},
       {"run", run},
       {"reason", recording.end->reason},
       {"status", recording.end->status},
       {"total_blocks", recording.total[0]},
       {"total_instructions", recording.total[1]},
       {"events_lost", recording.events_lost}});
  return text;
}

Recording quadratic_program() {
  Recording recording = empty_recording();
  const std::size_t main = add_routine(recording, "main");
  const std::size_t sort = add_routine(recording, "sort_rows");
  const std::size_t sum = add_routine(recording, "sum");
  const std::size_t get = add_routine(recording, "get");
  std::uint64_t total = 0;
  for (std::uint64_t size = 10; size <= 1000; size += size / 5) {
    for (const auto& [routine, blocks] :
         {std::pair(sort, size * size / 4 + 20), std::pair(sum, 30 * size + 5),
          std::pair(get, std::uint64_t{3})}) {
      add_plain(recording, routine, size, blocks);
      total += blocks;
    }
  }
  add_call(recording, main, 0, {1000, 1000, total + 100, 100, true, 0, 0});
  end(recording, total + 100);
  return recording;
}

}  // namespace causalctl::inputs::test
