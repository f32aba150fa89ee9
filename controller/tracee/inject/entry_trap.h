// An int3 at the entry point of a launched program; run_suspended.h says why that is harmless
// there.
#pragma once

#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::tracee {

class EntryTrap {
 public:
  // Throws Error where it cannot be written. REQUIRES, here and below: child is in a ptrace-stop,
  // but for note_mask_if_running().
  EntryTrap(Pid child, Address entry);
  // Kills the program in which it still is.
  ~EntryTrap();
  EntryTrap(const EntryTrap&) = delete;
  EntryTrap& operator=(const EntryTrap&) = delete;

  // Of a stop by SIGTRAP: whether the trap has made it.
  bool has_sprung() const;
  // A SIGTRAP that is forced on a thread that blocks it is unblocked for good (Linux,
  // force_sig_info()). What the mask had is known from the last poll before.
  void note_mask();
  void note_mask_if_running();
  // Text, instruction pointer and mask are what they were. False: the program is gone.
  bool take_out();
  // After an event-stop of a fork: in the copy of the child there is none, and it is let go.
  void spare_the_child();
  // The memory is gone: another program was executed. False: so is that one.
  bool forget();
  // The program has ended.
  void expect_no_more() { armed_ = false; }

 private:
  Pid child_;
  Address entry_;
  std::uint64_t word_ = 0;     // of the text, as it was …
  std::uint64_t trapped_ = 0;  // … and with the trap
  bool blocks_trap_ = false;
  bool armed_ = false;
};

}  // namespace causalctl::tracee
