// Loads BPF programs, and the memory that a program shares with us. The program is made by
// bpf_code.h. All throw Error where the kernel refuses.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <span>

#include "controller/base/fd.h"

namespace causalctl::perf {

// The only value of an array, mapped here, and all zero at first.
class BpfValue {
 public:
  BpfValue() = default;
  explicit BpfValue(std::size_t bytes);

  int map() const { return map_.get(); }
  // What one side writes the other one sees: by atomic operations.
  template <typename Value>
  Value& as() const {
    return *reinterpret_cast<Value*>(mapping_.data());
  }

 private:
  Fd map_;
  Mapping mapping_;
};

// A ring of records from the program to us. `bytes`: a power of two, of pages at least.
Fd make_bpf_ring(unsigned bytes);

// `name`: as bpftool shows it, 15 characters at most. `attach_type`: what it is to be attached to,
// where the type of the program leaves that open.
Fd load_bpf_program(bpf_prog_type type, const char* name, std::span<const bpf_insn> code,
                    int attach_type = 0);

}  // namespace causalctl::perf
