// The numbers of the thread that runs a BPF program, as causalctl knows them.
#pragma once

// The helpers need the types.
// clang-format off
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
// clang-format on

// The pid namespace of these numbers, which causalctl sets before the program is loaded; 0 if it is
// the initial one.
const volatile __u64 namespace_device;
const volatile __u64 namespace_inode;

struct Numbers {
  __u32 tid;
  __u32 process;  // 0 if the thread has no number in the namespace
};

static __always_inline struct Numbers current_numbers(void) {
  struct Numbers numbers = {};
  if (namespace_inode == 0) {
    const __u64 both = bpf_get_current_pid_tgid();
    numbers.tid = (__u32)both;
    numbers.process = both >> 32;
    return numbers;
  }
  struct bpf_pidns_info in_namespace = {};
  if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &in_namespace,
                                  sizeof in_namespace) != 0) {
    return numbers;
  }
  numbers.tid = in_namespace.pid;
  numbers.process = in_namespace.tgid;
  return numbers;
}
