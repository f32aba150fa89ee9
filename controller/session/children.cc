#include "controller/session/children.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "controller/base/clock.h"
#include "controller/base/process_clock.h"
#include "controller/base/procfs.h"

namespace causalctl::session {
namespace {

constexpr double kWorthTelling = 0.1;        // of the target's CPU time
constexpr double kLeastWorthTelling = 0.05;  // s
constexpr std::size_t kMostNamed = 3;

bool matters(const ChildrenSeen& seen, double cpu_s) {
  return cpu_s >= std::max(kWorthTelling * seen.own_cpu_s, kLeastWorthTelling);
}

std::string named(const std::vector<Child>& children) {
  std::string text;
  for (std::size_t i = 0; i < std::min(children.size(), kMostNamed); ++i) {
    const Child& child = children[i];
    text +=
        fmt::format("{}{} ({}, {:.1f} s)", i > 0 ? ", " : "", child.pid, child.name, child.cpu_s);
  }
  return children.size() > kMostNamed ? text + ", …" : text;
}

}  // namespace

std::optional<std::string> text_of(const ChildrenSeen& seen, Pid target, const char* record_one) {
  std::vector<Child> telling;
  double alive_cpu_s = 0;
  for (const Child& child : seen.alive) {
    alive_cpu_s += child.cpu_s;
    if (child.same_program || matters(seen, child.cpu_s)) telling.push_back(child);
  }
  if (telling.empty() && matters(seen, alive_cpu_s)) telling = seen.alive;
  if (!telling.empty()) {
    return fmt::format(
        "process {} has {} below it that {} not followed: visits and samples of {} are missing. "
        "The process itself used {:.1f} s of CPU time; below it, busiest first: {}. To record "
        "one: {} {}",
        target, telling.size() == 1 ? "a process" : fmt::format("{} processes", telling.size()),
        telling.size() == 1 ? "is" : "are", telling.size() == 1 ? "it" : "them", seen.own_cpu_s,
        named(telling), record_one, telling.front().pid);
  }
  if (!matters(seen, seen.ended_cpu_s)) return std::nullopt;
  return fmt::format(
      "child processes of process {} that ended during the run used {:.1f} s of CPU time, and the "
      "process itself {:.1f} s. They are not followed: their visits and samples are missing",
      target, seen.ended_cpu_s, seen.own_cpu_s);
}

Children::Children(Pid target)
    : target_(target),
      executable_(procfs::executable(target)),
      at_begin_(alive()),
      used_at_begin_(used_by(target)) {
  for (const Child& child : at_begin_) cpu_s_at_begin_[child.pid] = child.cpu_s;
  for (Child& child : at_begin_) child.cpu_s = 0;
}

std::optional<Children::Used> Children::used_by(Pid pid) {
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", pid));
  const auto own_ns = process_cpu_of(pid);
  if (!stat || !own_ns) return std::nullopt;
  static const auto ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  return Used{static_cast<double>(*own_ns) / kSecond,
              static_cast<double>(procfs::parse_children_ticks(*stat)) / ticks_per_s};
}

// What a child's own children have used counts for the child once they have ended.
std::vector<Child> Children::alive() const {
  std::vector<Child> found;
  std::vector<Pid> below = procfs::descendants(target_);
  if (std::find(below.begin(), below.end(), getpid()) != below.end()) {
    // The target has started causalctl, which does none of its work; nor do helper processes.
    const std::vector<Pid> ours = procfs::descendants(getpid());
    std::erase_if(below, [&](Pid pid) {
      return pid == getpid() || std::find(ours.begin(), ours.end(), pid) != ours.end();
    });
  }
  for (const Pid pid : below) {
    const auto used = used_by(pid);
    const auto status = procfs::status(pid);
    if (!used || !status) continue;
    const auto before = cpu_s_at_begin_.find(pid);
    const double cpu_s = used->own_s + used->ended_children_s -
                         (before == cpu_s_at_begin_.end() ? 0 : before->second);
    found.push_back({pid, status->name, std::max(cpu_s, 0.0),
                     !executable_.empty() && procfs::executable(pid) == executable_});
  }
  std::sort(found.begin(), found.end(), [](const Child& a, const Child& b) {
    return std::pair(-a.cpu_s, a.pid) < std::pair(-b.cpu_s, b.pid);
  });
  return found;
}

ChildrenSeen Children::seen() const {
  ChildrenSeen seen{alive(), 0, 0};
  const auto now = used_by(target_);
  if (!now || !used_at_begin_) {
    seen.alive = at_begin_;
    return seen;
  }
  seen.own_cpu_s = std::max(now->own_s - used_at_begin_->own_s, 0.0);
  seen.ended_cpu_s = std::max(now->ended_children_s - used_at_begin_->ended_children_s, 0.0);
  return seen;
}

}  // namespace causalctl::session
