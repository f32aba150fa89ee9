#include "controller/callpath/engine/wakers.h"

#include <cmath>

namespace causalctl::callpath {
namespace {

std::uint64_t scaled(std::uint64_t value, double factor) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(value) * factor));
}

}  // namespace

void Wakers::add(const Wait& wait) {
  const auto blocked_ns = static_cast<std::uint64_t>(wait.whole_blocked_ns);
  if (blocked_ns == 0) return;
  Sums& sums = wait.path ? by_path_[*wait.path] : without_path_;
  if (!wait.is_woken) {
    sums.not_over += blocked_ns;
  } else if (wait.waker == Waker::interrupt) {
    sums.interrupt += blocked_ns;
  } else if (wait.waker_path) {
    sums.sampled[*wait.waker_path] += blocked_ns;
  } else if (wait.waker == Waker::thread) {
    sums.not_sampled += blocked_ns;
  } else {
    sums.outside += blocked_ns;
  }
}

std::uint64_t Wakers::sum_of(const Sums& sums) {
  std::uint64_t all = sums.not_sampled + sums.interrupt + sums.outside + sums.not_over;
  for (const auto& [waker, value] : sums.sampled) all += value;
  return all;
}

void Wakers::put(NodeId path, const Sums& sums, const WakersWithoutPath& nodes, WakerSums& all) {
  std::uint64_t sampled = 0;
  for (const auto& [waker, value] : sums.sampled) sampled += value;
  const double factor =
      sampled == 0 ? 1 : 1 + static_cast<double>(sums.not_sampled) / static_cast<double>(sampled);
  for (const auto& [waker, value] : sums.sampled) all[{path, waker}] += scaled(value, factor);
  if (sampled == 0) all[{path, nodes.not_sampled}] += sums.not_sampled;
  all[{path, nodes.interrupt}] += sums.interrupt;
  all[{path, nodes.outside}] += sums.outside;
  all[{path, nodes.not_over}] += sums.not_over;
}

// Waits without a path are taken to be like the others; where there are none, they stand alone.
WakerSums Wakers::take(const WakersWithoutPath& nodes) {
  WakerSums all;
  std::uint64_t known = 0;
  for (const auto& [path, sums] : by_path_) {
    known += sum_of(sums);
    put(path, sums, nodes, all);
  }
  const std::uint64_t others = sum_of(without_path_);
  if (known == 0) {
    put(kRoot, without_path_, nodes, all);
  } else if (others > 0) {
    const double factor = 1 + static_cast<double>(others) / static_cast<double>(known);
    for (auto& [pair, value] : all) value = scaled(value, factor);
  }
  std::erase_if(all, [](const auto& each) { return each.second == 0; });
  by_path_.clear();
  without_path_ = {};
  return all;
}

}  // namespace causalctl::callpath
