#include "controller/perf/interrupted_copies.h"

#include <algorithm>
#include <utility>

#include "controller/perf/stack_copies.h"

namespace causalctl::perf {
namespace {

// Less than from one sample of a thread to the next.
constexpr Nanoseconds kLongestInterrupt = 100 * kMicrosecond;

Address instruction_of(const SampleEvent& sample) {
  return sample.user.registers.size() > kInstructionPlace ? sample.user.registers[kInstructionPlace]
                                                          : 0;
}

}  // namespace

void InterruptedCopies::add(std::vector<SampleEvent> copies) {
  std::sort(copies.begin(), copies.end(),
            [](const SampleEvent& a, const SampleEvent& b) { return a.time_ns < b.time_ns; });
  for (SampleEvent& copy : copies) {
    if (!copy.user.interrupted.empty()) by_thread_[copy.thread.tid].push_back(std::move(copy));
  }
}

// The copy was made in the interrupt of the sample: before its time was taken, or since Linux 6.2
// after that (bpf_overflow_handler() of kernel/events/core.c).
void InterruptedCopies::give(SampleEvent& sample) {
  const auto of_thread = by_thread_.find(sample.thread.tid);
  if (of_thread == by_thread_.end()) return;
  if (!sample.user.interrupted.empty()) return;  // the program that made the sample has copied it
  auto& copies = of_thread->second;
  const auto is_of_sample = [&](const SampleEvent& copy) {
    return std::abs(copy.time_ns - sample.time_ns) <= kLongestInterrupt &&
           instruction_of(copy) == instruction_of(sample) &&
           copy.stack_pointer == sample.stack_pointer;
  };
  const auto own = std::find_if(copies.begin(), copies.end(), is_of_sample);
  if (own == copies.end()) return;
  sample.user.interrupted_pointer = own->user.interrupted_pointer;
  sample.user.interrupted = std::move(own->user.interrupted);
  copies.erase(copies.begin(), own + 1);
  if (copies.empty()) by_thread_.erase(of_thread);
}

void InterruptedCopies::forget(Nanoseconds older_than_ns) {
  for (auto& [tid, copies] : by_thread_) {
    std::erase_if(copies, [&](const SampleEvent& copy) { return copy.time_ns < older_than_ns; });
  }
  std::erase_if(by_thread_, [](const auto& of_thread) { return of_thread.second.empty(); });
}

}  // namespace causalctl::perf
