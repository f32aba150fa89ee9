#include "controller/perf/interrupted_stacks.h"

#include <bpf/libbpf.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/perf/attrs.h"
#include "controller/perf/bpf/interrupted.skel.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/event.h"
#include "controller/perf/signal_state.h"
#include "controller/perf/stack_copies.h"

namespace causalctl::perf {
namespace {

// Of a core: 600 KiB, for 24 samples between two drains.
constexpr std::uint32_t kPieces = 128;

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
    : program_(std::make_unique<Program>(processes)) {
  const auto own = EventFd::open(sampling_attr({}), gettid(), "sampling of a thread of ours");
  if (own) own->set_program(program_of_thread());
}

InterruptedStacks::~InterruptedStacks() = default;

int InterruptedStacks::program_of_core() const {
  return bpf_program__fd(program_->object->progs.causalctl_core);
}

int InterruptedStacks::program_of_thread() const {
  return bpf_program__fd(program_->object->progs.causalctl_thread);
}

void InterruptedStacks::read() {
  std::vector<SampleEvent> fresh;
  program_->stacks.copies().read(0, fresh);
  copies_.add(std::move(fresh));
}

}  // namespace causalctl::perf
