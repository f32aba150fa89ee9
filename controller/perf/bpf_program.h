// Loads BPF programs, and the memory that a program shares with us. bpf_code.h makes the program.
// All functions throw Error if the kernel refuses.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <span>

#include "controller/base/fd.h"

namespace causalctl::perf {

// The only value of an array, mapped into our memory. It is all zero at first.
class BpfValue {
 public:
  BpfValue() = default;
  explicit BpfValue(std::size_t bytes);

  int map() const { return map_.get(); }
  // Each side sees what the other one writes, by atomic operations.
  template <typename Value>
  Value& as() const {
    return *reinterpret_cast<Value*>(mapping_.data());
  }

 private:
  Fd map_;
  Mapping mapping_;
};

// Makes a ring for records from the program to us. `bytes` is a power of two, and at least a page.
Fd make_bpf_ring(unsigned bytes);

// `name` is what bpftool shows, at most 15 characters. `attach_type` says what the program is to be
// attached to, if its type leaves that open.
Fd load_bpf_program(bpf_prog_type type, const char* name, std::span<const bpf_insn> code,
                    int attach_type = 0);

}  // namespace causalctl::perf
