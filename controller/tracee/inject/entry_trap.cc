#include "controller/tracee/inject/entry_trap.h"

#include <fmt/format.h>
#include <signal.h>

#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/tracee/ptrace.h"
#include "controller/tracee/stop.h"

namespace causalctl::tracee {
namespace {

constexpr std::uint64_t kInt3 = 0xcc;
constexpr std::uint64_t kTrapBit = std::uint64_t{1} << (SIGTRAP - 1);
constexpr Nanoseconds kBirth = kSecond;  // until a forked child stands at its first instruction

[[noreturn]] void throw_gone(Pid child) {
  throw TargetGone(fmt::format("process {} ended before its first instruction", child));
}

}  // namespace

EntryTrap::EntryTrap(Pid child, Address entry) : child_(child), entry_(entry) {
  const auto word = ptrace::word_if_alive(child, entry);
  if (!word) throw_gone(child);
  constexpr Address bits_per_byte = 8;
  const auto shift = entry % sizeof(std::uint64_t) * bits_per_byte;
  word_ = *word;
  trapped_ = (word_ & ~(std::uint64_t{0xff} << shift)) | kInt3 << shift;
  note_mask();
  // In this order: the int3 is never in the text of a program that could outlive us.
  if (!ptrace::guard_if_alive(child, true)) throw_gone(child);
  if (!ptrace::set_word_if_alive(child, entry, trapped_)) throw_gone(child);
  armed_ = true;
}

EntryTrap::~EntryTrap() {
  if (armed_) kill(child_, SIGKILL);
}

bool EntryTrap::has_sprung() const {
  const auto registers = ptrace::registers_if_alive(child_);
  return registers && registers->rip == entry_ + 1;
}

void EntryTrap::note_mask() {
  const auto mask = ptrace::signal_mask_if_alive(child_);
  if (mask) blocks_trap_ = (*mask & kTrapBit) != 0;
}

void EntryTrap::note_mask_if_running() {
  const auto status = procfs::status(child_);
  if (!status || status->state == 't') return;
  blocks_trap_ = procfs::has_signal(status->signals_blocked, SIGTRAP);
}

bool EntryTrap::take_out() {
  auto registers = ptrace::registers_if_alive(child_);
  if (!registers || !ptrace::set_word_if_alive(child_, entry_, word_)) return false;
  if (registers->rip == entry_ + 1) {
    registers->rip = entry_;
    if (!ptrace::set_registers_if_alive(child_, *registers)) return false;
    const auto mask = ptrace::signal_mask_if_alive(child_);
    if (!mask) return false;
    if (blocks_trap_ && !ptrace::set_signal_mask_if_alive(child_, *mask | kTrapBit)) return false;
  }
  if (!ptrace::guard_if_alive(child_, false)) return false;
  armed_ = false;
  return true;
}

void EntryTrap::spare_the_child() {
  const auto made = ptrace::made_if_alive(child_);
  if (!made) return;
  const auto stop = ptrace::wait_until(*made, monotonic_now() + kBirth);
  if (!stop)
    throw Error(fmt::format("process {}, forked by process {}, does not begin", *made, child_));
  if (std::holds_alternative<Ended>(*stop)) return;
  // A thread, or a child of vfork(), shares the memory.
  if (!ptrace::set_word_if_alive(*made, entry_, word_)) return;
  const auto* signalled = std::get_if<SignalStop>(&*stop);
  ptrace::detach_if_alive(*made, signalled != nullptr ? signalled->signal : 0);
  const auto word = ptrace::word_if_alive(child_, entry_);
  if (word && *word == word_) (void)ptrace::set_word_if_alive(child_, entry_, trapped_);
}

bool EntryTrap::forget() {
  armed_ = false;
  return ptrace::guard_if_alive(child_, false);
}

}  // namespace causalctl::tracee
