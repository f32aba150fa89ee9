#include "controller/pause/ptrace_reasons.h"

#include <fmt/format.h>

#include <csignal>
#include <string_view>

namespace causalctl::pause {
namespace {

std::string_view what_changed(ShotFilter::Obstacle why) {
  switch (why) {
    case ShotFilter::Obstacle::handler:
      return "changed its SIGTRAP handler";
    case ShotFilter::Obstacle::seccomp:
      return "put itself under seccomp";
    case ShotFilter::Obstacle::stack:
      return "ran on stacks that are not its threads' own (coroutines)";
    case ShotFilter::Obstacle::none:
    case ShotFilter::Obstacle::dispatch:
      break;
  }
  return "dispatched system calls itself (PR_SET_SYSCALL_USER_DISPATCH)";
}

}  // namespace

ShotFilter::Obstacle obstacle_in(const procfs::Status& status) {
  using Obstacle = ShotFilter::Obstacle;
  if (status.threads == 0) return Obstacle::none;  // it is ending, and has given its signals back
  if (!procfs::has_signal(status.signals_caught, SIGTRAP)) return Obstacle::handler;
  return status.seccomp != 0 ? Obstacle::seccomp : Obstacle::none;
}

std::vector<std::string> PtraceReasons::notices(unsigned slot_count) const {
  std::vector<std::string> found;
  if (all != ShotFilter::Obstacle::none) {
    found.push_back(fmt::format("the target {} during the run: from then on pauses were by ptrace",
                                what_changed(all)));
  }
  if (without_slot > 0) {
    found.push_back(fmt::format("more than {} threads at a time: {} of them were paused by ptrace",
                                slot_count, without_slot));
  }
  if (unreached > 0) {
    found.push_back(fmt::format(
        "threads that block SIGTRAP or handle it: {} of them were paused by ptrace", unreached));
  }
  if (on_other_stacks > 0) {
    found.push_back(fmt::format(
        "threads on stacks that are not known to be their own (coroutines), or without room for a "
        "signal's frame: {} of them were paused by ptrace",
        on_other_stacks));
  }
  if (overwritten > 0) {
    found.push_back(fmt::format(
        "the target wrote to the slots of the pause stub: {} threads were paused by ptrace",
        overwritten));
  }
  return found;
}

}  // namespace causalctl::pause
