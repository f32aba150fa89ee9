// Makes a recording of the Valgrind tool's results.
//
// The tool has rows for pairs of sizes, rms and trms. The rows of one metric are sums of these.
// Only routines that have returned at least once are in the recording.
#include "controller/inputs/run/collect.h"

#include <algorithm>
#include <exception>

#include "controller/base/base_name.h"
#include "controller/base/log.h"
#include "controller/inputs/record/sums.h"
#include "unwind/modules/module_file.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::inputs {
namespace {

// The function that contains the address is the last frame; those before it are inlined.
void set_name(const std::vector<unwind::Frame>& frames, Routine& routine) {
  if (frames.empty()) return;
  const unwind::Frame& frame = frames.back();
  routine.function = frame.function;
  routine.file = frame.home;
  if (frame.line > 0 && frame.file == frame.home) {
    routine.line = static_cast<std::uint32_t>(frame.line);
  }
}

}  // namespace

void Collector::take(const Result& result) {
  std::set<Number> used;
  for (const ResultRow& each : result.rows) used.insert(each.routine);
  take_modules(result);
  take_routines(result, used);
  take_threads(result);
  take_rows(result);
  recording_.total = result.total;
  recording_.events_lost = result.lost;
}

void Collector::take_modules(const Result& result) {
  for (std::size_t i = recording_.modules.size(); i < result.modules.size(); ++i) {
    recording_.modules.push_back({result.modules[i], {}});
    if (!result.modules[i].starts_with('/')) continue;
    recording_.modules.back().build_id = unwind::open_module_file(result.modules[i]).build_id;
  }
}

void Collector::take_routines(const Result& result, const std::set<Number>& used) {
  std::map<std::size_t, NewRoutines> fresh;
  for (const ResultRoutine& each : result.routines) {
    if (!used.contains(each.number)) continue;
    const std::size_t index = recording_.routines.size();
    if (!routines_.emplace(each.number, index).second) continue;
    Routine& routine = recording_.routines.emplace_back();
    routine.module = each.module;
    routine.offset = each.offset;
    if (result.modules[each.module].starts_with('/')) {
      fresh[each.module].emplace_back(index, each.offset);
    }
  }
  for (const auto& [module, routines] : fresh) name(module, routines);
}

void Collector::name(std::size_t module, const NewRoutines& routines) {
  const std::string& path = recording_.modules[module].path;
  try {
    const unwind::ModuleFile file = unwind::open_module_file(path);
    if (!file.fd) return;
    for (const auto& [index, file_offset] : routines) {
      if (const auto address = file.link_address(file_offset)) {
        recording_.routines[index].offset = *address;
      }
    }
    unwind::Symbolizer symbolizer(file);
    for (const auto& [index, file_offset] : routines) {
      Routine& routine = recording_.routines[index];
      if (const auto place = symbolizer.find_offset("", routine.offset)) {
        set_name(symbolizer.frames(place->address), routine);
      }
    }
  } catch (const std::exception& error) {
    log::verbose("{}: {}", path, error.what());
  }
}

void Collector::take_threads(const Result& result) {
  for (const Number number : result.threads) {
    if (threads_.emplace(number, recording_.threads.size()).second) {
      // The first one is called as its program is.
      const bool is_first = recording_.threads.empty();
      recording_.threads.push_back(
          {number, is_first ? std::string(base_name(recording_.command.front())) : ""});
    }
  }
}

void Collector::take_rows(const Result& result) {
  // By routine, thread, metric and size.
  std::map<std::pair<std::size_t, std::size_t>, std::array<std::map<std::uint64_t, SizeRow>, 2>>
      rows;
  constexpr auto kTrms = static_cast<std::size_t>(Metric::trms);
  constexpr auto kRms = static_cast<std::size_t>(Metric::rms);
  for (const ResultRow& each : result.rows) {
    auto& of = rows[{routines_.at(each.routine), threads_.at(each.thread)}];
    add_up(each.row, of[kTrms][each.trms]);
    SizeRow without_input = each.row;
    without_input.external = without_input.thread = 0;
    add_up(without_input, of[kRms][each.rms]);
  }
  recording_.profiles.clear();
  for (auto& [key, of] : rows) {
    RoutineProfile& profile = recording_.profiles.emplace_back();
    profile.routine = key.first;
    profile.thread = key.second;
    for (std::size_t metric = 0; metric < kMetrics; ++metric) {
      for (auto& [size, row] : of[metric]) {
        row.size = size;
        profile.rows[metric].push_back(row);
      }
    }
  }
}

}  // namespace causalctl::inputs
