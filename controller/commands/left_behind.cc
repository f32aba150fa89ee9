#include "controller/commands/left_behind.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>

#include "controller/base/clock.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kEndingPatience = 300 * kMillisecond;  // what ends with its parent does so
constexpr Nanoseconds kTermPatience = 2 * kSecond;           // after SIGTERM
constexpr std::size_t kMostProcessesNamed = 5;

// Returns whether it is a helper process of ours (base/helper_process.h), which are called so, and
// have our executable while they live.
bool is_ours(Pid pid) {
  const auto status = procfs::status(pid);
  return (status && status->name.starts_with("causalctl")) ||
         procfs::executable(pid) == procfs::executable(getpid());
}

void tell_of(const std::vector<Pid>& left, const char* what) {
  if (left.empty()) return;
  std::vector<std::string> named;
  for (const Pid pid : left) {
    if (named.size() == kMostProcessesNamed) break;
    const auto status = procfs::status(pid);
    named.push_back(fmt::format("{} ({})", pid, status ? status->name : "?"));
  }
  log::note(
      "{} {}{}. `kill {}` ends {}", what, fmt::join(named, ", "),
      named.size() < left.size() ? fmt::format(" and {} others", left.size() - named.size()) : "",
      fmt::join(left, " "), left.size() == 1 ? "it" : "them");
}

}  // namespace

LeftBehind::LeftBehind() : before_(procfs::descendants(getpid())) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

LeftBehind::~LeftBehind() { prctl(PR_SET_CHILD_SUBREAPER, 0); }

void LeftBehind::started(Pid program) {
  program_ = program;
  try {
    reaper_ = std::jthread([this](const std::stop_token& stop) { reap(stop); });
  } catch (const std::system_error&) {  // what ends meanwhile is reaped when causalctl ends
  }
}

void LeftBehind::reap(const std::stop_token& stop) const {
  constexpr auto every = std::chrono::seconds(2);
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, stop, every, [&] { return stop.stop_requested(); })) {
    for (const Pid pid : now()) {
      const auto stat = procfs::thread_stat(pid, pid);
      if (!stat || procfs::parse_state(*stat) != 'Z') continue;
      if (procfs::parse_parent(*stat) == getpid()) waitpid(pid, nullptr, WNOHANG);
    }
  }
}

std::vector<Pid> LeftBehind::now() const {
  std::vector<Pid> left;
  for (const Pid pid : procfs::descendants(getpid())) {
    if (pid == program_ || is_ours(pid)) continue;
    if (std::find(before_.begin(), before_.end(), pid) == before_.end()) left.push_back(pid);
  }
  std::sort(left.begin(), left.end());
  return left;
}

std::vector<Pid> LeftBehind::wait_for_end(Nanoseconds limit_ns) const {
  const auto alive = [this] {
    std::vector<Pid> left = now();
    std::erase_if(left, procfs::has_ended);
    return left;
  };
  std::vector<Pid> left = alive();
  for (Patience patience(limit_ns); !left.empty() && !patience.over(); left = alive()) {
    sleep_until(monotonic_now() + 10 * kMillisecond);
  }
  return left;
}

void LeftBehind::tell() const {
  tell_of(wait_for_end(kEndingPatience),
          "the program has ended and left processes behind, which go on:");
}

void LeftBehind::end() const {
  const std::vector<Pid> left = wait_for_end(kEndingPatience);
  for (const Pid pid : left) kill(pid, SIGTERM);
  if (left.empty()) return;
  tell_of(wait_for_end(kTermPatience),
          "processes that the program has started have not ended after SIGTERM, and go on:");
}

}  // namespace causalctl::commands
