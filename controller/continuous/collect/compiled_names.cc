#include "controller/continuous/collect/compiled_names.h"

#include "controller/base/clock.h"
#include "controller/base/procfs.h"

namespace causalctl::continuous {
namespace {

constexpr Nanoseconds kPatienceOfOne = 50 * kMillisecond;  // with one process, in each drain
constexpr std::size_t kMostNames = 2'000'000;              // that are in memory

}  // namespace

std::string CompiledNames::at(Pid process, Address address) {
  const auto [known, is_new] = files_.try_emplace(process, process);
  symbols::PerfMapFile& file = known->second;
  const auto* function = file.map().find(address);
  if (function == nullptr && names_ < kMostNames && left_ns_ > 0 &&
      read_now_.insert(process).second) {
    read(file);
    function = file.map().find(address);
  }
  return function == nullptr ? std::string() : function->name;
}

void CompiledNames::read(symbols::PerfMapFile& file) {
  const Nanoseconds begin_ns = monotonic_now();
  while (file.read_on() && monotonic_now() - begin_ns < kPatienceOfOne) {
  }
  left_ns_ -= monotonic_now() - begin_ns;
}

void CompiledNames::forget_ended() {
  read_now_.clear();
  left_ns_ = kPatience;
  std::erase_if(files_, [](const auto& each) { return procfs::has_ended(each.first); });
  names_ = 0;
  for (const auto& [process, file] : files_) names_ += file.map().size();
}

}  // namespace causalctl::continuous
