// Writes the log of call paths. Values are written as what they have grown by since the last time,
// so that a line is as short as what happened meanwhile. Numbers of nodes are written as
// differences, for the same reason. "n" numbers the lines of a run, by which a reader finds those
// that are missing, and those that it was given twice.
#include "controller/callpath/record/log.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/json_lines.h"
#include "controller/callpath/record/log_rows.h"

namespace causalctl::callpath {
namespace {

using json_fields::Json;

// A line holds at most as many items, so that a reader that loses one loses little.
constexpr std::size_t kItemsPerLine = 4096;
constexpr std::size_t kFewRows = 32;  // less is shorter with zeros than in a line of its own

// Calls `write(first, last)` for each part of begin … end that fits into a line.
template <class Write>
void in_parts(std::size_t begin, std::size_t end, const Write& write) {
  for (std::size_t first = begin; first < end; first += kItemsPerLine) {
    write(first, std::min(end, first + kItemsPerLine));
  }
}

}  // namespace

// Adds what a slice has grown by to `all`, and notes in `written` that it is.
void LogWriter::add_growth(const Slice& slice, std::uint32_t metric, Slice& written,
                           std::vector<Growth>& all) {
  for (const auto& [node, value] : slice) {
    if (value == 0) continue;
    std::uint64_t& before = written[node];
    if (value == before) continue;
    INVARIANT(value > before);
    all.push_back({node, metric, value - std::exchange(before, value)});
  }
}

void check_log(const std::string& path) { LineFile::check(path, kLogKind); }

LogWriter::LogWriter(const std::string& path) : file_(path, kLogKind) {}

json_fields::Json LogWriter::line_of_type(const char* type) const {
  return {{"type", type}, {"run", run_}, {"n", next_line_}};
}

void LogWriter::append(const Json& line) {
  file_.append(line_of(line));
  ++next_line_;
}

void LogWriter::begin(const Recording& recording) {
  run_ = recording.id;
  strings_ = {{"", 0}};
  Json line = {{"type", "run"}, {"kind", "callpath"}, {"version", kLogVersion}};
  json_fields::put(line, recording, log_rows::first());
  json_fields::config_to_object(line);
  line["n"] = next_line_;
  append(line);
}

void LogWriter::update(const Recording& recording) {
  if (failed()) return;
  append_modules(recording);
  append_locations(recording);
  append_frames(recording);
  append_nodes(recording);
  append_tails(recording);
  append_groups(recording);
  append_starts_and_epochs(recording);
  append_cells(recording);
  append_wakers(recording);
  append_losses(recording);
}

void LogWriter::end(const Recording& recording) {
  update(recording);
  Json line = line_of_type("end");
  json_fields::put(line, recording, log_rows::last());
  append(line);
}

void LogWriter::append_modules(const Recording& recording) {
  in_parts(modules_, recording.modules.size(), [&](std::size_t first, std::size_t last) {
    Json line = line_of_type("modules");
    line["first"] = first;
    for (std::size_t i = first; i < last; ++i) {
      json_fields::put(line["modules"].emplace_back(), recording.modules[i], log_rows::of_module());
    }
    append(line);
    modules_ = last;
  });
}

void LogWriter::append_locations(const Recording& recording) {
  in_parts(locations_, recording.locations.size(), [&](std::size_t first, std::size_t last) {
    Json line = line_of_type("locations");
    line["first"] = first;
    Json& list = line["locations"] = Json::array();
    for (std::size_t i = first; i < last; ++i) {
      const Location& each = recording.locations[i];
      list.push_back({each.module, each.offset, each.is_call ? 1 : 0});
    }
    append(line);
    locations_ = last;
  });
}

// Returns the number of a string, which is added to `fresh` if it is new.
std::size_t LogWriter::number_of(const std::string& text, std::vector<std::string>& fresh) {
  const auto [entry, is_new] = strings_.emplace(text, strings_.size());
  if (is_new) fresh.push_back(text);
  return entry->second;
}

void LogWriter::append_frames(const Recording& recording) {
  has_frames_.resize(recording.locations.size());
  std::vector<std::size_t> fresh;
  for (std::size_t i = 0; i < has_frames_.size(); ++i) {
    if (!has_frames_[i] && !recording.locations[i].frames.empty()) fresh.push_back(i);
  }
  in_parts(0, fresh.size(), [&](std::size_t first, std::size_t last) {
    const std::size_t first_string = strings_.size();
    std::vector<std::string> strings;
    Json list = Json::array();
    Json homes = Json::array();
    for (std::size_t i = first; i < last; ++i) {
      Json& row = list.emplace_back(Json::array({fresh[i]}));
      const std::vector<SourceFrame>& frames = recording.locations[fresh[i]].frames;
      for (std::size_t at = 0; at < frames.size(); ++at) {
        const SourceFrame& frame = frames[at];
        row.push_back(number_of(frame.function, strings));
        row.push_back(number_of(frame.file, strings));
        row.push_back(frame.line);
        if (frame.home == frame.file) continue;
        homes.push_back({fresh[i], at, number_of(frame.home, strings)});
      }
      has_frames_[fresh[i]] = true;
    }
    if (!strings.empty()) {
      Json line = line_of_type("strings");
      line["first"] = first_string;
      line["strings"] = std::move(strings);
      append(line);
    }
    Json line = line_of_type("frames");
    line["frames"] = std::move(list);
    line["homes"] = std::move(homes);
    append(line);
  });
}

void LogWriter::append_nodes(const Recording& recording) {
  nodes_ = std::max<std::size_t>(nodes_, 1);  // the root is always there
  in_parts(nodes_, recording.tree.size(), [&](std::size_t first, std::size_t last) {
    Json line = line_of_type("nodes");
    line["first"] = first;
    Json& list = line["nodes"] = Json::array();
    for (std::size_t i = first; i < last; ++i) {
      const CallTree::Node& node = recording.tree.node(static_cast<NodeId>(i));
      list.push_back(i - node.parent);
      list.push_back(node.location);
    }
    append(line);
    nodes_ = last;
  });
}

void LogWriter::append_tails(const Recording& recording) {
  in_parts(tails_, recording.tails.size(), [&](std::size_t first, std::size_t last) {
    Json line = line_of_type("tails");
    Json& list = line["tails"] = Json::array();
    for (std::size_t i = first; i < last; ++i) {
      const Tail& tail = recording.tails[i];
      Json& row = list.emplace_back(
          Json::array({tail.call, tail.callee, static_cast<unsigned>(tail.kind)}));
      for (const LocationId jump : tail.jumps) row.push_back(jump);
    }
    append(line);
    tails_ = last;
  });
}

// Processes stand in the lines of groups, because a version that does not know them reads these.
void LogWriter::append_groups(const Recording& recording) {
  in_parts(processes_, recording.processes.size(), [&](std::size_t first, std::size_t last) {
    Json line = line_of_type("groups");
    line["first"] = groups_;
    line["groups"] = Json::array();
    line["first_process"] = first;
    for (std::size_t i = first; i < last; ++i) {
      json_fields::put(line["processes"].emplace_back(), recording.processes[i], Process::fields());
    }
    append(line);
    processes_ = last;
  });
  in_parts(groups_, recording.groups.size(), [&](std::size_t first, std::size_t last) {
    Json line = line_of_type("groups");
    line["first"] = first;
    for (std::size_t i = first; i < last; ++i) {
      const Group& group = recording.groups[i];
      line["groups"].push_back(group.name);
      if (processes_ == 0) continue;
      line["process_of"].push_back(group.process ? Json(*group.process) : Json());
    }
    append(line);
    groups_ = last;
  });
}

void LogWriter::append_starts_and_epochs(const Recording& recording) {
  Json starts = Json::array();
  for (; starts_ < recording.groups.size(); ++starts_) {
    const auto& start = recording.groups[starts_].start;
    if (start) starts.push_back({starts_, *start});
  }
  if (!starts.empty()) {
    Json line = line_of_type("starts");
    line["starts"] = std::move(starts);
    append(line);
  }
  in_parts(epochs_, recording.epochs.size(), [&](std::size_t first, std::size_t last) {
    Json line = line_of_type("epochs");
    line["first"] = first;
    for (std::size_t i = first; i < last; ++i) {
      json_fields::put(line["epochs"].emplace_back(), recording.epochs[i], log_rows::of_epoch());
    }
    append(line);
    epochs_ = last;
  });
}

void LogWriter::append_cells(const Recording& recording) {
  auto slice = recording.slices.lower_bound({first_growing_, 0, Metric::samples});
  while (slice != recording.slices.end()) {
    const SliceKey key = slice->first;
    std::vector<std::string_view> metrics;
    std::vector<Growth> growth;
    for (; slice != recording.slices.end() && slice->first.epoch == key.epoch &&
           slice->first.group == key.group;
         ++slice) {
      const std::size_t before = growth.size();
      const auto metric = static_cast<std::uint32_t>(metrics.size());
      const SliceKey& key_of = slice->first;
      add_growth(slice->second, metric, written_[key_of], growth);
      if (growth.size() > before) metrics.push_back(recording.name_of_metric(key_of.metric));
    }
    std::sort(growth.begin(), growth.end(), [](const Growth& a, const Growth& b) {
      return std::pair(a.node, a.metric) < std::pair(b.node, b.metric);
    });
    append_rows(key, metrics, growth);
  }
  // Values of the epochs before the last one do not grow any more.
  if (epochs_ > 0) first_growing_ = static_cast<std::uint32_t>(epochs_ - 1);
  written_.erase(written_.begin(), written_.lower_bound({first_growing_, 0, Metric::samples}));
}

// Nodes of which the same metrics have grown are in lines of their own, without the other metrics,
// if there are many. REQUIRES: `growth` is sorted by node.
void LogWriter::append_rows(const SliceKey& key, const std::vector<std::string_view>& metrics,
                            const std::vector<Growth>& growth) {
  std::map<std::uint64_t, std::vector<std::span<const Growth>>> rows;  // by set of metrics
  const std::span<const Growth> all(growth);
  for (std::size_t first = 0, next = 0; next < all.size(); first = next) {
    std::uint64_t grown = 0;
    for (; next < all.size() && all[next].node == all[first].node; ++next) {
      grown |= std::uint64_t{1} << all[next].metric;
    }
    rows[grown].push_back(all.subspan(first, next - first));
  }
  std::uint64_t others = 0;
  for (const auto& [grown, list] : rows) others |= list.size() < kFewRows ? grown : 0;
  std::map<std::uint64_t, std::vector<std::span<const Growth>>> lines;
  for (auto& [grown, list] : rows) {
    auto& into = lines[list.size() < kFewRows ? others : grown];
    into.insert(into.end(), list.begin(), list.end());
  }
  for (auto& line : lines) {
    const std::uint64_t grown = line.first;
    auto& list = line.second;
    std::sort(list.begin(), list.end(),
              [](const auto& a, const auto& b) { return a.front().node < b.front().node; });
    in_parts(0, list.size(), [&](std::size_t first, std::size_t last) {
      append_cells_line(key, metrics, grown, std::span(list).subspan(first, last - first));
    });
  }
}

// Each row has a node and the growth of each of the metrics whose bit is set.
void LogWriter::append_cells_line(const SliceKey& key, const std::vector<std::string_view>& metrics,
                                  std::uint64_t grown,
                                  std::span<const std::span<const Growth>> rows) {
  Json line = line_of_type("cells");
  line["epoch"] = key.epoch;
  line["group"] = key.group;
  std::vector<std::uint32_t> shown;
  for (std::uint32_t metric = 0; metric < metrics.size(); ++metric) {
    if ((grown >> metric & 1U) == 0) continue;
    shown.push_back(metric);
    line["metrics"].push_back(metrics[metric]);
  }
  Json& list = line["cells"] = Json::array();
  NodeId before = kRoot;
  for (const std::span<const Growth> row : rows) {
    list.push_back(row.front().node - before);
    before = row.front().node;
    auto value = row.begin();  // sorted by metric
    for (const std::uint32_t metric : shown) {
      const bool has_grown = value != row.end() && value->metric == metric;
      list.push_back(has_grown ? value->value : 0);
      if (has_grown) ++value;
    }
  }
  append(line);
}

void LogWriter::append_wakers(const Recording& recording) {
  for (const auto& [group, sums] : recording.wakers) {
    auto& written = wakers_[group];
    Json list = Json::array();
    for (const auto& [pair, value] : sums) {
      std::uint64_t& before = written[pair];
      if (value == before) continue;
      list.push_back(pair.first);
      list.push_back(pair.second);
      list.push_back(value - std::exchange(before, value));
    }
    if (list.empty()) continue;
    Json line = line_of_type("wakers");
    line["group"] = group;
    line["cells"] = std::move(list);
    append(line);
  }
}

void LogWriter::append_losses(const Recording& recording) {
  Json fields;
  json_fields::put(fields, recording, log_rows::so_far());
  if (std::string text = fields.dump(); text != losses_) {
    Json line = line_of_type("losses");
    line.update(fields);
    append(line);
    losses_ = std::move(text);
  }
}

}  // namespace causalctl::callpath
