#include "controller/callpath/account_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <variant>

#include "controller/base/process_clock.h"

namespace causalctl::callpath {
namespace {

constexpr Nanoseconds kJustNow = kMillisecond;
constexpr std::size_t kManyThreads = 100;
constexpr Nanoseconds kClockOfMany = 100 * kMillisecond;

// Returns whether we may not see where the link leads.
bool is_hidden(const std::string& link) {
  std::error_code error;
  (void)std::filesystem::read_symlink(link, error);
  return error == std::errc::permission_denied;
}

}  // namespace

AccountWatch::AccountWatch(std::optional<Pid> target, TimeAccount& account)
    : target_(target), account_(account) {
  if (target) halts_.emplace(*target);
}

void AccountWatch::start(Nanoseconds now_ns) {
  start_ns_ = now_ns;
  if (!target_) return;
  start_cpu_ns_ = process_cpu_of(*target_).value_or(-1);
  quota_.emplace(*target_);
}

void AccountWatch::read_clock(Nanoseconds now_ns) {
  if (start_cpu_ns_ < 0 || now_ns < next_clock_ns_) return;
  if (threads_ > kManyThreads) next_clock_ns_ = now_ns + kClockOfMany;
  // A number that was given anew is that of a younger process.
  const auto cpu_ns = process_cpu_of(*target_);
  if (cpu_ns) account_.cpu_ns = std::max(account_.cpu_ns, *cpu_ns - start_cpu_ns_);
}

void AccountWatch::take(const perf::Event& event) {
  if (const auto* start = std::get_if<perf::ThreadStartEvent>(&event)) {
    if (start->is_peer) return;
    ++threads_;
    if (start->time_ns > start_ns_) ++account_.threads_begun;
  } else if (std::holds_alternative<perf::ThreadExitEvent>(event)) {
    threads_ -= threads_ > 0 ? 1 : 0;
  } else if (const auto* change = std::get_if<perf::SwitchEvent>(&event)) {
    if (change->kind != perf::SwitchKind::in) return;
    ++account_.switches;
    came_ns_ = change->time_ns;
  }
}

AccountWatch::Look AccountWatch::look(Nanoseconds now_ns) {
  const session::Halt now =
      now_ns - came_ns_ < kJustNow || !halts_ ? session::Halt::none : halts_->look(now_ns);
  const session::Halt before = last_.at_ns == 0 ? now : last_.halt;
  const Nanoseconds passed_ns = now_ns - std::max(last_.at_ns, start_ns_);
  last_ = {now, last_.at_ns, now_ns};
  // Of the time in which it changed, half counts.
  const auto add = [&](session::Halt halt, Nanoseconds& sum_ns) {
    const int ends = (before == halt ? 1 : 0) + (now == halt ? 1 : 0);
    sum_ns += ends * passed_ns / 2;
  };
  add(session::Halt::stopped, account_.stopped_ns);
  add(session::Halt::frozen, account_.frozen_ns);
  if (now == session::Halt::stopped) account_.tracer = halts_->tracer();
  account_.halted_at_end = now == session::Halt::stopped  ? "stopped"
                           : now == session::Halt::frozen ? "frozen"
                                                          : "";
  return last_;
}

void AccountWatch::update(const perf::SessionLosses& losses) {
  account_.threads_missed = losses.threads_missed;
  account_.unseen_ns = losses.unseen_ns;
  if (target_) account_.unreadable_program |= is_hidden(fmt::format("/proc/{}/exe", *target_));
  const HeldBack held = quota_ ? quota_->held_back() : HeldBack();
  if (held.ns <= account_.held_back_ns) return;
  account_.held_back_ns = held.ns;
  account_.quota_cores = held.cores.value_or(0);
}

}  // namespace causalctl::callpath
