// The format of callgrind, for callgrind_annotate and KCachegrind: costs by function and line, and
// for each call the cost of what was called, and how often it was made, at least. Of an edge of
// which no call is certain to be another one, it says 1. Calls that were all counted are exact.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "controller/base/printable.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {
namespace {

using Costs = std::vector<std::uint64_t>;

// A line of a file. A function can have lines of several files (#include, #line).
using Place = std::pair<std::string_view, int>;
Place place_of(const Frame& frame, const std::string& home) {
  return {frame.file.empty() ? home : frame.file, frame.line};
}

// The costs of a function: its own by line, and by line and function called.
struct Function {
  std::map<Place, Costs> own;
  std::map<std::pair<Place, std::uint32_t>, Costs> calls;
  std::map<std::pair<Place, std::uint32_t>, std::uint64_t> counts;  // of calls
};

void add(Costs& sum, const std::vector<std::vector<std::uint64_t>>& values, std::size_t node) {
  sum.resize(values.size());
  for (std::size_t column = 0; column < values.size(); ++column)
    sum[column] += values[column][node];
}

// `counts` are those of the calls, by node.
std::vector<Function> functions_of(const Profile& profile, const Labels& labels,
                                   const std::vector<std::uint64_t>& counts) {
  std::vector<std::vector<std::uint64_t>> total;
  for (std::size_t column = 0; column < profile.columns.size(); ++column) {
    total.push_back(totals(profile, column));
  }
  const auto place_in_function = [&](std::uint32_t frame) {
    return place_of(profile.frames[frame], file_of(labels.all[labels.of_frame[frame]], profile));
  };
  std::vector<Function> functions(labels.all.size());
  for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
    const Node& at = profile.nodes[node];
    const std::uint32_t label = labels.of_frame[at.frame];
    add(functions[label].own[place_in_function(at.frame)], profile.own, node);
    if (at.parent == 0) continue;
    const std::uint32_t caller = profile.nodes[at.parent].frame;
    Function& calling = functions[labels.of_frame[caller]];
    const std::pair place(place_in_function(caller), label);
    add(calling.calls[place], total, node);
    calling.counts[place] += counts[node];
  }
  return functions;
}

// Returns how often each node's call was made, as far as it is known. Of a function whose calls
// were all counted, it is the number of those by that path, whatever the samples of time have seen.
std::vector<std::uint64_t> counts_of(const Profile& profile, const Labels& labels) {
  std::vector<std::uint64_t> counts(profile.nodes.size());
  const auto column_named = [&](const std::string& name) {
    const auto found = std::find_if(profile.columns.begin(), profile.columns.end(),
                                    [&](const Column& each) { return each.name == name; });
    return found == profile.columns.end() ? nullptr : &profile.own[found - profile.columns.begin()];
  };
  if (const auto* seen = column_named("new_min"); seen != nullptr) counts = *seen;
  for (const Count& count : profile.counts) {
    const auto* calls = column_named(count.column);
    if (calls == nullptr) continue;
    std::set<std::uint32_t> counted;  // labels
    for (std::size_t node = 1; node < counts.size(); ++node) {
      if ((*calls)[node] > 0) counted.insert(labels.of_frame[profile.nodes[node].frame]);
    }
    for (std::size_t node = 1; node < counts.size(); ++node) {
      if (counted.contains(labels.of_frame[profile.nodes[node].frame]))
        counts[node] = (*calls)[node];
    }
  }
  return counts;
}

// Writes a name with its number, which stands for it from then on.
class Names {
 public:
  std::string of(const std::string& name) {
    const auto [entry, is_new] = numbers_.emplace(name, numbers_.size() + 1);
    return is_new ? fmt::format("({}) {}", entry->second, printable(name))
                  : fmt::format("({})", entry->second);
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

// The format takes a ':' for the end of a name.
std::string event_name(std::string name) {
  for (char& each : name) {
    if (std::isalnum(static_cast<unsigned char>(each)) == 0) each = '_';
  }
  return name;
}

}  // namespace

std::string render_callgrind(const Profile& all) {
  const Profile profile = without_calls(all);
  const Labels labels = by_function(profile);
  std::vector<std::string> events;
  Costs sums;
  std::string units;
  for (std::size_t column = 0; column < profile.columns.size(); ++column) {
    events.push_back(event_name(profile.columns[column].name));
    sums.push_back(totals(profile, column)[0]);
    units += fmt::format("desc: {}: {} ({})\n", events.back(), profile.columns[column].title,
                         profile.columns[column].unit);
  }
  std::string text = fmt::format(
      "# callgrind format\nversion: 1\ncreator: causalctl\npid: {}\ncmd: {}\n"
      "desc: Note: calls are those that are certain, and at least 1\n{}positions: line\nevents: "
      "{}\n"
      "summary: {}\n",
      profile.pid, printable(subject_of(profile)), units, fmt::join(events, " "),
      fmt::join(sums, " "));
  Names objects;
  Names files;
  Names names;
  const auto out = std::back_inserter(text);
  const auto file_text = [&](std::string_view file) {
    return files.of(file.empty() ? "???" : std::string(file));
  };
  const auto object_of = [](const Frame& frame) {
    return frame.module.empty() ? "???" : frame.module;
  };
  const std::vector<Function> functions = functions_of(profile, labels, counts_of(all, labels));
  for (std::uint32_t label = 0; label < functions.size(); ++label) {
    if (functions[label].own.empty()) continue;
    const Frame& frame = profile.frames[labels.all[label].frame];
    std::string_view file = file_of(labels.all[label], profile);
    fmt::format_to(out, "\nob={}\nfl={}\nfn={}\n", objects.of(object_of(frame)), file_text(file),
                   names.of(labels.all[label].name));
    const auto move_to = [&](const Place& place) {
      if (place.first != std::exchange(file, place.first)) {
        fmt::format_to(out, "fi={}\n", file_text(file));
      }
    };
    for (const auto& [place, costs] : functions[label].own) {
      move_to(place);
      fmt::format_to(out, "{} {}\n", place.second, fmt::join(costs, " "));
    }
    for (const auto& [call, costs] : functions[label].calls) {
      move_to(call.first);
      const Labels::Label& called = labels.all[call.second];
      fmt::format_to(out, "cob={}\ncfi={}\ncfn={}\ncalls={} {}\n{} {}\n",
                     objects.of(object_of(profile.frames[called.frame])),
                     file_text(file_of(called, profile)), names.of(called.name),
                     std::max<std::uint64_t>(1, functions[label].counts.at(call)),
                     profile.frames[called.frame].line, call.first.second, fmt::join(costs, " "));
    }
  }
  return text;
}

}  // namespace causalctl::report::callpath
