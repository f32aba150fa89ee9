#include "controller/callpath/run/account_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "controller/base/process_clock.h"
#include "controller/base/procfs.h"

namespace causalctl::callpath {
namespace {

constexpr Nanoseconds kJustNow = kMillisecond;
constexpr std::size_t kManyThreads = 100;
constexpr std::size_t kManyProcesses = 500;
constexpr Nanoseconds kClockOfMany = 100 * kMillisecond;

// Returns whether we may not see where the link leads.
bool is_hidden(const std::string& link) {
  std::error_code error;
  (void)std::filesystem::read_symlink(link, error);
  return error == std::errc::permission_denied;
}

}  // namespace

AccountWatch::AccountWatch(const std::vector<Pid>& members, TimeAccount& account)
    : at_start_(members),
      account_(account),
      clocks_({process_cpu_of, procfs::has_ended}, members) {}

void AccountWatch::start(Nanoseconds now_ns) {
  start_ns_ = now_ns;
  is_started_ = true;
  clocks_.start(now_ns);
  follow_members();
  if (at_start_.size() <= kMostLookedAt) quota_.emplace(std::move(at_start_));
}

void AccountWatch::read_clocks(Nanoseconds now_ns) {
  has_read_ = is_started_ && now_ns >= next_clock_ns_;
  if (!has_read_) return;
  if (threads_ > kManyThreads) {
    const auto times = static_cast<Nanoseconds>(1 + clocks_.size() / kManyProcesses);
    next_clock_ns_ = now_ns + times * kClockOfMany;
  }
  clocks_.read();
  account_.cpu_ns = std::max(account_.cpu_ns, clocks_.cpu_ns());
}

bool AccountWatch::read_next_time() {
  next_clock_ns_ = 0;
  return !has_read_;
}

void AccountWatch::follow_members() {
  std::erase_if(members_, [this](const auto& each) { return !clocks_.has(each.first); });
  if (clocks_.size() > kMostLookedAt) return members_.clear();
  for (const Pid pid : clocks_.processes()) {
    if (members_.contains(pid)) continue;
    const bool is_readable = !is_hidden(fmt::format("/proc/{}/exe", pid));
    members_.emplace(pid, Member{session::HaltWatch(pid), is_readable});
  }
}

// Mostly one look is enough: a member that went on at the last one does so still.
session::Halt AccountWatch::halt_of_all(Nanoseconds now_ns) {
  using session::Halt;
  follow_members();
  if (members_.empty()) return Halt::none;
  const auto last = members_.find(going_on_);
  if (last != members_.end() && last->second.halts.look(now_ns) == Halt::none) return Halt::none;
  std::optional<Halt> common;
  for (auto& [pid, member] : members_) {
    const Halt here = member.halts.look(now_ns);
    if (here == Halt::none) going_on_ = pid;
    if (here == Halt::none || here != common.value_or(here)) return Halt::none;
    common = here;
  }
  if (common == Halt::stopped) account_.tracer = members_.begin()->second.halts.tracer();
  return common.value_or(Halt::none);
}

void AccountWatch::take(const perf::Event& event) {
  clocks_.take(event);
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
      now_ns - came_ns_ < kJustNow ? session::Halt::none : halt_of_all(now_ns);
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
  account_.halted_at_end = now == session::Halt::stopped  ? "stopped"
                           : now == session::Halt::frozen ? "frozen"
                                                          : "";
  return last_;
}

void AccountWatch::update(const perf::SessionLosses& losses) {
  account_.cpu_ns =
      std::max(account_.cpu_ns, clocks_.cpu_ns());  // with those that have ended since
  account_.threads_missed = losses.threads_missed;
  account_.unseen_ns = losses.unseen_ns;
  follow_members();
  for (const auto& [pid, member] : members_) {
    account_.unreadable_program |=
        member.was_readable && is_hidden(fmt::format("/proc/{}/exe", pid));
  }
  if (!quota_ || members_.empty()) return;
  quota_->follow(clocks_.processes());
  const HeldBack held = quota_->held_back();
  if (held.ns <= account_.held_back_ns) return;
  account_.held_back_ns = held.ns;
  account_.quota_cores = held.cores.value_or(0);
}

}  // namespace causalctl::callpath
