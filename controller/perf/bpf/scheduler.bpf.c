// Writes a record for each switch of a thread of the watched processes, and for each wake-up that
// one of them makes; and samples threads that leave their core, or wake others (leaving.bpf.h). The
// children of such processes are watched from their birth on, if that is wanted.
//
// The fields of the kernel's structures are found by the names below when the program is loaded
// (CO-RE, Documentation/bpf/libbpf/libbpf_overview.rst), so it is built without the headers of a
// kernel. It runs with the core's run queue locked: nothing here may wake the reader.
// clang-format off
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
// clang-format on

#include "controller/perf/bpf/scheduler_record.h"
#include "controller/perf/bpf/watched.bpf.h"

struct cfs_rq {
  void* rq;
} __attribute__((preserve_access_index));
struct sched_entity {
  struct cfs_rq* cfs_rq;
} __attribute__((preserve_access_index));
struct task_struct {
  int pid;
  int tgid;
  unsigned int __state;
  void* mm;
  unsigned long sas_ss_sp, sas_ss_size;
  struct sched_entity se;
} __attribute__((preserve_access_index));

#include "controller/perf/bpf/leaving.bpf.h"

// How far the core's count of interrupts (`__preempt_count`) lies from its run queue. Both are
// variables of each core, of which the kernel need not tell the addresses (CONFIG_KALLSYMS_ALL).
const volatile __s64 from_queue_to_count;

const volatile __u32 samples_wakers;  // whether that is wanted, of threads of sampled processes

#define TASK_DEAD 0x80  // include/linux/sched.h

// The bits of that count (include/linux/preempt.h).
#define IN_SOFTIRQ 0x00000100
#define IN_HARDIRQ 0x00ff0000  // NMIs, too

__u64 without_buffer;  // records of cores that came later
__u32 takes_children;  // set by us

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // one for each core, which is set when it is loaded
  __type(key, __u32);
  __type(value, struct SchedulerBuffer);
} buffers SEC(".maps");

// An interrupt may write records on the same core meanwhile. Then they get the next numbers.
static __always_inline void write(__u64 time_ns, __u64 tid, __u64 other, __u64 flags, __u64 slot) {
  const __u32 core = bpf_get_smp_processor_id();
  struct SchedulerBuffer* buffer = bpf_map_lookup_elem(&buffers, &core);
  if (!buffer) {
    __sync_fetch_and_add(&without_buffer, 1);
    return;
  }
  if (buffer->written - buffer->read >= SCHEDULER_RECORDS - SCHEDULER_SPARE) {
    __sync_fetch_and_add(&buffer->lost, 1);
    return;
  }
  const __u64 number = __sync_fetch_and_add(&buffer->written, 1);
  struct SchedulerRecord* record = &buffer->records[number & (SCHEDULER_RECORDS - 1)];
  record->time_ns = time_ns;
  const __u64 after_flags = slot | scheduler_round(number) << SCHEDULER_SLOT_BITS;
  const __u64 after_tids = flags | after_flags << SCHEDULER_FLAG_BITS;
  barrier();
  *(volatile __u64*)&record->rest =
      tid | other << SCHEDULER_TID_BITS | after_tids << 2 * SCHEDULER_TID_BITS;
}

// The state is read from the thread: the one that the tracepoint tells, from Linux 5.18, is that of
// before the scheduler saw a signal that keeps the thread running (__schedule() of
// kernel/sched/core.c).
SEC("tp_btf/sched_switch")
int BPF_PROG(causalctl_runs, _Bool preempted, struct task_struct* left, struct task_struct* came) {
  const struct WatchedProcesses* set = watched();
  if (!set) return 0;
  __u64 flags = 0;
  // One that has ended leaves its core for ever, after its EXIT record.
  if (has_process(set->followed, left->tgid) && left->__state != TASK_DEAD) {
    flags |= SCHEDULER_LEFT_IN_SET;
  }
  if (has_process(set->followed, came->tgid)) flags |= SCHEDULER_CAME_IN_SET;
  if (flags == 0) return 0;
  if (!preempted && left->__state != 0) flags |= SCHEDULER_LEFT_BLOCKED;
  const __u64 now_ns = bpf_ktime_get_ns();
  // The sample is first, so that the switch has a path.
  __u32 slot = 0;
  if (flags & SCHEDULER_LEFT_IN_SET && has_process(set->sampled, left->tgid)) {
    slot = sample_leaving(ctx, left, flags & SCHEDULER_LEFT_BLOCKED, now_ns);
  }
  write(now_ns, left->pid, came->pid, flags, slot);
  return 0;
}

static __u64 interrupted_by(void) {
  const struct task_struct* current = bpf_get_current_task_btf();
  const char* queue = current->se.cfs_rq->rq;
  __u32 count = 0;
  bpf_probe_read_kernel(&count, sizeof count, queue + from_queue_to_count);
  __u64 flags = 0;
  if (count & IN_SOFTIRQ) flags |= SCHEDULER_IN_SOFTIRQ;
  if (count & IN_HARDIRQ) flags |= SCHEDULER_IN_HARDIRQ;
  return flags;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(causalctl_wake, struct task_struct* woken) {
  const __u64 waker = bpf_get_current_pid_tgid();
  const struct WatchedProcesses* set = watched();
  if (!set || !has_process(set->followed, waker >> 32)) return 0;
  const __u64 now_ns = bpf_ktime_get_ns();
  const __u64 by = interrupted_by();
  write(now_ns, (__u32)waker, woken->pid, SCHEDULER_WAKING | by, 0);
  // A thread that an interrupt stopped has not woken anybody. The lock of the woken thread keeps
  // others from copying on this core meanwhile, but a thread that wakes itself takes no lock.
  if (!samples_wakers || by != 0 || woken->pid == (__u32)waker) return 0;
  if (has_process(set->sampled, waker >> 32) && has_process(set->sampled, woken->tgid)) {
    sample_waking(bpf_get_current_task_btf(), woken->pid, now_ns);
  }
  return 0;
}

// The child does not run yet.
SEC("tp_btf/sched_process_fork")
int BPF_PROG(causalctl_born, struct task_struct* parent, struct task_struct* child) {
  struct WatchedProcesses* set = watched();
  if (!takes_children || !set || parent->tgid == child->tgid) return 0;
  if (has_process(set->sampled, parent->tgid)) add_process(set->sampled, child->tgid);
  if (has_process(set->followed, parent->tgid)) add_process(set->followed, child->tgid);
  return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
