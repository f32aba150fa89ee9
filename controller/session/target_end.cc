#include "controller/session/target_end.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/base/signal_state.h"
#include "controller/tracee/adoption.h"

namespace causalctl::session {

bool has_first_thread_ended(Pid target) {
  const auto status = procfs::status(target);
  return status && status->state == 'Z' && !procfs::has_ended(target);
}

bool FirstThread::has_ended_alone() {
  constexpr Nanoseconds between_ns = 100 * kMillisecond;
  const Nanoseconds now_ns = monotonic_now();
  if (now_ns < next_ns_) return false;
  next_ns_ = now_ns + between_ns;
  polls_ = has_first_thread_ended(target_) ? polls_ + 1 : 0;
  return polls_ >= 2;
}

void require_program(Pid target) {
  tracee::check_program(target, getpid());
  if (has_first_thread_ended(target)) {
    throw Error(tracee::first_thread_ended(target), tracee::kWithoutFirstThread);
  }
}

std::string text_of(const Death& death) {
  auto text = fmt::format("the target was ended by {}", name_of_signal(death.signal));
  if (!death.after_pause_ns) return text + "; no pause was within 1 s before";
  constexpr double ns_per_ms = 1e6;
  text += fmt::format(", {:.1f} ms after a pause of thread {}",
                      static_cast<double>(*death.after_pause_ns) / ns_per_ms, death.paused);
  const bool may_be_ours = death.signal == SIGSEGV || death.signal == SIGTRAP ||
                           death.signal == SIGBUS || death.signal == SIGILL ||
                           death.signal == SIGSYS || death.signal == SIGABRT;
  return may_be_ours ? text + "; please report it if the program does not end so by itself" : text;
}

std::string text_of(const std::vector<Death>& deaths, std::uint64_t runs) {
  const auto& nearest =
      *std::min_element(deaths.begin(), deaths.end(), [](const Death& a, const Death& b) {
        constexpr Nanoseconds none = std::numeric_limits<Nanoseconds>::max();
        return a.after_pause_ns.value_or(none) < b.after_pause_ns.value_or(none);
      });
  return fmt::format("{} of {} runs do not count, as signals ended them; in one of them {}",
                     deaths.size(), runs, text_of(nearest));
}

std::string uprobe_as_cause(const Death& death, const std::vector<Counting>& counting) {
  const bool possible =
      death.signal == SIGTRAP || death.signal == SIGSEGV || death.signal == SIGILL;
  const auto counted = std::find_if(counting.begin(), counting.end(), [](const Counting& each) {
    return each.way == progress::CountedBy::uprobe;
  });
  if (!possible || counted == counting.end()) return {};
  return fmt::format(
      "'{}' was counted by uprobe: a program that copies, compares or patches its own code may be "
      "ended by {} for that. Use --count-by breakpoint",
      counted->point, name_of_signal(death.signal));
}

namespace {

// Waits for up to some tenths of a second.
std::optional<int> status_of_end(tracee::Guardian* guardian, const tracee::EndWatch& watch) {
  constexpr Nanoseconds limit_ns = 300 * kMillisecond;
  const auto status_now = [&] {
    const auto status = guardian != nullptr ? guardian->exit_status() : std::nullopt;
    return status ? status : watch.wait_status();
  };
  auto status = status_now();
  for (Patience patience(limit_ns); !status && !patience.over(); status = status_now()) {
    sleep_until(monotonic_now() + kMillisecond);
  }
  return status;
}

}  // namespace

void throw_with_cause(const TargetGone& gone, tracee::Guardian& guardian,
                      const tracee::EndWatch& watch, const std::vector<Counting>& counting) {
  const auto status = status_of_end(&guardian, watch);
  if (!status || !WIFSIGNALED(*status)) throw gone;
  const Death death{WTERMSIG(*status), {}, 0};
  throw TargetGone(fmt::format("{}: {} ended it", gone.what(), name_of_signal(death.signal)),
                   uprobe_as_cause(death, counting));
}

void learn_end(tracee::Guardian* guardian, const tracee::EndWatch& watch, Recording& recording) {
  const bool ended = recording.reason == EndReason::target_exited;
  const auto status = ended ? status_of_end(guardian, watch) : std::nullopt;
  if (!status || !WIFSIGNALED(*status)) recording.death.reset();
  if (!status) return;
  if (WIFSIGNALED(*status)) {
    if (!recording.death) recording.death.emplace();
    recording.death->signal = WTERMSIG(*status);
  } else if (WEXITSTATUS(*status) != 0) {
    recording.warnings.push_back(
        fmt::format("the program ended with exit status {}", WEXITSTATUS(*status)));
  }
}

void tell_end(tracee::Guardian& guardian, const tracee::EndWatch& watch, Recording& recording) {
  learn_end(&guardian, watch, recording);
  if (!recording.death) return;
  recording.warnings.push_back(text_of(*recording.death));
  auto uprobe = uprobe_as_cause(*recording.death, recording.counting);
  if (!uprobe.empty()) recording.warnings.push_back(std::move(uprobe));
}

}  // namespace causalctl::session
