// An int3 at the entry point of a launched program; run_suspended.h says why that is harmless
// there.
#pragma once

#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::tracee {

class EntryTrap {
 public:
  // Throws Error where it cannot be written. REQUIRES, here and below except for
  // note_mask_if_running(): child is in a ptrace-stop.
  EntryTrap(Pid child, Address entry);
  // Kills the program if the trap is still in it.
  ~EntryTrap();
  EntryTrap(const EntryTrap&) = delete;
  EntryTrap& operator=(const EntryTrap&) = delete;

  // Returns whether the trap has made this stop by SIGTRAP.
  bool has_sprung() const;
  // Keep what the mask is, because a SIGTRAP that is forced on a thread that blocks it is unblocked
  // for good (Linux, force_sig_info()).
  void note_mask();
  void note_mask_if_running();
  // Puts text, instruction pointer and mask back. Returns false if the program is gone.
  bool take_out();
  // At an event-stop of a fork, takes the trap out of the child's copy and lets the child go.
  void spare_the_child();
  // To be called when another program was executed, because the memory is gone. Returns false if
  // that program is gone, too.
  bool forget();
  // To be called when the program has ended.
  void expect_no_more() { armed_ = false; }

 private:
  Pid child_;
  Address entry_;
  std::uint64_t word_ = 0;     // of the text, as it was
  std::uint64_t trapped_ = 0;  // the same with the trap
  bool blocks_trap_ = false;
  bool armed_ = false;
};

}  // namespace causalctl::tracee
