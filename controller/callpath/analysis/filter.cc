#include "controller/callpath/analysis/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/base/printable_list.h"
#include "controller/callpath/analysis/profile_tree.h"
#include "controller/report/callpath/labels.h"
#include "unwind/names/function_name.h"
#include "unwind/names/nearest_functions.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Profile;

constexpr std::size_t kSuggestions = 3;

const char* option_of(Filter::Kind kind) {
  switch (kind) {
    case Filter::Kind::through:
      return "--through";
    case Filter::Kind::under:
      return "--under";
    case Filter::Kind::without:
      return "--not";
  }
  return "";
}

// The same for a name with a file or module, "json.c:parse"; empty if no function has it.
std::vector<bool> frames_called(const std::string& name, const Profile& profile) {
  std::vector<bool> called;
  for (const report::callpath::Frame& frame : profile.frames) {
    const std::string& home = frame.home.empty() ? frame.file : frame.home;
    const auto names = report::callpath::names_of_function(frame, home);
    called.push_back(std::find(names.begin(), names.end(), name) != names.end());
  }
  if (std::find(called.begin(), called.end(), true) == called.end()) called.clear();
  return called;
}

// Returns for each frame whether its function has this name: of all functions those that fit best.
std::vector<bool> frames_named(const Filter& filter, const Profile& profile) {
  const unwind::WrittenName written(filter.function);
  std::unordered_map<std::string_view, unwind::Fit> fits;
  unwind::Fit best = unwind::Fit::none;
  for (const auto& frame : profile.frames) {
    const auto [entry, is_new] = fits.emplace(frame.function, unwind::Fit::none);
    if (!is_new) continue;
    const bool equal = frame.function == filter.function;
    entry->second = equal ? unwind::Fit::exact : written.fit(frame.function, frame.function);
    best = std::min(best, entry->second);
  }
  if (best == unwind::Fit::none) {
    if (auto named = frames_called(filter.function, profile); !named.empty()) return named;
    unwind::NearestFunctions nearest(filter.function);
    for (const auto& [function, fit] : fits) nearest.consider(function);
    const std::vector<std::string> names = nearest.names(kSuggestions);
    throw UsageError(fmt::format("{} {}: no path has a function of this name",
                                 option_of(filter.kind), printable(filter.function)),
                     names.empty() ? "causalctl report --by function lists those that there are"
                                   : "the nearest are: " + printable_list(names));
  }
  std::vector<bool> named;
  for (const auto& frame : profile.frames) named.push_back(fits.at(frame.function) == best);
  return named;
}

// How far the path to a node has come.
struct State {
  std::size_t found = 0;      // how many of the filters that look for a function have found it
  bool dropped = false;       // by --not
  bool is_outermost = false;  // --under cuts off what is above it
};

// A filter, with what it needs to know of the others.
struct Step {
  Filter::Kind kind;
  std::size_t after = 0;  // how many filters before it look for a function
  std::vector<bool> named;
};

State next_state(const std::vector<Step>& steps, State state, std::uint32_t frame) {
  state.is_outermost = false;
  const std::size_t found_above = state.found;
  for (const Step& step : steps) {
    if (!step.named[frame]) continue;
    if (step.kind == Filter::Kind::without) {
      state.dropped = state.dropped || step.after <= found_above;
    } else if (step.after == found_above && state.found == found_above) {
      ++state.found;
      state.is_outermost = step.kind == Filter::Kind::under;
    }
  }
  return state;
}

}  // namespace

void apply(const std::vector<Filter>& filters, Profile& profile) {
  if (filters.empty()) return;
  std::vector<Step> steps;
  std::size_t wanted = 0;
  for (const Filter& filter : filters) {
    steps.push_back({filter.kind, wanted, frames_named(filter, profile)});
    if (filter.kind != Filter::Kind::without) ++wanted;
  }

  // A node that is dropped has no children that are kept, and one that --under has not reached yet
  // is left out of its children's paths.
  ProfileTree tree(profile.own.size());
  std::vector<State> states(profile.nodes.size());
  const auto values = [&](std::size_t node) {
    std::vector<std::uint64_t> all;
    for (const auto& column : profile.own) all.push_back(column[node]);
    return all;
  };
  std::vector<std::uint32_t> kept(profile.nodes.size(), 0);
  std::vector<bool> is_known(profile.nodes.size());
  std::vector<std::uint32_t> path;
  for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
    states[node] = next_state(steps, states[profile.nodes[node].parent], profile.nodes[node].frame);
    if (states[node].dropped || states[node].found < wanted) continue;
    const std::vector<std::uint64_t> own = values(node);
    if (std::all_of(own.begin(), own.end(), [](std::uint64_t value) { return value == 0; })) {
      continue;
    }
    path.clear();
    for (std::size_t at = node; at != 0 && !is_known[at]; at = profile.nodes[at].parent) {
      path.push_back(static_cast<std::uint32_t>(at));
      if (states[at].is_outermost) break;
    }
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      const std::uint32_t above = states[*at].is_outermost ? 0 : kept[profile.nodes[*at].parent];
      kept[*at] = tree.child(above, profile.nodes[*at].frame);
      is_known[*at] = true;
    }
    tree.add(kept[node], own);
  }
  if (tree.nodes().size() == 1) {
    throw UsageError("no path fits all of --through, --under and --not",
                     "each looks only below what the one before it has found");
  }
  tree.move_to(profile);
  profile.is_part = true;
}

}  // namespace causalctl::callpath
