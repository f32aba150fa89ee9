#include "controller/compare/usage.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>

#include "controller/base/process_clock.h"
#include "controller/base/procfs.h"

namespace causalctl::compare {
namespace {

void add_process(Pid pid, Snapshot& into) {
  const auto status = procfs::read_text(fmt::format("/proc/{}/status", pid));
  if (!status) return;
  constexpr std::uint64_t kKilobyte = 1024;
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", pid)).value_or("");
  static const Nanoseconds tick_ns = kSecond / sysconf(_SC_CLK_TCK);
  into.processes[pid] = {process_cpu_of(pid).value_or(0),
                         kKilobyte * status_number(*status, "VmHWM"),
                         kKilobyte * status_number(*status, "VmRSS"),
                         static_cast<Nanoseconds>(procfs::parse_children_ticks(stat)) * tick_ns};
  for (const Tid tid : procfs::threads(pid)) {
    const auto text = procfs::read_text(fmt::format("/proc/{}/task/{}/status", pid, tid));
    if (!text) continue;
    into.switches[tid] = status_number(*text, "voluntary_ctxt_switches") +
                         status_number(*text, "nonvoluntary_ctxt_switches");
  }
}

std::uint64_t since(std::uint64_t before, std::uint64_t after) {
  return after > before ? after - before : 0;  // the number may have been reused
}

}  // namespace

std::uint64_t status_number(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(name.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    std::uint64_t value = 0;
    std::from_chars(line.data(), line.data() + line.size(), value);
    return value;
  }
  return 0;
}

bool ignores_ends_of_children(Pid pid) {
  const auto status = procfs::status(pid);
  return status && procfs::has_signal(status->signals_ignored, SIGCHLD);
}

Snapshot snapshot(Pid pid) {
  Snapshot result;
  add_process(pid, result);
  for (const Pid child : procfs::descendants(pid)) add_process(child, result);
  return result;
}

Usage used_between(const Snapshot& before, const Snapshot& after) {
  Usage usage;
  Nanoseconds children_ns = 0;
  for (const auto& [pid, process] : after.processes) {
    const auto earlier = before.processes.find(pid);
    const ProcessUsage had = earlier == before.processes.end() ? ProcessUsage{} : earlier->second;
    usage.cpu_ns += std::max<Nanoseconds>(process.cpu_ns - had.cpu_ns, 0);
    children_ns += std::max<Nanoseconds>(process.children_ns - had.children_ns, 0);
    usage.peak_bytes += process.peak_bytes;
    usage.now_bytes += process.now_bytes;
  }
  // A child that has ended since then passes on what it used before, too.
  for (const auto& [pid, process] : before.processes) {
    if (!after.processes.contains(pid)) children_ns -= process.cpu_ns + process.children_ns;
  }
  usage.cpu_ns += std::max<Nanoseconds>(children_ns, 0);
  for (const auto& [tid, switches] : after.switches) {
    const auto earlier = before.switches.find(tid);
    usage.switches += since(earlier == before.switches.end() ? 0 : earlier->second, switches);
  }
  return usage;
}

}  // namespace causalctl::compare
