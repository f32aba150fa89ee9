#include "controller/session/children.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/base/procfs.h"

namespace causalctl::session {
namespace {

constexpr double kWorthTelling = 0.1;  // of the target's CPU time
constexpr std::size_t kMostNamed = 3;

}  // namespace

std::optional<std::string> text_of(const ChildrenSeen& seen, Pid target) {
  const auto& pids = seen.same_program;
  if (!pids.empty()) {
    const auto named = std::min(pids.size(), kMostNamed);
    return fmt::format(
        "process {} has {} below it that {} the same program ({}{}). They are not followed: their "
        "visits and samples are missing. Attach to one of them instead",
        target, pids.size() == 1 ? "a process" : fmt::format("{} processes", pids.size()),
        pids.size() == 1 ? "runs" : "run",
        fmt::join(pids.begin(), pids.begin() + static_cast<std::ptrdiff_t>(named), ", "),
        named < pids.size() ? ", …" : "");
  }
  if (seen.cpu_share < kWorthTelling) return std::nullopt;
  return fmt::format(
      "child processes of process {} that ended during the run used {:.0f} % as much CPU time as "
      "it. They are not followed: their visits and samples are missing",
      target, 100 * seen.cpu_share);
}

Children::Children(Pid target)
    : target_(target),
      executable_(procfs::executable(target)),
      at_begin_(same_program()),
      ticks_at_begin_(ticks()) {}

std::optional<Children::Ticks> Children::ticks() const {
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", target_));
  if (!stat) return std::nullopt;
  return Ticks{procfs::parse_user_ticks(*stat), procfs::parse_children_ticks(*stat)};
}

std::vector<Pid> Children::same_program() const {
  std::vector<Pid> same;
  if (executable_.empty()) return same;
  for (const Pid pid : procfs::descendants(target_)) {
    if (procfs::executable(pid) == executable_) same.push_back(pid);
  }
  std::sort(same.begin(), same.end());
  return same;
}

ChildrenSeen Children::seen() const {
  ChildrenSeen seen{same_program(), 0};
  if (seen.same_program.empty()) seen.same_program = at_begin_;
  const auto now = ticks();
  if (!now || !ticks_at_begin_ || now->own <= ticks_at_begin_->own) return seen;
  seen.cpu_share = static_cast<double>(now->ended_children - ticks_at_begin_->ended_children) /
                   static_cast<double>(now->own - ticks_at_begin_->own);
  return seen;
}

}  // namespace causalctl::session
