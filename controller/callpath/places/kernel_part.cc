#include "controller/callpath/places/kernel_part.h"

#include <algorithm>
#include <utility>

namespace causalctl::callpath {
namespace {

constexpr std::string_view kScheduler = "__schedule";

}  // namespace

std::span<const std::string_view> telling_part(std::span<const std::string_view> names,
                                               bool leaves) {
  while (!names.empty() && (names.back().empty() || symbols::is_kernel_entry(names.back()))) {
    names = names.first(names.size() - 1);
  }
  if (!leaves) return names;
  const auto scheduler = std::find(names.begin(), names.end(), kScheduler);
  return scheduler == names.end()
             ? names
             : names.subspan(static_cast<std::size_t>(scheduler - names.begin()));
}

std::span<const LocationId> KernelPart::of(const perf::SampleEvent& sample) {
  names_.clear();
  path_.clear();
  for (std::size_t i = 0; i < sample.kernel.size(); ++i) {
    // A return address may be the first byte behind the function.
    names_.push_back(symbols_.find(sample.kernel[i] - (i > 0 ? 1 : 0)));
  }
  for (const std::string_view name :
       telling_part(names_, sample.reason == perf::SampleReason::leaving)) {
    if (name.empty()) continue;
    const auto [known, is_new] = known_.try_emplace(name);
    if (is_new) known->second = places_.in_kernel(std::string(name));
    path_.push_back(known->second);
  }
  std::reverse(path_.begin(), path_.end());
  return path_;
}

}  // namespace causalctl::callpath
