#include "controller/tracee/process.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <numeric>

#include "controller/base/base_name.h"
#include "controller/base/core_rotation.h"
#include "controller/base/foreign_memory.h"
#include "controller/base/procfs.h"

namespace causalctl::tracee {
namespace {

std::optional<Address> find_syscall_in(Pid pid, const procfs::Map& map) {
  constexpr std::array instruction{std::byte{0x0f}, std::byte{0x05}};
  constexpr Address longest_search = 1 << 20;
  std::vector<std::byte> code(std::min(map.end - map.start, longest_search));
  if (!read_memory(pid, map.start, code)) return std::nullopt;
  const auto found = std::search(code.begin(), code.end(), instruction.begin(), instruction.end());
  if (found == code.end()) return std::nullopt;
  return map.start + static_cast<Address>(found - code.begin());
}

}  // namespace

std::optional<Activity> parse_activity(std::string_view text) {
  if (text.starts_with("running")) return Activity{};
  const auto off = procfs::parse_off_core(text);
  if (!off) return std::nullopt;
  return Activity{off->number >= 0 ? Activity::Kind::in_syscall : Activity::Kind::blocked,
                  off->number, off->instruction};
}

std::optional<Activity> activity(Pid pid, Tid tid) {
  const auto text = procfs::read_text(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  if (!text) return std::nullopt;
  return parse_activity(*text);
}

bool read_memory(Pid pid, Address address, std::span<std::byte> into) {
  return read_foreign(pid, address, into) == static_cast<ssize_t>(into.size());
}

bool write_memory(Pid pid, Address address, std::span<const std::byte> from) {
  return write_foreign(pid, address, from) == static_cast<ssize_t>(from.size());
}

std::optional<Address> find_syscall_instruction(Pid pid) {
  const auto maps = procfs::maps(pid);
  if (!maps) return std::nullopt;
  for (const auto& map : *maps) {
    if (map.path != "[vdso]") continue;
    if (auto found = find_syscall_in(pid, map)) return found;
  }
  for (const auto& map : *maps) {
    if (!map.executable || !map.readable || map.path == "[vsyscall]") continue;
    if (auto found = find_syscall_in(pid, map)) return found;
  }
  return std::nullopt;
}

// A read of memory makes the same check as an attach, before it looks at the address.
int trace_error(Pid pid) {
  std::byte byte{};
  const ssize_t count = read_foreign(pid, 0, std::span(&byte, 1));
  const bool allowed = count >= 0 || errno == EFAULT;
  return allowed ? 0 : errno;
}

std::vector<int> usable_cores(Pid pid) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const Tid tid : procfs::threads(pid)) {
    cpu_set_t set;
    if (sched_getaffinity(tid, sizeof set, &set) == 0) CPU_OR(&all, &all, &set);
  }
  std::vector<int> cores = cores_in(all);
  if (cores.empty()) {  // more than 1,024
    cores.resize(static_cast<std::size_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)));
    std::iota(cores.begin(), cores.end(), 0);
  }
  return cores;
}

std::optional<Traced> traced_by_other(Pid pid) {
  for (const Tid tid : procfs::threads(pid)) {
    const auto status = procfs::thread_status(pid, tid);
    if (status && status->tracer_pid != 0 && status->tracer_pid != getpid()) {
      return Traced{tid, status->tracer_pid};
    }
  }
  return std::nullopt;
}

bool is_stopped(Pid pid) {
  const auto status = procfs::status(pid);
  return status && status->state == 'T';
}

std::string process_name(Pid pid) {
  auto name = procfs::read_text(fmt::format("/proc/{}/comm", pid)).value_or("?");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? "?" : name;
}

std::string other_name(std::string_view executed, std::string_view file) {
  const std::string_view name = base_name(executed);
  return name == base_name(file) || file.empty() ? "" : std::string(name);
}

std::string started_as(Pid pid) {
  constexpr std::size_t page = 4096;
  std::string executed;
  std::array<char, page> part{};
  for (Address from = procfs::auxiliary(pid, AT_EXECFN); from != 0 && executed.size() < PATH_MAX;) {
    // The page after the string may not be mapped.
    const auto bytes = std::span(part).first(page - from % page);
    if (!read_memory(pid, from, std::as_writable_bytes(bytes))) return "";
    const std::string_view text(bytes.data(), bytes.size());
    executed += text.substr(0, text.find('\0'));
    if (text.find('\0') != std::string_view::npos)
      return other_name(executed, procfs::executable(pid));
    from += bytes.size();
  }
  return "";
}

}  // namespace causalctl::tracee
