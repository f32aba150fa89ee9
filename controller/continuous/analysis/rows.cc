#include "controller/continuous/analysis/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "controller/base/number.h"
#include "controller/base/printable_list.h"
#include "controller/base/proportion.h"

namespace causalctl::continuous {
namespace {

constexpr std::string_view kKernelPath = "[kernel]";

using Key = std::pair<std::string, std::string>;  // name, image

void add_functions(const ProfileKey& key, const Counts& counts, const FunctionNames& names,
                   std::map<Key, Count>& sums) {
  FunctionAt function;
  bool is_known = false;
  for (const auto& [offset, count] : counts) {
    if (!is_known || offset < function.begin || offset >= function.end) {
      function = names(key.image, offset);
      is_known = true;
    }
    sums[{function.name, key.image.path}] += count;
  }
}

// They let interrupts in again. Of "finish_task_switch.isra.0" it is the part before the full stop.
bool lets_interrupts_in(std::string_view function) {
  constexpr std::string_view kFunctions[] = {"_raw_spin_unlock_irqrestore",
                                             "_raw_spin_unlock_irq",
                                             "_raw_read_unlock_irqrestore",
                                             "_raw_read_unlock_irq",
                                             "_raw_write_unlock_irqrestore",
                                             "_raw_write_unlock_irq",
                                             "finish_task_switch",
                                             "__do_softirq",
                                             "handle_softirqs",
                                             "native_write_msr"};
  const auto name = function.substr(0, function.find('.'));
  return std::find(std::begin(kFunctions), std::end(kFunctions), name) != std::end(kFunctions);
}

}  // namespace

// Samples stand for different times (Kish, "Survey Sampling", 1965, §8.2). Those of one place are
// taken to be alike.
double samples_worth(const Profile& profile, const std::string& event) {
  double sum = 0, squares = 0;
  for (const auto& [key, counts] : profile) {
    if (key.event != event) continue;
    for (const auto& [offset, count] : counts) {
      const auto time = static_cast<double>(count.time_ns);
      sum += time;
      if (count.samples > 0) squares += time * time / static_cast<double>(count.samples);
    }
  }
  return squares == 0 ? 0 : sum * sum / squares;
}

std::string about_interrupts(const Rows& rows) {
  constexpr double kShareToTell = 0.05;
  constexpr std::size_t kMostListed = 3;
  std::uint64_t samples = 0;
  std::vector<std::string> names;
  for (const Row& row : rows.rows) {
    if (row.image != kKernelPath || !lets_interrupts_in(row.name)) continue;
    samples += row.count.samples;
    if (names.size() < kMostListed) names.push_back(row.name);
  }
  const double share = share_of(samples, rows.all.samples);
  if (names.empty() || share < kShareToTell) return {};
  return fmt::format(
      "{:.1f} % of the samples are where the kernel lets interrupts in again ({}): the time of "
      "code before them counts there",
      100 * share, printable_list(names));
}

Rows rows_of(const Profile& profile, const std::string& event, By by, const FunctionNames& names) {
  Rows result;
  std::map<Key, Count> sums;
  for (const auto& [key, counts] : profile) {
    if (key.event != event) continue;
    const Count sum = sum_of(counts);
    result.all += sum;
    switch (by) {
      case By::function:
      case By::line:
        add_functions(key, counts, names, sums);
        break;
      case By::image:
        sums[{key.image.path, ""}] += sum;
        break;
      case By::label:
        sums[{key.label, ""}] += sum;
        break;
    }
  }
  const double worth = samples_worth(profile, event);
  const auto all = static_cast<double>(std::max<Nanoseconds>(1, result.all.time_ns));
  for (const auto& [key, count] : sums) {
    const double share = static_cast<double>(count.time_ns) / all;
    result.rows.push_back({key.first, key.second, count, interval_of_share(share, worth)});
  }
  std::stable_sort(result.rows.begin(), result.rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.count.time_ns, a.count.samples) > std::tie(b.count.time_ns, b.count.samples);
  });
  return result;
}

}  // namespace causalctl::continuous
