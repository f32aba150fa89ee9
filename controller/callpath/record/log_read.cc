// Reads logs of call paths (docs/callpath-format.md). Pure.
//
// The reader tolerates a log that is merely incomplete, or newer in small things. It refuses one
// where guessing would falsify results: the lines of a run build on each other, so that none may be
// missing, and none may name what no line before it has.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/json_fields.h"
#include "controller/base/json_lines.h"
#include "controller/base/json_lists.h"
#include "controller/base/printable.h"
#include "controller/callpath/record/calls_seen.h"
#include "controller/callpath/record/limits.h"
#include "controller/callpath/record/log.h"
#include "controller/callpath/record/log_rows.h"
#include "controller/callpath/record/parts.h"
#include "controller/callpath/record/shortened_paths.h"

namespace causalctl::callpath {
namespace {

using namespace json_fields;

// No sum of values of one metric, over all runs, exceeds it.
constexpr std::uint64_t kLargestSum = INT64_MAX / 2;
constexpr std::uint32_t kDeepest = 1U << 14U;  // several times what is recorded of a stack
constexpr std::size_t kTailKinds = static_cast<std::size_t>(TailKind::unexplained) + 1;

constexpr WarningKind<std::uint64_t> kRepeated{"{} lines were given twice and count once"};
constexpr WarningKind<std::string> kUnknownMetric{
    "metric \"{}\" is not known to this version; it is ignored"};

// What was read of a run so far.
struct Reading {
  std::string head;  // the first line
  std::uint64_t next_line = 0;
  std::vector<std::string> strings{""};
  std::vector<std::uint32_t> depths{0};  // of the nodes
  Parts parts;
};

class Reader {
 public:
  explicit Reader(bool with_parts)
      : with_parts_(with_parts),
        lines_(kLogKind, [this](Json& line, std::string_view text, const std::string& type) {
          take_line(line, text, type);
        }) {}
  void read(const std::string& text, const std::string& name) { lines_.read(text, name); }
  ReadLog take();

 private:
  void take_line(Json& line, std::string_view text, const std::string& type);
  void skip(const Json& line, const std::string& type);
  bool take_head(Json& line, std::string_view text);
  // Returns whether the line is the next one of its run; false if it was read before.
  bool is_next(const Json& line);
  void take_modules(const Json& line, Recording& run);
  void take_strings(const Json& line);
  void take_locations(const Json& line, Recording& run);
  void take_frames(const Json& line, Recording& run);
  void take_nodes(const Json& line, Recording& run);
  void take_tails(const Json& line, Recording& run);
  void take_processes(const Json& line, Recording& run);
  void take_groups(const Json& line, Recording& run);
  void take_starts(const Json& line, Recording& run);
  void take_epochs(const Json& line, Recording& run);
  void take_cells(const Json& line, Recording& run);
  void take_wakers(const Json& line, Recording& run);
  // Where the values of a line's metric go; nothing if it is not known.
  struct Values {
    SliceKey key;
    Slice* slice = nullptr;
    std::uint64_t* sum = nullptr;
  };
  std::vector<std::optional<Values>> metrics_of(const Json& line, SliceKey key, Recording& run);

  bool with_parts_;
  std::vector<Recording> runs_;
  std::vector<Reading> readings_;              // as runs_
  std::map<std::string, std::size_t> index_;   // run id → runs_
  std::size_t now_ = 0;                        // index of the line's run
  std::map<std::string, std::uint64_t> sums_;  // by metric, of all values that were read
  std::uint64_t repeated_ = 0;
  FieldReader fields_;
  JsonLines lines_;
};

bool Reader::is_next(const Json& line) {
  std::uint64_t number = 0;
  get(line, "n", number);
  std::uint64_t& next = readings_[now_].next_line;
  if (number > next) {
    throw BadField{fmt::format("line {} of the run follows; lines {} to {} are missing", number,
                               next, number - 1)};
  }
  if (number < next) {
    ++repeated_;
    return false;
  }
  ++next;
  return true;
}

// The lines of a newer version are among those that are counted.
void Reader::skip(const Json& line, const std::string& type) {
  lines_.ignore(type);
  std::string id;
  const bool has_run = get(line, "run", id) && index_.contains(id);
  if (!has_run || !line.contains("n")) return;
  now_ = index_.at(id);
  is_next(line);
}

bool Reader::take_head(Json& line, std::string_view text) {
  std::string kind;
  get(line, "kind", kind);
  if (kind != "callpath") throw BadField{"this run is not a recording of call paths"};
  lines_.check_version(line, kLogVersion);
  config_to_text(line);
  std::string& head = readings_[now_].head;
  if (!head.empty() && head != text) throw BadField{"another run has this id"};
  head = text;
  return is_next(line);
}

void Reader::take_line(Json& line, std::string_view text, const std::string& type) {
  if (std::find(std::begin(kLogTypes), std::end(kLogTypes), type) == std::end(kLogTypes)) {
    return skip(line, type);
  }
  std::string id;
  get(line, "run", id);
  const auto [entry, is_new] = index_.emplace(id, runs_.size());
  if (is_new) {
    runs_.emplace_back().id = id;
    readings_.emplace_back();
  }
  now_ = entry->second;
  if (type == "run") {
    if (take_head(line, text)) fields_.read(line, runs_[now_], log_rows::first());
    if (runs_[now_].events.size() > kMostEvents) throw BadField{"there are too many events"};
    return;
  }
  if (!is_next(line)) return;
  Recording& run = runs_[now_];
  if (type == "modules") return take_modules(line, run);
  if (type == "strings") return take_strings(line);
  if (type == "locations") return take_locations(line, run);
  if (type == "frames") return take_frames(line, run);
  if (type == "nodes") return take_nodes(line, run);
  if (type == "tails") return take_tails(line, run);
  if (type == "groups") return take_groups(line, run);
  if (type == "starts") return take_starts(line, run);
  if (type == "epochs") return take_epochs(line, run);
  if (type == "cells") return take_cells(line, run);
  if (type == "wakers") return take_wakers(line, run);
  if (type == "lives") return;
  if (type == "losses") {
    fields_.read(line, run, log_rows::so_far());
  } else {
    fields_.read(line, run, log_rows::last());
    run.ended = true;
  }
  if (with_parts_) readings_[now_].parts.until(run.wall_ns);
}

void Reader::take_modules(const Json& line, Recording& run) {
  check_first(line, run.modules.size());
  for (const Json& each : items(line, "modules")) {
    fields_.read(each, run.modules.emplace_back(), log_rows::of_module());
  }
}

void Reader::take_strings(const Json& line) {
  check_first(line, readings_[now_].strings.size());
  for (const Json& each : list_of(line, "strings")) {
    convert(each, "strings", readings_[now_].strings.emplace_back());
  }
}

void Reader::take_locations(const Json& line, Recording& run) {
  check_first(line, run.locations.size());
  for (const Json& each : list_of(line, "locations")) {
    if (!each.is_array() || each.size() != 3) throw BadField{"a location has not three numbers"};
    Location& location = run.locations.emplace_back();
    location.module = static_cast<std::uint32_t>(index(each[0], "module", run.modules.size()));
    location.offset = at<Address>(each, 1, "offset");
    location.is_call = at<int>(each, 2, "call") != 0;
  }
}

void Reader::take_frames(const Json& line, Recording& run) {
  const std::vector<std::string>& strings = readings_[now_].strings;
  const bool has_homes = line.contains("homes");
  for (const Json& each : list_of(line, "frames")) {
    if (!each.is_array() || each.size() % 3 != 1) {
      throw BadField{"frames are not a location and three numbers each"};
    }
    std::vector<SourceFrame>& frames =
        run.locations[index(each[0], "location", run.locations.size())].frames;
    frames.clear();
    for (std::size_t i = 1; i < each.size(); i += 3) {
      frames.push_back({strings[index(each[i], "string", strings.size())],
                        strings[index(each[i + 1], "string", strings.size())],
                        at<int>(each, i + 2, "line")});
      if (has_homes) frames.back().home = frames.back().file;
    }
  }
  if (!has_homes) return;
  for (const Json& each : list_of(line, "homes")) {
    if (!each.is_array() || each.size() != 3) throw BadField{"a home has not three numbers"};
    std::vector<SourceFrame>& frames =
        run.locations[index(each[0], "location", run.locations.size())].frames;
    frames[index(each[1], "frame", frames.size())].home =
        strings[index(each[2], "string", strings.size())];
  }
}

void Reader::take_nodes(const Json& line, Recording& run) {
  check_first(line, run.tree.size());
  const Json& list = list_of(line, "nodes");
  if (list.size() % 2 != 0) throw BadField{"nodes have not two numbers each"};
  for (std::size_t i = 0; i < list.size(); i += 2) {
    const std::size_t node = run.tree.size();
    const auto above = at<std::size_t>(list, i, "nodes");
    if (above < 1 || above > node) {
      throw BadField{fmt::format("node {} has no parent before it", node)};
    }
    const std::size_t location = index(list[i + 1], "location", run.locations.size());
    const NodeId id =
        run.tree.child(static_cast<NodeId>(node - above), static_cast<LocationId>(location));
    if (id != node) throw BadField{fmt::format("node {} is there twice", node)};
    std::vector<std::uint32_t>& depths = readings_[now_].depths;
    depths.push_back(depths[node - above] + 1);
    if (depths.back() > kDeepest) throw BadField{"a path is deeper than any that is recorded"};
  }
}

void Reader::take_tails(const Json& line, Recording& run) {
  const auto location = [&](const Json& value) {
    return static_cast<LocationId>(index(value, "location", run.locations.size()));
  };
  for (const Json& each : list_of(line, "tails")) {
    if (!each.is_array() || each.size() < 3) throw BadField{"a tail has not three numbers"};
    Tail& tail = run.tails.emplace_back();
    tail.call = location(each[0]);
    tail.callee = location(each[1]);
    tail.kind = static_cast<TailKind>(index(each[2], "kind of tail", kTailKinds));
    for (std::size_t i = 3; i < each.size(); ++i) tail.jumps.push_back(location(each[i]));
    if (tail.jumps.empty() == (tail.kind == TailKind::found)) {
      throw BadField{"the jumps of a tail do not fit its kind"};
    }
  }
}

void Reader::take_processes(const Json& line, Recording& run) {
  if (!line.contains("processes")) return;
  check_first(line, run.processes.size(), "first_process");
  for (const Json& each : items(line, "processes")) {
    Process& process = run.processes.emplace_back();
    fields_.read(each, process);
    if (process.pid < 0) throw BadField{"a process has a negative number"};
  }
}

void Reader::take_groups(const Json& line, Recording& run) {
  take_processes(line, run);
  check_first(line, run.groups.size());
  const Json& names = list_of(line, "groups");
  const bool has_processes = line.contains("process_of");
  if (has_processes && list_of(line, "process_of").size() != names.size()) {
    throw BadField{"not each group has its process"};
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    Group& group = run.groups.emplace_back();
    convert(names[i], "groups", group.name);
    if (!has_processes || line["process_of"][i].is_null()) continue;
    group.process =
        static_cast<std::uint32_t>(index(line["process_of"][i], "process", run.processes.size()));
  }
}

void Reader::take_starts(const Json& line, Recording& run) {
  for (const Json& each : list_of(line, "starts")) {
    if (!each.is_array() || each.size() != 2) throw BadField{"a start has not two numbers"};
    run.groups[index(each[0], "group", run.groups.size())].start =
        static_cast<LocationId>(index(each[1], "location", run.locations.size()));
  }
}

void Reader::take_epochs(const Json& line, Recording& run) {
  check_first(line, run.epochs.size());
  for (const Json& each : items(line, "epochs")) {
    fields_.read(each, run.epochs.emplace_back(), log_rows::of_epoch());
  }
}

std::vector<std::optional<Reader::Values>> Reader::metrics_of(const Json& line, SliceKey key,
                                                              Recording& run) {
  std::vector<std::optional<Values>> metrics;
  for (const Json& each : list_of(line, "metrics")) {
    std::string name;
    convert(each, "metrics", name);
    auto metric = value_of<Metric>(name);
    bool known = name_of(metric) == name;
    for (std::size_t i = 0; i < run.events.size() && !known; ++i) {
      known = run.events[i].name == name;
      if (known) metric = metric_of_event(i);
    }
    key.metric = metric;
    metrics.push_back(known ? std::optional(Values{key, &run.slices[key], &sums_[name]})
                            : std::nullopt);
    if (known) continue;
    Warning warning(kUnknownMetric, name);
    auto& all = lines_.warnings();
    if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(std::move(warning));
  }
  return metrics;
}

void Reader::take_cells(const Json& line, Recording& run) {
  SliceKey key;
  key.epoch = static_cast<std::uint32_t>(index(line.at("epoch"), "epoch", run.epochs.size()));
  key.group = static_cast<std::uint32_t>(index(line.at("group"), "group", run.groups.size()));
  const std::vector<std::optional<Values>> metrics = metrics_of(line, key, run);
  const Json& list = list_of(line, "cells");
  const std::size_t width = 1 + metrics.size();
  if (list.size() % width != 0) {
    throw BadField{fmt::format("cells have not {} numbers each", width)};
  }
  std::uint64_t node = kRoot;
  for (std::size_t row = 0; row < list.size(); row += width) {
    const auto step = at<std::uint64_t>(list, row, "cells");
    if (step >= run.tree.size() - node) throw BadField{"a cell is of a node that was not named"};
    node += step;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const auto value = at<std::uint64_t>(list, row + 1 + i, "cells");
      if (!metrics[i] || value == 0) continue;
      std::uint64_t& sum = *metrics[i]->sum;
      if (value > kLargestSum - sum) throw BadField{"the values add up to more than a log holds"};
      sum += value;
      (*metrics[i]->slice)[static_cast<NodeId>(node)] += value;
      if (with_parts_) {
        readings_[now_].parts.add(metrics[i]->key, static_cast<NodeId>(node), value);
      }
    }
  }
}

void Reader::take_wakers(const Json& line, Recording& run) {
  const auto group =
      static_cast<std::uint32_t>(index(line.at("group"), "group", run.groups.size()));
  const Json& list = list_of(line, "cells");
  if (list.size() % 3 != 0) throw BadField{"cells have not three numbers each"};
  std::uint64_t& sum = sums_["wakers"];
  for (std::size_t i = 0; i < list.size(); i += 3) {
    const auto waiter = static_cast<NodeId>(index(list[i], "node", run.tree.size()));
    const auto waker = static_cast<NodeId>(index(list[i + 1], "node", run.tree.size()));
    const auto value = at<std::uint64_t>(list, i + 2, "cells");
    if (value > kLargestSum - sum) throw BadField{"the values add up to more than a log holds"};
    sum += value;
    run.wakers[group][{waiter, waker}] += value;
  }
}

ReadLog Reader::take() {
  if (repeated_ > 0) lines_.warnings().emplace_back(kRepeated, repeated_);
  std::uint64_t calls_left = kLargestSum - sums_["new_max"];
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (with_parts_) runs_[i].parts = readings_[i].parts.take();
    shorten_paths(runs_[i]);
    if (!sum_calls(runs_[i], calls_left)) {
      throw Error(fmt::format("the calls of run {} add up to more than a log holds",
                              printable(runs_[i].id)),
                  "the log is damaged");
    }
  }
  return {std::move(runs_), std::move(lines_.warnings())};
}

}  // namespace

ReadLog parse_logs(const std::vector<LogText>& logs, bool with_parts) {
  Reader reader(with_parts);
  for (const LogText& log : logs) reader.read(log.text, log.name);
  return reader.take();
}

}  // namespace causalctl::callpath
