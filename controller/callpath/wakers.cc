#include "controller/callpath/wakers.h"

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
  if (!wait.path) {
    others_ += blocked_ns;
    return;
  }
  Sums& sums = by_path_[*wait.path];
  if (wait.waker == Waker::interrupt) {
    sums.interrupt += blocked_ns;
  } else if (wait.waker_path) {
    sums.sampled[*wait.waker_path] += blocked_ns;
  } else if (wait.waker == Waker::thread) {
    sums.not_sampled += blocked_ns;
  } else {
    sums.outside += blocked_ns;
  }
}

WakerSums Wakers::take(const WakersWithoutPath& nodes) {
  WakerSums all;
  std::uint64_t known = 0;
  for (const auto& [path, sums] : by_path_) {
    std::uint64_t sampled = 0;
    for (const auto& [waker, value] : sums.sampled) sampled += value;
    known += sampled + sums.not_sampled + sums.interrupt + sums.outside;
    const double factor =
        sampled == 0 ? 1 : 1 + static_cast<double>(sums.not_sampled) / static_cast<double>(sampled);
    for (const auto& [waker, value] : sums.sampled) all[{path, waker}] += scaled(value, factor);
    if (sampled == 0) all[{path, nodes.not_sampled}] += sums.not_sampled;
    all[{path, nodes.interrupt}] += sums.interrupt;
    all[{path, nodes.outside}] += sums.outside;
  }
  if (known > 0 && others_ > 0) {
    const double factor = 1 + static_cast<double>(others_) / static_cast<double>(known);
    for (auto& [pair, value] : all) value = scaled(value, factor);
  }
  std::erase_if(all, [](const auto& each) { return each.second == 0; });
  by_path_.clear();
  others_ = 0;
  return all;
}

}  // namespace causalctl::callpath
