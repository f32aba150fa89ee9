#include "controller/target/injector.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/target/process.h"
#include "controller/target/settle.h"
#include "controller/target/slot.h"

namespace causalctl::target {
namespace {

constexpr Address kPage = 4096;
constexpr Nanoseconds kInjectLimit = 2 * kSecond;
constexpr Nanoseconds kStopLimit = 200 * kMillisecond;
constexpr Nanoseconds kSettleLimit = 3 * kSecond;
constexpr unsigned kSlotsLimit = 1U << 16;

Address round_up_to_page(Address size) { return (size + kPage - 1) / kPage * kPage; }

std::uint64_t as_word(int value) { return static_cast<std::uint64_t>(static_cast<long>(value)); }

// How little a stop of this thread can be noticed; smaller is better.
int stop_rank(const std::optional<Activity>& activity) {
  constexpr int unsuitable = 4;
  if (!activity || activity->kind == Activity::Kind::blocked) return unsuitable;
  if (activity->kind == Activity::Kind::running) return 1;
  switch (activity->number) {
    case SYS_futex:
      return 0;  // always restarted, and nobody waits for the thread
    case SYS_read:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_accept:
    case SYS_accept4:
    case SYS_rt_sigsuspend:
    case SYS_pause:
      return 2;  // restarted by the kernel
    default:
      return 3;  // may need the rewind, which gives it its full timeout again
  }
}

// Threads by rank. Bounded, so that a target with 10,000 threads is not read for a second.
std::vector<Tid> threads_to_stop(Pid pid) {
  constexpr std::size_t enough = 64;
  auto tids = procfs::threads(pid);
  if (tids.size() > enough) tids.resize(enough);
  std::vector<std::pair<int, Tid>> ranked;
  for (const Tid tid : tids) ranked.emplace_back(stop_rank(activity(pid, tid)), tid);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Tid> result;
  for (const auto& [rank, tid] : ranked) result.push_back(tid);
  return result;
}

void check_stub_can_run(Pid pid) {
  for (const Tid tid : procfs::threads(pid)) {
    const auto status = procfs::thread_status(pid, tid);
    if (status && status->seccomp != 0) {
      throw Error(fmt::format("thread {} of process {} is under seccomp, which could kill it for "
                              "the system calls of the pause stub",
                              tid, pid),
                  "use --channel ptrace (or auto, which does so by itself)");
    }
  }
  const auto status = procfs::status(pid);
  if (!status) throw TargetGone(fmt::format("process {} is gone", pid));
  if (procfs::has_signal(status->signals_ignored, SIGTRAP)) {
    // A handler in place of SIG_IGN would not be inherited by what the target executes.
    throw Error(fmt::format("process {} ignores SIGTRAP, which the pause stub needs", pid),
                "use --channel ptrace (or auto, which does so by itself)");
  }
}

}  // namespace

long Injector::must_call(StoppedThread& thread, const char* what, long number,
                         std::initializer_list<std::uint64_t> arguments) {
  const auto result = thread.call(number, arguments);
  if (!result) throw TargetGone(fmt::format("process {} ended during the attach", pid_));
  if (is_error(*result)) {
    throw Error::from_errno(fmt::format("{} in process {}", what, pid_),
                            static_cast<int>(-*result));
  }
  return *result;
}

std::optional<StoppedThread> Injector::stop_some_thread(std::optional<Tid> held,
                                                        Nanoseconds deadline_ns) {
  if (held) return StoppedThread::take(pid_, *held, syscall_instruction_);
  do {
    for (const Tid tid : threads_to_stop(pid_)) {
      const auto limit_ns = std::min(deadline_ns, monotonic_now() + kStopLimit);
      if (auto thread = StoppedThread::stop(pid_, tid, syscall_instruction_, limit_ns)) {
        if (std::find(touched_.begin(), touched_.end(), tid) == touched_.end()) {
          touched_.push_back(tid);
        }
        return thread;
      }
      if (monotonic_now() >= deadline_ns) return std::nullopt;
    }
    sleep_until(monotonic_now() + kMillisecond);
  } while (monotonic_now() < deadline_ns && !has_ended(pid_));
  return std::nullopt;
}

Injection Injector::inject(unsigned slot_count, std::optional<Tid> held) {
  CHECK(!region_ && slot_count > 0 && slot_count <= kSlotsLimit);
  check_stub_can_run(pid_);
  const auto instruction = find_syscall_instruction(pid_);
  if (!instruction) {
    if (has_ended(pid_)) throw TargetGone(fmt::format("process {} is gone", pid_));
    throw Error(fmt::format("no system-call instruction found in process {}", pid_));
  }
  syscall_instruction_ = *instruction;

  auto thread = stop_some_thread(held, monotonic_now() + kInjectLimit);
  const Nanoseconds stopped_at_ns = monotonic_now();
  if (!thread) {
    if (has_ended(pid_)) throw TargetGone(fmt::format("process {} is gone", pid_));
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
    if (held) thread->keep();
    throw;
  }
  if (held) thread->keep();
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

std::optional<KernelSigaction> Injector::exchange_action(StoppedThread& thread,
                                                         const KernelSigaction* action) {
  const Address new_at = region_->scratch;
  const Address old_at = region_->scratch + sizeof(KernelSigaction);
  if (action != nullptr && !write_memory(pid_, new_at, std::as_bytes(std::span(action, 1)))) {
    return std::nullopt;
  }
  const auto result = thread.call(SYS_rt_sigaction, {SIGTRAP, action != nullptr ? new_at : 0,
                                                     old_at, sizeof KernelSigaction::mask});
  if (!result || *result != 0) return std::nullopt;
  return read_object<KernelSigaction>(pid_, old_at);
}

// As few calls as can be: on a machine without an idle core each costs the thread two waits for
// one.
void Injector::install_handler(StoppedThread& thread) {
  constexpr std::uint64_t not_chainable = SA_NODEFER | SA_RESETHAND;
  const auto gone = [&] {
    return TargetGone(fmt::format("process {} ended during the attach", pid_));
  };
  const auto status = procfs::status(pid_);
  if (!status) throw gone();
  KernelSigaction previous;
  if (procfs::has_signal(status->signals_caught, SIGTRAP)) {
    const auto caught = exchange_action(thread, nullptr);
    if (!caught) throw gone();
    previous = *caught;
  }
  if ((previous.flags & not_chainable) != 0) {
    throw Error(fmt::format("process {} has a SIGTRAP handler of its own with SA_NODEFER or "
                            "SA_RESETHAND, which the pause stub cannot stand in for",
                            pid_),
                "use --channel ptrace (or auto, which does so by itself)");
  }
  const Address slots = region_->start + kPage;
  image_ = stub_image({slots, region_->scratch, previous.handler});
  CHECK(image_.size() <= kPage);
  if (!write_memory(pid_, region_->start, image_)) throw gone();
  must_call(thread, "mprotect", SYS_mprotect, {region_->start, kPage, PROT_READ | PROT_EXEC});
  const auto ours = stub_action(region_->start);
  previous_action_ = previous;
  const auto replaced = exchange_action(thread, &ours);
  if (!replaced) throw gone();
  // Between the look and the call the target may have installed a handler: it comes back at the
  // end.
  previous_action_ = replaced;
}

// It is known by its bytes, and its parameters tell the rest. Who chose this channel saw to it that
// the disposition of before was the default, and that is what the stub says, too.
void Injector::take_over() {
  const auto maps = procfs::maps(pid_);
  const auto instruction = find_syscall_instruction(pid_);
  if (!maps || !instruction) return;
  for (const auto& map : *maps) {
    if (!map.executable || map.inode != 0) continue;
    const auto parameters = find_stub(pid_, map.start);
    if (!parameters || parameters->slots_begin != map.start + kPage) continue;
    if (parameters->previous_handler != 0) continue;
    syscall_instruction_ = *instruction;
    region_ = Region{map.start, parameters->slots_end + kPage - map.start, parameters->slots_end};
    image_ = stub_image(*parameters);
    previous_action_ = KernelSigaction{};
    return;
  }
}

bool Injector::ours_is_still_there() const {
  std::vector<std::byte> now(image_.size());
  return read_memory(pid_, region_->start, now) && now == image_;
}

std::vector<std::string> Injector::restore(std::optional<Tid> held) {
  if (!region_) return {};
  // After an exec, or the end of the target, there is nothing to undo. An image that was never
  // written means that inject() failed before the handler, and has unmapped already.
  if (has_ended(pid_) || !ours_is_still_there()) {
    region_.reset();
    previous_action_.reset();
    return {};
  }
  // The controller writes the slots no more: whoever is in the stub need not sleep again.
  const Address slots = region_->start + kPage;
  for (Address slot = slots; slot < region_->scratch; slot += sizeof(Slot)) {
    const std::int64_t nothing_owed = 0;
    (void)write_memory(pid_, slot + offsetof(Slot, owed_total_ns),
                       std::as_bytes(std::span(&nothing_owed, 1)));
  }
  const Nanoseconds deadline_ns = monotonic_now() + kSettleLimit;
  if (auto problem = restore_handler(held, deadline_ns)) return {*problem};
  if (auto problem = unmap(held, deadline_ns)) return {*problem};
  return {};
}

std::optional<std::string> Injector::restore_handler(std::optional<Tid> held,
                                                     Nanoseconds deadline_ns) {
  if (!previous_action_) return std::nullopt;
  const StubRange stub{region_->start, region_->start + kPage, region_->start + kPage,
                       region_->scratch, region_->scratch};
  if (!settle(pid_, stub, syscall_instruction_, held.value_or(0), deadline_ns)) {
    return fmt::format(
        "process {}: a thread stays in the pause stub; its SIGTRAP handler and its "
        "page at {:#x} are left in place (they are harmless)",
        pid_, region_->start);
  }
  auto thread = stop_some_thread(held, deadline_ns);
  if (!thread) {
    if (has_ended(pid_)) return std::nullopt;
    return fmt::format("process {}: no thread could be stopped to restore the SIGTRAP handler",
                       pid_);
  }
  const auto current = exchange_action(*thread, nullptr);
  if (current && current->handler == region_->start) {
    (void)exchange_action(*thread, &*previous_action_);
  }
  trap_replaced_ = current && current->handler != region_->start;
  if (held) thread->keep();
  previous_action_.reset();
  return std::nullopt;
}

std::optional<std::string> Injector::unmap(std::optional<Tid> held, Nanoseconds deadline_ns) {
  const StubRange stub{region_->start, region_->start + kPage, region_->start + kPage,
                       region_->scratch, region_->scratch};
  if (!settle(pid_, stub, syscall_instruction_, held.value_or(0), deadline_ns)) {
    return fmt::format(
        "process {}: a thread stays in the pause stub; its page at {:#x} is left in "
        "place (it is harmless)",
        pid_, region_->start);
  }
  auto thread = stop_some_thread(held, deadline_ns);
  if (thread) {
    (void)thread->call(SYS_munmap, {region_->start, region_->size});
    if (held) thread->keep();
  } else if (!has_ended(pid_)) {
    return fmt::format("process {}: no thread could be stopped to unmap the page at {:#x}", pid_,
                       region_->start);
  }
  region_.reset();
  return std::nullopt;
}

}  // namespace causalctl::target
