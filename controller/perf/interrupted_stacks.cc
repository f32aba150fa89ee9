#include "controller/perf/interrupted_stacks.h"

#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/perf/bpf/interrupted.skel.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/signal_state.h"
#include "controller/perf/stack_copies.h"

namespace causalctl::perf {
namespace {

// Of a core: 600 KiB, for some 40 samples between two drains.
constexpr std::uint32_t kPieces = 128;
// Less than from one sample of a thread to the next.
constexpr Nanoseconds kLongestInterrupt = 100 * kMicrosecond;

Address instruction_of(const SampleEvent& sample) {
  constexpr std::size_t place = 8;  // in the order of the registers, all of which are there
  return sample.user.registers.size() > place ? sample.user.registers[place] : 0;
}

}  // namespace

struct InterruptedStacks::Program {
  explicit Program(const ProcessBits& processes) {
    if (is_pretended_broken(Facility::bpf)) throw Error("CAUSALCTL_PRETEND_BROKEN has bpf");
    set_namespace_of(*object->rodata, getpid());
    share_map(object->maps.watched_processes, processes.descriptor());
    object->rodata->stack_pieces_of_core =
        size_stack_maps(object->maps.stack_rings, object->maps.stack_pieces, kPieces);
    set_signal_states(*object->rodata);
    object.load();
    stacks = memory_of_stacks(object->maps.stack_rings, object->maps.stack_pieces);
  }

  BpfObject<interrupted_bpf> object;
  StackMemory stacks;
};

InterruptedStacks::InterruptedStacks(const ProcessBits& processes)
    : program_(std::make_unique<Program>(processes)) {}

InterruptedStacks::~InterruptedStacks() = default;

int InterruptedStacks::program_of_core() const {
  return bpf_program__fd(program_->object->progs.causalctl_core);
}

int InterruptedStacks::program_of_thread() const {
  return bpf_program__fd(program_->object->progs.causalctl_thread);
}

void InterruptedStacks::read() {
  read_.clear();
  program_->stacks.copies().read(0, read_);
  std::sort(read_.begin(), read_.end(),
            [](const SampleEvent& a, const SampleEvent& b) { return a.time_ns < b.time_ns; });
  for (SampleEvent& copy : read_) {
    if (!copy.user.interrupted.empty()) copies_[copy.thread.tid].push_back(std::move(copy));
  }
}

// The copy was made in the interrupt of the sample: before its time was taken, or since Linux 6.2
// after that (bpf_overflow_handler() of kernel/events/core.c).
void InterruptedStacks::give(SampleEvent& sample) {
  const auto of_thread = copies_.find(sample.thread.tid);
  if (of_thread == copies_.end()) return;
  auto& copies = of_thread->second;
  std::erase_if(copies, [&](const SampleEvent& copy) {
    return copy.time_ns < sample.time_ns - kLongestInterrupt;
  });
  if (!sample.user.interrupted.empty()) return;  // the program that made the sample has copied it
  for (SampleEvent& copy : copies) {
    if (copy.time_ns > sample.time_ns + kLongestInterrupt) return;
    const bool is_of_sample = instruction_of(copy) == instruction_of(sample) &&
                              copy.stack_pointer == sample.stack_pointer;
    if (!is_of_sample || copy.user.interrupted.empty()) continue;
    sample.user.interrupted_pointer = copy.user.interrupted_pointer;
    sample.user.interrupted = std::move(copy.user.interrupted);
    return;
  }
}

void InterruptedStacks::forget(Nanoseconds older_than_ns) {
  std::erase_if(copies_, [&](const auto& of_thread) {
    return of_thread.second.empty() || of_thread.second.back().time_ns < older_than_ns;
  });
}

}  // namespace causalctl::perf
