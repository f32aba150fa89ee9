// Decides, in the interrupt that fires a shot, whether the thread gets its signal
// (pause/shot_filter.h). A result of 0 suppresses it.
// clang-format off
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
// clang-format on

#include "controller/perf/bpf/shot_filter.h"

#define TRAP 5  // SIGTRAP

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sigaction {
  void* sa_handler;
};
struct k_sigaction {
  struct sigaction sa;
};
struct sighand_struct {
  struct k_sigaction action[64];
};
typedef struct {
  unsigned long sig[1];
} sigset_t;
struct seccomp {
  int mode;
};
struct thread_info {
  unsigned long syscall_work;
};
struct thread_struct {
  unsigned long fsbase;
};
struct task_struct {
  struct thread_info thread_info;
  struct sighand_struct* sighand;
  sigset_t blocked;
  struct seccomp seccomp;
  unsigned long sas_ss_sp;
  unsigned long sas_ss_size;
  struct thread_struct thread;
};
#pragma clang attribute pop

// The bit of syscall_work for "syscall user dispatch" (prctl(2)).
enum syscall_work_bit { SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH = 6 };

const volatile __u64 handler;
const volatile __u64 first_period;  // of the shot of slot 0
const volatile __u64 frame_bytes;   // that a shot needs below the stack pointer

struct ShotShared shared;

// Returns ShotReasons. A kernel may lack seccomp, or user dispatch.
static __u64 reasons_against(struct task_struct* task) {
  __u64 reasons = 0;
  const void* trap_handler = BPF_CORE_READ(task, sighand, action[TRAP - 1].sa.sa_handler);
  if ((__u64)trap_handler != handler) reasons |= SHOT_HANDLER;
  if (bpf_core_field_exists(task->seccomp.mode) && BPF_CORE_READ(task, seccomp.mode) != 0) {
    reasons |= SHOT_SECCOMP;
  }
  if (bpf_core_field_exists(task->thread_info.syscall_work) &&
      bpf_core_enum_value_exists(enum syscall_work_bit, SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH)) {
    const __u64 bit =
        bpf_core_enum_value(enum syscall_work_bit, SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH);
    if (BPF_CORE_READ(task, thread_info.syscall_work) >> bit & 1) reasons |= SHOT_DISPATCH;
  }
  return reasons;
}

// Says whether there is room for the frame. A thread with an alternate stack gets it there.
static int has_room(struct task_struct* task, const struct ShotSlot* slot, __u64 stack_pointer) {
  const __u64 begin = BPF_CORE_READ(task, sas_ss_sp);
  const __u64 size = BPF_CORE_READ(task, sas_ss_size);
  if (size == 0) return stack_pointer >= slot->low && stack_pointer < slot->high;
  const int is_on_it = stack_pointer > begin && stack_pointer - begin <= size;
  return (is_on_it ? stack_pointer - begin : size) >= frame_bytes;
}

SEC("perf_event")
int causalctl_shot(struct bpf_perf_event_data* context) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  const __u64 reasons = reasons_against(task);
  if (reasons != 0) {
    shared.reasons = reasons;
    return 0;
  }
  if (BPF_CORE_READ(task, blocked.sig[0]) >> (TRAP - 1) & 1) return 0;
  struct ShotSlot* slot = &shared.slots[(context->sample_period - first_period) & (SHOT_SLOTS - 1)];
  const __u64 stack_pointer = context->regs.rsp;
  if (has_room(task, slot, stack_pointer)) return 1;
  slot->control_block = BPF_CORE_READ(task, thread.fsbase);
  barrier();  // the reader takes the stack pointer first
  slot->stack_pointer = stack_pointer;
  return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
