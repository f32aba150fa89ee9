// Puts the pause stub into the target and takes it out again. Only the guardian uses it.
//
// inject() stops one thread and makes it call mmap (read-write, anonymous: code page, slots,
// scratch page), mprotect of the code page to read-execute, and rt_sigaction. The stub and the
// sigaction are written from outside between the calls (process_vm_writev), so that no call needs
// the target's own memory. The other threads are not touched. Only the default of SIGTRAP is
// replaced: a handler that the target has installed meanwhile is put back at once.
//
// restore() requires that all sigtrap events on the target are closed. First it waits until
// everything of ours is out of every thread (quiesce.h). Then the disposition of before comes back,
// unless the target has installed its own meanwhile. Then it waits again, because a SIGTRAP from
// elsewhere may have been on its way into the handler. Then the mapping goes. When a thread does
// not quiesce in time, what it still needs is left in place and reported: a page too many does no
// harm, a page too few kills.
//
// Invariant: previous_action_ is set exactly while our handler may be installed, region_ exactly
// while our mapping may exist.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/forking_threads.h"
#include "controller/tracee/inject/left_stub.h"
#include "controller/tracee/inject/quiesce.h"
#include "controller/tracee/inject/stopped_thread.h"
#include "controller/tracee/inject/stub.h"

namespace causalctl::tracee {

Error own_handler_error(Pid pid);  // EBUSY

class Injector {
 public:
  // This process is the guardian of `controller`.
  Injector(Pid pid, Pid controller) : pid_(pid), controller_(controller), forking_(pid) {}

  // `suspended` is a thread that is stopped already and stays so. REQUIRES: a check of the target's
  // disposition of SIGTRAP found the default. Throws Error (EBUSY: it is not the default any more)
  // or TargetGone; then our handler is not in the target, and restore() removes what else is left.
  Injection inject(unsigned slot_count, std::optional<Tid> suspended);

  // Makes the stub that another guardian left in the target ours, so that restore() removes it.
  // Returns false if it cannot be removed.
  bool take_over(const LeftStub& left);

  // Returns what could not be undone. May be called at any time.
  std::vector<std::string> restore(std::optional<Tid> suspended);

  bool is_injected() const { return region_.has_value(); }

  // Returns the threads that have made system calls for us, each once.
  const std::vector<Tid>& touched() const { return touched_; }
  // inject() or restore() found a disposition of SIGTRAP of the target's own, and left it.
  bool trap_replaced() const { return trap_replaced_; }

 private:
  struct Region {
    Address start = 0;
    Address size = 0;
    Address scratch = 0;  // last page, read-write
  };

  // Throws TargetGone where the target has ended, otherwise Error.
  [[noreturn]] void fail(const char* what, int error_number) const;
  std::optional<StoppedThread> stop_some_thread(std::optional<Tid> suspended,
                                                Nanoseconds deadline_ns);
  void map_region(StoppedThread& thread, unsigned slot_count);
  void install_handler(StoppedThread& thread);
  [[noreturn]] void give_back_handler(StoppedThread& thread);
  KernelSigaction exchange_action(StoppedThread& thread, const KernelSigaction* action);
  bool write_owner() const;
  void note_scheduling(Tid tid);
  void must_write(Address address, std::span<const std::byte> bytes) const;
  bool ours_is_still_there() const;
  bool nothing_is_left() const;
  std::vector<std::string> restore_once(std::optional<Tid> suspended);
  void forget();
  void touch(Tid tid);
  bool all_quiesce(std::optional<Tid> suspended, QuiesceLimits& limits);
  std::string why_not_quiescent(std::string_view left) const;
  std::optional<std::string> restore_handler(std::optional<Tid> suspended, QuiesceLimits& limits);
  std::optional<std::string> unmap(std::optional<Tid> suspended, QuiesceLimits& limits);
  long must_call(StoppedThread& thread, const char* what, long number,
                 std::initializer_list<std::uint64_t> arguments);

  Pid pid_;
  Pid controller_;
  ForkingThreads forking_;
  Address syscall_instruction_ = 0;
  std::optional<Region> region_;
  Owner owner_;                   // as it stands in the target
  std::vector<std::byte> image_;  // of the code page, by which it is recognised
  std::optional<KernelSigaction> previous_action_;
  std::vector<Tid> touched_;
  std::set<Tid> dispatching_;  // threads that dispatch their system calls themselves
  bool trap_replaced_ = false;
};

}  // namespace causalctl::tracee
