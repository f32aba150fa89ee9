#include "controller/inputs/analysis/merged.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "controller/base/error.h"
#include "controller/inputs/record/sums.h"

namespace causalctl::inputs {
namespace {

using Place = std::tuple<std::string, std::string, std::uint64_t>;  // path, build-id, offset

std::vector<SizeRow> rows_of_all(const std::vector<ThreadRows>& threads, std::size_t metric) {
  std::map<std::uint64_t, SizeRow> by_size;
  for (const ThreadRows& thread : threads) {
    for (const SizeRow& row : thread.rows[metric]) add_up(row, by_size[row.size]);
  }
  std::vector<SizeRow> rows;
  for (const auto& [size, row] : by_size) rows.push_back(row);
  return rows;
}

void check_comparable(std::span<const Recording> runs) {
  for (const Recording& run : runs) {
    if (run.cell_bytes != runs.front().cell_bytes) {
      throw Error("the runs count input in cells of different sizes",
                  "report those with the same --cell together");
    }
    if (run.aprof_compatible != runs.front().aprof_compatible) {
      throw Error("only some of the runs count as aprof does (--aprof-compatible)",
                  "report each kind on its own");
    }
  }
}

}  // namespace

std::vector<MergedRoutine> merge_runs(std::span<const Recording> runs) {
  check_comparable(runs);
  std::vector<MergedRoutine> all;
  std::map<Place, std::size_t> known;
  for (const Recording& run : runs) {
    for (const RoutineProfile& profile : run.profiles) {
      const Routine& routine = run.routines[profile.routine];
      const Module& module = run.modules[routine.module];
      const auto [entry, is_new] =
          known.emplace(Place{module.path, module.build_id, routine.offset}, all.size());
      if (is_new) all.push_back({module, routine, {}, {}});
      all[entry->second].threads.push_back({run.run, run.threads[profile.thread], profile.rows});
    }
  }
  for (MergedRoutine& routine : all) {
    for (std::size_t metric = 0; metric < kMetrics; ++metric) {
      routine.rows[metric] = rows_of_all(routine.threads, metric);
    }
  }
  return all;
}

}  // namespace causalctl::inputs
