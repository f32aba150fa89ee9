#include "controller/tracee/inject/injector.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/tracee/freezer.h"
#include "controller/tracee/guardian/victim.h"
#include "controller/tracee/inject/left_stub.h"
#include "controller/tracee/inject/quiesce.h"
#include "controller/tracee/inject/slot.h"
#include "controller/tracee/process.h"

namespace causalctl::tracee {
namespace {

constexpr Nanoseconds kInjectLimit = 2 * kSecond;
constexpr Nanoseconds kStopLimit = 200 * kMillisecond;
constexpr Nanoseconds kRankLimit = 50 * kMillisecond;  // then spared threads are stopped, too
constexpr Nanoseconds kQuiesceLimit = 3 * kSecond;
constexpr Nanoseconds kSpareLimit = kSecond;  // of that, for threads that fork
constexpr int kTries = 3;
constexpr const char* kUsePtrace = "use --pause-channel ptrace (or auto, which does so by itself)";

Address round_up_to_page(Address size) { return (size + kPage - 1) / kPage * kPage; }

std::uint64_t as_word(int value) { return static_cast<std::uint64_t>(static_cast<long>(value)); }

// A thread frozen by version 1 does not stop; one frozen by version 2 stops, but makes no call.
void check_not_frozen(Pid pid) {
  if (!is_frozen(pid)) return;
  throw Error(fmt::format("process {} is frozen by a cgroup", pid),
              "thaw it first (freezer.state, cgroup.freeze, docker unpause)");
}

void check_stub_can_run(Pid pid) {
  for (const Tid tid : procfs::threads(pid)) {
    const auto status = procfs::thread_status(pid, tid);
    if (status && status->seccomp != 0) {
      throw Error(fmt::format("thread {} of process {} is under seccomp, which could kill it for "
                              "the system calls of the pause stub",
                              tid, pid),
                  kUsePtrace);
    }
  }
  const auto status = procfs::status(pid);
  if (!status) procfs::throw_unreadable(pid, "status");
  if (procfs::has_signal(status->signals_ignored, SIGTRAP)) {
    // A handler in place of SIG_IGN would not be inherited by what the target executes.
    throw Error(fmt::format("process {} ignores SIGTRAP, which the pause stub needs", pid),
                kUsePtrace);
  }
}

}  // namespace

Error own_handler_error(Pid pid) {
  return Error::from_errno(fmt::format("process {} has a SIGTRAP handler of its own", pid), EBUSY,
                           kUsePtrace);
}

void Injector::fail(const char* what, int error_number) const {
  if (procfs::has_ended(pid_)) throw TargetGone(fmt::format("process {} is gone", pid_));
  throw Error::from_errno(fmt::format("{} in process {}", what, pid_), error_number,
                          "the pause stub could not be put into it or taken out again");
}

long Injector::must_call(StoppedThread& thread, const char* what, long number,
                         std::initializer_list<std::uint64_t> arguments) {
  const auto result = thread.call(number, arguments);
  if (!result) fail(what, ESRCH);
  if (is_error(*result)) fail(what, static_cast<int>(-*result));
  return *result;
}

void Injector::must_write(Address address, std::span<const std::byte> bytes) const {
  if (!write_memory(pid_, address, bytes)) fail("process_vm_writev", errno);
}

std::optional<StoppedThread> Injector::stop_some_thread(std::optional<Tid> suspended,
                                                        Nanoseconds deadline_ns) {
  if (suspended) return StoppedThread::take_suspended(pid_, *suspended, syscall_instruction_);
  Patience spare(kRankLimit, kStopLimit);  // a poll waits for stops
  do {
    const auto candidates = victim_candidates(pid_, forking_);
    const bool all_spared =
        std::all_of(candidates.begin(), candidates.end(),
                    [](const VictimCandidate& thread) { return thread.rank == kSpared; });
    const auto dispatches = [this](const VictimCandidate& thread) {
      return dispatching_.contains(thread.tid);
    };
    if (!candidates.empty() && std::all_of(candidates.begin(), candidates.end(), dispatches)) {
      throw Error::from_errno(fmt::format("process {} dispatches its system calls itself", pid_),
                              EPERM, kUsePtrace);
    }
    for (const auto& [rank, tid] : candidates) {
      if (dispatches({rank, tid})) continue;
      if (rank == kSpared && !all_spared && !spare.over()) break;
      const auto limit_ns = monotonic_now() + kStopLimit;  // a stall may have used up the rest
      bool dispatches_now = false;
      note_scheduling(tid);
      if (auto thread =
              StoppedThread::stop(pid_, tid, syscall_instruction_, limit_ns, &dispatches_now)) {
        touch(tid);
        return thread;
      }
      if (dispatches_now) dispatching_.insert(tid);
      if (monotonic_now() >= deadline_ns) return std::nullopt;
    }
    sleep_until(monotonic_now() + kMillisecond);
  } while (monotonic_now() < deadline_ns && !procfs::has_ended(pid_));
  return std::nullopt;
}

Injection Injector::inject(unsigned slot_count, std::optional<Tid> suspended) {
  INVARIANT(!region_ && !previous_action_ && slot_count > 0 && slot_count <= kSlotsLimit);
  check_not_frozen(pid_);
  check_stub_can_run(pid_);
  const auto instruction = find_syscall_instruction(pid_);
  if (!instruction) {
    if (procfs::has_ended(pid_)) throw TargetGone(fmt::format("process {} is gone", pid_));
    throw Error(fmt::format("no system-call instruction found in process {}", pid_));
  }
  syscall_instruction_ = *instruction;
  if (!suspended) forking_.poll(first_threads(pid_));
  owner_ = make_owner(pid_, controller_, getpid());

  auto thread = stop_some_thread(suspended, monotonic_now() + kInjectLimit);
  const Nanoseconds stopped_at_ns = monotonic_now();
  if (!thread) {
    if (procfs::has_ended(pid_)) throw TargetGone(fmt::format("process {} is gone", pid_));
    check_not_frozen(pid_);
    throw Error(fmt::format("no thread of process {} could be stopped within {} s", pid_,
                            kInjectLimit / kSecond),
                "are its threads stuck in uninterruptible sleep (D in ps)?");
  }
  try {
    map_region(*thread, slot_count);
    install_handler(*thread);
  } catch (...) {
    if (region_ && !previous_action_) {
      (void)thread->call(SYS_munmap, {region_->start, region_->size});
      region_.reset();
    }
    throw;
  }
  if (previous_action_->handler != 0) give_back_handler(*thread);
  thread.reset();
  return {region_->start, region_->start + kPage, slot_count, monotonic_now() - stopped_at_ns};
}

void Injector::map_region(StoppedThread& thread, unsigned slot_count) {
  Region region;
  const Address slots_size = round_up_to_page(slot_count * sizeof(Slot));
  region.size = kPage + slots_size + kPage;
  region.start = static_cast<Address>(must_call(
      thread, "mmap", SYS_mmap,
      {0, region.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, as_word(-1), 0}));
  region.scratch = region.start + kPage + slots_size;
  region_ = region;
}

// Returns the action of before. Changes nothing if `action` is nullptr.
KernelSigaction Injector::exchange_action(StoppedThread& thread, const KernelSigaction* action) {
  const Address new_at = region_->scratch;
  const Address old_at = region_->scratch + sizeof(KernelSigaction);
  if (action != nullptr) must_write(new_at, std::as_bytes(std::span(action, 1)));
  must_call(thread, "rt_sigaction", SYS_rt_sigaction,
            {SIGTRAP, action != nullptr ? new_at : 0, old_at, sizeof KernelSigaction::mask});
  const auto old = read_object<KernelSigaction>(pid_, old_at);
  if (!old) fail("process_vm_readv", errno);
  return *old;
}

// There are as few calls as possible, because on a machine without an idle core each of them makes
// the thread wait for a core twice.
void Injector::install_handler(StoppedThread& thread) {
  const auto status = procfs::status(pid_);
  if (!status) procfs::throw_unreadable(pid_, "status");
  const Address slots = region_->start + kPage;
  image_ = stub_image({slots, region_->scratch});
  INVARIANT(image_.size() <= kPage);
  must_write(region_->start, image_);
  (void)write_owner();
  must_call(thread, "mprotect", SYS_mprotect, {region_->start, kPage, PROT_READ | PROT_EXEC});
  const auto ours =
      stub_action(region_->start, dropped_signals(status->signals_ignored, status->signals_caught));
  previous_action_ = KernelSigaction{};
  previous_action_ = exchange_action(thread, &ours);
}

// The target has installed a handler between the check and the call. Another thread may have come
// into the stub by ours, so restore() removes the page.
void Injector::give_back_handler(StoppedThread& thread) {
  const auto replaced = exchange_action(thread, &*previous_action_);
  if (replaced.handler != region_->start) exchange_action(thread, &replaced);  // a newer one
  previous_action_.reset();
  trap_replaced_ = true;
  throw own_handler_error(pid_);
}

// Where it cannot be written, the next causalctl takes the stub for the target's own handler.
bool Injector::write_owner() const {
  return write_memory(pid_, owner_address(region_->scratch), std::as_bytes(std::span(&owner_, 1)));
}

// This is for the causalctl that finds the stub after the guardian was killed while it had the
// thread stopped. The note may outlive the stop: restore_scheduling() checks whether it is still
// true.
void Injector::note_scheduling(Tid tid) {
  owner_.before_boost = scheduling_of(tid).value_or(SchedulingBefore{});
  if (!region_ || nothing_is_left()) return;
  const Address at = owner_address(region_->scratch) + offsetof(Owner, before_boost);
  (void)write_memory(pid_, at, std::as_bytes(std::span(&owner_.before_boost, 1)));
}

// The stub is known by its bytes, and its parameters tell the rest. The disposition of before was
// the default, which inject() ensures.
bool Injector::take_over(const LeftStub& left) {
  const auto instruction = find_syscall_instruction(pid_);
  if (!instruction) return false;
  const Address scratch = left.parameters.slots_end;
  syscall_instruction_ = *instruction;
  region_ = Region{left.code, scratch + kPage - left.code, scratch};
  image_ = stub_image(left.parameters);
  previous_action_ = KernelSigaction{};
  restore_scheduling(pid_, left.owner.before_boost);
  owner_ = make_owner(pid_, controller_, getpid());
  if (!write_owner()) owner_ = left.owner;
  return true;
}

bool Injector::ours_is_still_there() const {
  std::vector<std::byte> now(image_.size());
  for (int tries = 1; !read_memory(pid_, region_->start, now); ++tries) {
    if (errno == EFAULT || errno == ESRCH) {
      if (tries == kTries) return false;  // an exec has taken it away
    } else if (tries == kTries) {
      fail("process_vm_readv", errno);
    }
  }
  if (now != image_) return false;
  // If two guardians take over the same stub at the same moment, the later one has it.
  const auto owner = read_object<Owner>(pid_, owner_address(region_->scratch));
  return !owner || owner->guardian.pid == owner_.guardian.pid || owner->guardian.pid == 0;
}

// The target may have ended, or executed another program. The answer stays true once a thread is
// stopped.
bool Injector::nothing_is_left() const { return procfs::has_ended(pid_) || !ours_is_still_there(); }

void Injector::forget() {
  region_.reset();
  previous_action_.reset();
}

// What has failed may succeed the next time; otherwise something would be left behind.
std::vector<std::string> Injector::restore(std::optional<Tid> suspended) {
  for (int tries = 1;; ++tries) {
    try {
      return restore_once(suspended);
    } catch (const TargetGone&) {
      forget();
      return {};
    } catch (const std::exception& error) {
      if (tries < kTries) continue;
      return {fmt::format("{}; {} are left in place (they are harmless)", error.what(),
                          previous_action_ ? "the SIGTRAP handler and its page" : "pages of ours")};
    }
  }
}

std::vector<std::string> Injector::restore_once(std::optional<Tid> suspended) {
  if (!region_) return {};
  // After an exec, or the end of the target, there is nothing to undo. An image that was never
  // written means that inject() failed before the handler, and has unmapped already.
  if (nothing_is_left()) {
    forget();
    return {};
  }
  // The controller does not write the slots any more, so a thread in the stub need not sleep again.
  const Address slots = region_->start + kPage;
  for (Address slot = slots; slot < region_->scratch; slot += sizeof(Slot)) {
    const std::int64_t nothing_owed = 0;
    (void)write_memory(pid_, slot + offsetof(Slot, owed_total_ns),
                       std::as_bytes(std::span(&nothing_owed, 1)));
  }
  QuiesceLimits limits{monotonic_now() + kQuiesceLimit, Patience(kSpareLimit),
                       [this](Tid tid) { note_scheduling(tid); }};
  // A thread that was stopped in the stub stays in it, and a frozen one cannot be made to do
  // anything.
  const auto left_until = [&](std::string_view state, std::string_view until) {
    return std::vector{fmt::format(
        "process {} is {}: its SIGTRAP handler and the page at {:#x} stay until it {}, when the "
        "guardian removes them",
        pid_, state, region_->start, until)};
  };
  if (is_frozen(pid_)) return left_until("frozen by a cgroup", "is thawed");
  auto problem = restore_handler(suspended, limits);
  if (!problem && !nothing_is_left()) problem = unmap(suspended, limits);
  if (!problem) {
    forget();
    return {};
  }
  if (is_frozen(pid_)) return left_until("frozen by a cgroup", "is thawed");
  if (is_stopped(pid_)) return left_until("stopped", "goes on");
  return {*problem};
}

void Injector::touch(Tid tid) {
  if (std::find(touched_.begin(), touched_.end(), tid) == touched_.end()) touched_.push_back(tid);
}

bool Injector::all_quiesce(std::optional<Tid> suspended, QuiesceLimits& limits) {
  const StubRange stub{region_->start, region_->start + kPage, region_->start + kPage,
                       region_->scratch, region_->scratch};
  const auto quiesced =
      quiesce(pid_, stub, syscall_instruction_, suspended.value_or(0), forking_, limits);
  for (const Tid tid : quiesced.touched) touch(tid);
  return quiesced.all;
}

std::string Injector::why_not_quiescent(std::string_view left) const {
  if (const auto traced = traced_by_other(pid_)) {
    return fmt::format(
        "thread {} of process {} is traced by process {}: {} at {:#x} stay until that ends, when "
        "the guardian removes them",
        traced->thread, pid_, traced->tracer, left, region_->start);
  }
  return fmt::format(
      "process {}: a thread stays in the pause stub; {} at {:#x} are left in place (they are "
      "harmless)",
      pid_, left, region_->start);
}

std::optional<std::string> Injector::restore_handler(std::optional<Tid> suspended,
                                                     QuiesceLimits& limits) {
  if (!previous_action_) return std::nullopt;
  if (!all_quiesce(suspended, limits)) return why_not_quiescent("its SIGTRAP handler and its page");
  auto thread = stop_some_thread(suspended, limits.deadline_ns);
  if (nothing_is_left()) return std::nullopt;
  if (!thread) {
    return fmt::format("process {}: no thread could be stopped to restore the SIGTRAP handler",
                       pid_);
  }
  trap_replaced_ = exchange_action(*thread, nullptr).handler != region_->start;
  if (!trap_replaced_) {
    // It may have been replaced between the check and the call. Then it is put back.
    const auto replaced = exchange_action(*thread, &*previous_action_);
    trap_replaced_ = replaced.handler != region_->start;
    if (trap_replaced_) exchange_action(*thread, &replaced);
  }
  previous_action_.reset();
  return std::nullopt;
}

std::optional<std::string> Injector::unmap(std::optional<Tid> suspended, QuiesceLimits& limits) {
  if (!all_quiesce(suspended, limits)) return why_not_quiescent("its page");
  auto thread = stop_some_thread(suspended, limits.deadline_ns);
  if (nothing_is_left()) return std::nullopt;
  if (!thread) {
    return fmt::format("process {}: no thread could be stopped to unmap the page at {:#x}", pid_,
                       region_->start);
  }
  INVARIANT(!previous_action_);  // a handler without its page would end the target
  must_call(*thread, "munmap", SYS_munmap, {region_->start, region_->size});
  return std::nullopt;
}

}  // namespace causalctl::tracee
