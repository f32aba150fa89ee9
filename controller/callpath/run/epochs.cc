#include "controller/callpath/run/epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "config/text.h"
#include "controller/base/base_name.h"
#include "controller/base/procfs.h"
#include "unwind/modules/mapped_file.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::callpath {
namespace {

std::set<std::string> libraries_of(Pid target) {
  std::set<std::string> paths;
  const auto maps = procfs::maps(target);
  if (!maps) return paths;
  for (const procfs::Map& map : *maps) {
    if (map.executable && map.inode != 0) paths.insert(unwind::file_path(map));
  }
  return paths;
}

}  // namespace

Epochs::Epochs(EpochSettings settings, Recorder& recorder, Recording& recording)
    : settings_(std::move(settings)), recorder_(recorder), recording_(recording) {}

void Epochs::arm(Pid target, perf::Session& session) {
  target_ = target;
  if (settings_.points.empty()) return;
  unwind::Symbolizer symbolizer(target);
  std::vector<progress::Point> points;
  for (const std::string& spec : settings_.points) {
    points.push_back(progress::resolve(spec, target, symbolizer));
    names_.push_back(points.back().name);
  }
  progress::arm(points, target, config::CountBy::automatic, session);
}

void Epochs::begin(Nanoseconds time_ns, const std::string& reason) {
  if (recording_.epochs.size() >= kMost) {
    too_many_ = true;
    return;
  }
  // Records of one thread may come late: the next epoch does not begin before the last one.
  const Nanoseconds start_ns = std::max(time_ns - begin_ns_, recording_.epochs.back().start_ns);
  recorder_.begin_epoch(start_ns, reason, time_ns);
}

void Epochs::take(const perf::Event& event) {
  if (const auto* exec = std::get_if<perf::ExecEvent>(&event)) {
    begin(exec->time_ns, "exec of another program");
    mapped_.reset();
    burst_begin_ns_ = burst_end_ns_ = exec->time_ns;  // it loads its libraries
  } else if (const auto* map = std::get_if<perf::MapEvent>(&event)) {
    if (settings_.libraries) take_map(*map);
  } else if (const auto* visit = std::get_if<perf::VisitEvent>(&event)) {
    take_visit(*visit);
  }
}

void Epochs::take_map(const perf::MapEvent& map) {
  if (map.inode == 0 || !map.path.starts_with('/')) return;
  if (mapped_) mapped_->insert(map.path);
  const bool goes_on = burst_begin_ns_ && map.time_ns - burst_end_ns_ < kBurst &&
                       map.time_ns - *burst_begin_ns_ < kLongestBurst;
  burst_end_ns_ = map.time_ns;
  if (goes_on) return;
  burst_begin_ns_ = map.time_ns;
  begin(map.time_ns, fmt::format("dlopen of {}", base_name(map.path)));
}

void Epochs::take_visit(const perf::VisitEvent& visit) {
  if (visit.tag >= names_.size()) return;
  if (last_visit_ns_ && visit.time_ns - *last_visit_ns_ < kShortest) {
    ++visits_too_soon_;
    return;
  }
  last_visit_ns_ = visit.time_ns;
  begin(visit.time_ns, fmt::format("visit of {}", names_[visit.tag]));
}

void Epochs::at_time(Nanoseconds now_ns, Nanoseconds settled_ns) {
  if (settings_.every_ns && settled_ns - begin_ns_ >= next_every_ns_ + *settings_.every_ns) {
    next_every_ns_ += *settings_.every_ns;
    begin(begin_ns_ + next_every_ns_,
          fmt::format("every {}", config::duration_text(*settings_.every_ns)));
  }
  if (!settings_.libraries || now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookEvery;
  look(libraries_of(target_), settled_ns);
}

void Epochs::look(const std::set<std::string>& mapped, Nanoseconds settled_ns) {
  if (mapped.empty()) return;  // the target is gone
  std::string first;
  std::size_t gone = 0;
  for (const std::string& path : mapped_.value_or(std::set<std::string>())) {
    if (mapped.contains(path)) continue;
    if (gone++ == 0) first = base_name(path);
  }
  if (gone > 0) {
    begin(settled_ns, gone == 1 ? fmt::format("dlclose of {}", first)
                                : fmt::format("dlclose of {} and {} more", first, gone - 1));
  }
  mapped_ = mapped;
}

void Epochs::finish() {
  if (visits_too_soon_ > 0) {
    recording_.warnings.push_back(
        fmt::format("epochs: {} visits began none, since one had begun less than {} before",
                    visits_too_soon_, config::duration_text(kShortest)));
  }
  if (too_many_) {
    recording_.warnings.push_back(fmt::format(
        "epochs: there are {}, the most that a recording has; the last one lasts to the end",
        kMost));
  }
}

}  // namespace causalctl::callpath
