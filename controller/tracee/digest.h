// The state of a process that a profile must not change, as lines "name: value". Everything is read
// from /proc and by process_vm_readv; nothing is stopped.
//
// A live target changes by itself, so a difference counts against us only where it can be ours:
//   by nobody else       threads traced by our guardian, or left in T while others run; our mapping
//                        (recognised by its bytes: its address may be used again); a SIGTRAP that
//                        is pending; the text of the executable (the first MiB of each mapping) and
//                        the pages of progress points in any file (uprobes write there)
//   by us, if we had it  the mask (as it was before where that was the thread's own: own_mask.h),
//                        policy and timer slack of the threads that made system calls for us; the
//                        disposition of SIGTRAP, unless the target was seen to have put its own
//                        in place of ours
//   never by us          everything else: no call that we make in a target opens or closes files,
//                        sets limits or touches other signals. Such changes are the target's own.
// Whether a stopped target stays stopped is checked around each stop of ours: see guardian.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::tracee {

// Sorted lines.
struct Digest {
  std::vector<std::string> lines;   // a difference in these is our doing
  std::vector<std::string> others;  // a difference in these is the target's own
};
std::vector<std::string> differences(const Digest& before, const Digest& after);
std::vector<std::string> own_changes(const Digest& before, const Digest& after);

// What the guardian has done to the target so far.
struct Involvement {
  Pid helper = 0;              // the guardian process
  Address stub = 0;            // where our mapping was or is; 0: there was none
  bool restored = false;       // only the threads of `touched` are of interest
  std::vector<Tid> touched;    // threads that have made system calls for us
  bool trap_replaced = false;  // the disposition of SIGTRAP was seen to be of the target's making
};

// `places` are the addresses of progress points.
Digest digest_of(Pid pid, const Involvement& involvement, std::span<const Address> places);

std::uint64_t fnv1a(std::span<const std::byte> bytes);  // pure

}  // namespace causalctl::tracee
