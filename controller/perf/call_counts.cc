#include "controller/perf/call_counts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <utility>

#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/perf/bpf/call_counts.h"
#include "controller/perf/bpf/call_counts.skel.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"

namespace causalctl::perf {

struct CallCounts::Program {
  explicit Program(std::shared_ptr<ProcessBits> watched) : processes(std::move(watched)) {
    if (is_pretended_broken(Facility::bpf)) throw Error("CAUSALCTL_PRETEND_BROKEN has bpf");
    set_namespace_of(*object->rodata, getpid());
    share_map(object->maps.watched_processes, processes->descriptor());
    object.load();
    object.attach();
  }

  std::shared_ptr<ProcessBits> processes;
  BpfObject<call_counts_bpf> object;
};

CallCounts::CallCounts(std::shared_ptr<ProcessBits> processes)
    : program_(std::make_unique<Program>(std::move(processes))) {}
CallCounts::~CallCounts() = default;

std::map<long, std::uint64_t> CallCounts::counts() const {
  std::map<long, std::uint64_t> made;
  for (long number = 0; number < COUNTED_CALLS; ++number) {
    const std::uint64_t count =
        __atomic_load_n(&program_->object->bss->counts[number], __ATOMIC_RELAXED);
    if (count > 0) made[number] = count;
  }
  return made;
}

}  // namespace causalctl::perf
