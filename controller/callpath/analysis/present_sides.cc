#include "controller/callpath/analysis/present_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/base/printable_list.h"
#include "controller/callpath/analysis/epoch_choice.h"
#include "controller/callpath/analysis/expansion.h"
#include "controller/callpath/analysis/group_rows.h"
#include "controller/callpath/analysis/matching.h"
#include "controller/callpath/analysis/present.h"
#include "controller/callpath/analysis/profile_tree.h"
#include "controller/callpath/record/parts.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Column;
using report::callpath::Profile;
using report::callpath::Side;
using report::callpath::Sides;

constexpr const char* kSecondWord = "second";
constexpr double kPeriodsAlike = 0.1;  // relative difference from which it is told
constexpr double kChainsAlike = 0.02;  // difference of shares from which it is told

// Parts of one run that are one part of its side, in which there are at most Parts::kMost.
struct Block {
  std::size_t run = 0;
  std::vector<const Part*> parts;
};

std::vector<Block> blocks_of(std::span<const Recording> runs) {
  const std::size_t most = std::max<std::size_t>(1, Parts::kMost / runs.size());
  std::vector<Block> blocks;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::vector<Part>& parts = runs[run].parts;
    const std::size_t count = std::min(most, parts.size());
    const std::size_t first = blocks.size();
    for (std::size_t i = 0; i < count; ++i) blocks.push_back({run, {}});
    for (std::size_t i = 0; i < parts.size(); ++i) {
      blocks[first + i * count / parts.size()].parts.push_back(&parts[i]);
    }
  }
  return blocks;
}

// Gives each run a part at least.
void need_parts(std::vector<Recording>& runs) {
  for (Recording& run : runs) {
    if (run.parts.empty()) run.parts.push_back({0, run.wall_ns, run.slices});
  }
}

const Column& column_named(const Profile& profile, const std::string& name,
                           const std::string& option, const char* which) {
  const auto found = std::find_if(profile.columns.begin(), profile.columns.end(),
                                  [&](const Column& each) { return each.name == name; });
  const bool is_counted =
      std::any_of(profile.counts.begin(), profile.counts.end(),
                  [&](const report::callpath::Count& count) { return count.column == name; });
  // Parts of a recording have only what its samples stand for, not what was counted.
  if (is_counted) {
    throw UsageError(fmt::format("{} {}: counted calls cannot be compared", option, name),
                     "record them by --event uprobe:FUNCTION in both");
  }
  if (found != profile.columns.end()) {
    if (found->unit != report::callpath::kCalls) return *found;
    if (found->is_event) return *found;
    throw UsageError(fmt::format("{} {}: bounds of calls follow the samples, and cannot be "
                                 "compared",
                                 option, name),
                     "count the calls by --event uprobe:FUNCTION");
  }
  std::vector<std::string> names;
  for (const Column& each : profile.columns) {
    if (each.unit != report::callpath::kCalls || each.is_event) names.push_back(each.name);
  }
  throw UsageError(fmt::format("{} {}: {} has no such column", option, printable(name), which),
                   "it has " + printable_list(names));
}

// Fills the tree of both sides.
class Builder {
 public:
  Builder(Sides& sides, std::size_t columns, const GroupRows& rows)
      : sides_(sides), tree_(columns), frames_(sides.profile), rows_(rows) {}

  void add(const std::vector<Recording>& runs, const std::vector<Block>& blocks,
           const ChosenEpochs& epochs, Side& side);
  void finish() { tree_.move_to(sides_.profile); }

 private:
  void add_part(const Recording& run, const Block& block, const ChosenEpochs& epochs,
                std::size_t column, const Side& side, Expansion& expansion);

  Sides& sides_;
  ProfileTree tree_;
  Frames frames_;
  const GroupRows& rows_;
};

void Builder::add_part(const Recording& run, const Block& block, const ChosenEpochs& epochs,
                       std::size_t column, const Side& side, Expansion& expansion) {
  for (const Part* part : block.parts) {
    for (const auto& [key, slice] : part->slices) {
      const bool is_metric = column_of(run, key.metric) == sides_.metric.name;
      const bool is_sample = side.samples && key.metric == Metric::samples;
      if ((!is_metric && !is_sample) || !epochs.has(block.run, key.epoch)) continue;
      const std::uint32_t top = rows_.top(run, key.group, frames_, tree_);
      for (const auto& [id, value] : sorted(slice)) {
        const std::uint32_t node = expansion.node(id, top);
        if (is_metric) tree_.add(node, column, value);
        if (is_sample) tree_.add(node, *side.samples, value);
      }
    }
  }
}

void Builder::add(const std::vector<Recording>& runs, const std::vector<Block>& blocks,
                  const ChosenEpochs& epochs, Side& side) {
  std::size_t column = side.parts.front();
  std::vector<Expansion> expansions;
  for (const Recording& run : runs) expansions.emplace_back(run, frames_, tree_);
  for (const Block& block : blocks) {
    const Recording& run = runs[block.run];
    add_part(run, block, epochs, column++, side, expansions[block.run]);
    if (sides_.per.empty()) continue;
    double base = 0;
    for (const Part* part : block.parts) {
      if (sides_.per == kSecondWord) {
        base +=
            static_cast<double>(epochs.length_between(block.run, part->begin_ns, part->end_ns)) /
            static_cast<double>(kSecond);
        continue;
      }
      for (const auto& [key, slice] : part->slices) {
        if (column_of(run, key.metric) != sides_.per || !epochs.has(block.run, key.epoch)) continue;
        for (const auto& [node, value] : slice) base += static_cast<double>(value);
      }
    }
    side.bases.push_back(base);
  }
}

double complete_share(const Profile& head) {
  const auto all = static_cast<double>(head.chains.complete + head.chains.incomplete);
  return all > 0 ? static_cast<double>(head.chains.complete) / all : 1;
}

void add_notes(Sides& sides) {
  const Profile& before = sides.before.head;
  const Profile& after = sides.after.head;
  if (base_name(subject_of(before)) != base_name(subject_of(after))) {
    sides.notes.push_back(fmt::format("The programs have different names: OLD is of {}, NEW of {}.",
                                      subject_of(before), subject_of(after)));
  }
  const auto old_period = static_cast<double>(before.period_ns);
  const auto new_period = static_cast<double>(after.period_ns);
  if (std::abs(new_period - old_period) > kPeriodsAlike * std::min(old_period, new_period)) {
    sides.notes.push_back(fmt::format(
        "The periods differ: OLD has a sample each {:.3g} ms of CPU time, NEW each {:.3g} ms. What "
        "is compared does not depend on them, but how certain it is does.",
        old_period / kMillisecond, new_period / kMillisecond));
  }
  if (std::abs(complete_share(before) - complete_share(after)) > kChainsAlike) {
    sides.notes.push_back(fmt::format(
        "Of the call chains {:.1f} % are complete in OLD and {:.1f} % in NEW; paths differ for "
        "this alone.",
        100 * complete_share(before), 100 * complete_share(after)));
  }
}

Side side_of(Profile head, const Column& metric, std::size_t parts, std::size_t& columns) {
  Side side;
  for (std::size_t i = 0; i < parts; ++i) side.parts.push_back(columns++);
  const bool has_samples = std::any_of(head.columns.begin(), head.columns.end(),
                                       [](const Column& each) { return each.name == "samples"; });
  if (has_samples && (metric.name == "cpu" || metric.name == "samples")) side.samples = columns++;
  for (std::size_t i = 0; i < head.own.size(); ++i) head.own[i] = {totals(head, i)[0]};
  head.nodes.resize(1);
  head.frames.clear();
  side.head = std::move(head);
  return side;
}

Profile old_head_of(std::span<const Recording> runs, const std::string& epoch) {
  try {
    return present(runs, epoch);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("the recording of --diff: {}", error.what()), error.hint());
  }
}

}  // namespace

Sides present_sides(std::vector<Recording> old_runs, std::vector<Recording> new_runs,
                    const SidesWanted& wanted) {
  INVARIANT(!old_runs.empty() && !new_runs.empty());
  match_files(old_runs, new_runs);
  need_parts(old_runs);
  need_parts(new_runs);
  Profile new_head = present(new_runs, wanted.epoch);
  Profile old_head = old_head_of(old_runs, wanted.epoch);
  const std::string metric = wanted.metric.empty() ? new_head.columns[0].name : wanted.metric;

  Sides sides;
  sides.metric = column_named(new_head, metric, "--metric", "the recording");
  column_named(old_head, metric, "--metric", "the recording of --diff");
  sides.per = sides.per_title = wanted.per;
  if (!wanted.per.empty() && wanted.per != kSecondWord) {
    sides.per_title = column_named(new_head, wanted.per, "--per", "the recording").title;
    column_named(old_head, wanted.per, "--per", "the recording of --diff");
  }

  const GroupRows rows(old_runs, new_runs);
  sides.notes = rows.notes();

  const std::vector<Block> old_blocks = blocks_of(old_runs);
  const std::vector<Block> new_blocks = blocks_of(new_runs);
  std::size_t columns = 0;
  sides.before = side_of(std::move(old_head), sides.metric, old_blocks.size(), columns);
  sides.after = side_of(std::move(new_head), sides.metric, new_blocks.size(), columns);
  sides.profile.columns.assign(columns, sides.metric);
  Builder builder(sides, columns, rows);
  builder.add(old_runs, old_blocks, ChosenEpochs(old_runs, wanted.epoch), sides.before);
  builder.add(new_runs, new_blocks, ChosenEpochs(new_runs, wanted.epoch), sides.after);
  builder.finish();
  add_notes(sides);
  return sides;
}

}  // namespace causalctl::callpath
