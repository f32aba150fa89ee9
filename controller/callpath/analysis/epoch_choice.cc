#include "controller/callpath/analysis/epoch_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kMostListed = 8;  // in an error

// Returns the first and the last number of "3" and "3-5".
std::optional<std::pair<std::size_t, std::size_t>> numbers(const std::string& text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number<std::size_t>(text.substr(0, dash), 10);
  if (dash == std::string::npos)
    return first ? std::optional(std::pair(*first, *first)) : std::nullopt;
  const auto last = parse_number<std::size_t>(text.substr(dash + 1), 10);
  return first && last ? std::optional(std::pair(*first, *last)) : std::nullopt;
}

std::string reasons_of(std::span<const Recording> runs) {
  std::string text;
  std::size_t count = 0;
  for (const Recording& run : runs) {
    for (std::size_t i = 0; i < run.epochs.size(); ++i) {
      if (++count <= kMostListed) {
        text +=
            fmt::format("{}{} ({})", count == 1 ? "" : ", ", i, printable(run.epochs[i].reason));
      }
    }
  }
  return count > kMostListed ? text + fmt::format(" and {} more", count - kMostListed) : text;
}

}  // namespace

ChosenEpochs::ChosenEpochs(std::span<const Recording> runs, const std::string& wanted)
    : runs_(runs) {
  const auto range = numbers(wanted);
  bool any = false;
  for (const Recording& run : runs) {
    std::vector<bool>& chosen = chosen_.emplace_back();
    for (std::size_t i = 0; i < run.epochs.size(); ++i) {
      const bool fits = range ? i >= range->first && i <= range->second
                              : run.epochs[i].reason.find(wanted) != std::string::npos;
      chosen.push_back(fits);
      any = any || fits;
    }
  }
  if (any || wanted.empty()) return;
  throw UsageError(fmt::format("--epoch {}: there is no such epoch", wanted),
                   fmt::format("give a number, a range 2-4, or a part of a reason; there are: {}",
                               reasons_of(runs)));
}

bool ChosenEpochs::all() const {
  return std::all_of(chosen_.begin(), chosen_.end(), [](const std::vector<bool>& run) {
    return std::all_of(run.begin(), run.end(), [](bool each) { return each; });
  });
}

Nanoseconds ChosenEpochs::length_ns(std::size_t run, std::size_t epoch) const {
  const std::vector<Epoch>& epochs = runs_[run].epochs;
  const Nanoseconds end_ns =
      epoch + 1 < epochs.size() ? epochs[epoch + 1].start_ns : runs_[run].wall_ns;
  return std::max<Nanoseconds>(0, end_ns - std::min(end_ns, epochs[epoch].start_ns));
}

Nanoseconds ChosenEpochs::length_ns(std::size_t run) const {
  Nanoseconds sum_ns = 0;
  for (std::size_t i = 0; i < chosen_[run].size(); ++i) {
    if (chosen_[run][i]) sum_ns += length_ns(run, i);
  }
  return sum_ns;
}

Nanoseconds ChosenEpochs::length_between(std::size_t run, Nanoseconds begin_ns,
                                         Nanoseconds end_ns) const {
  if (all()) return end_ns - begin_ns;  // what came before the first epoch, too
  Nanoseconds sum_ns = 0;
  for (std::size_t i = 0; i < chosen_[run].size(); ++i) {
    if (!chosen_[run][i]) continue;
    const Nanoseconds start_ns = runs_[run].epochs[i].start_ns;
    const Nanoseconds from_ns = std::max(begin_ns, start_ns);
    const Nanoseconds to_ns = std::min(end_ns, start_ns + length_ns(run, i));
    sum_ns += std::max<Nanoseconds>(0, to_ns - from_ns);
  }
  return sum_ns;
}

std::vector<report::callpath::Epoch> ChosenEpochs::rows() const {
  std::vector<report::callpath::Epoch> rows;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    std::vector<report::callpath::Epoch> of_run;
    for (std::size_t i = 0; i < runs_[run].epochs.size(); ++i) {
      const Epoch& epoch = runs_[run].epochs[i];
      of_run.push_back({run, i, epoch.start_ns, length_ns(run, i), epoch.reason});
    }
    for (const auto& [key, slice] : runs_[run].slices) {
      if (key.metric != Metric::cpu_ns && key.metric != Metric::samples) continue;
      auto& row = of_run.at(key.epoch);
      for (const auto& [node, value] : slice) {
        (key.metric == Metric::cpu_ns ? row.cpu_ns : row.samples) += value;
      }
    }
    for (auto& row : of_run) {
      if (chosen_[run][row.number]) rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace causalctl::callpath
