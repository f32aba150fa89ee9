#include "controller/target/digest.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <string_view>

#include "controller/base/procfs.h"
#include "controller/target/process.h"

namespace causalctl::target {
namespace {

using Lines = std::vector<std::string>;

std::uint64_t text_hash(Pid pid, const procfs::Map& map) {
  constexpr Address longest = 1 << 20;
  std::vector<std::byte> code(std::min(map.end - map.start, longest));
  return read_memory(pid, map.start, code) ? fnv1a(code) : 0;
}

// Some calls have a mask of their own while they block: that is not the thread's.
bool may_be_masking(Pid pid) {
  constexpr std::array masking{SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, SYS_rt_sigsuspend,
                               SYS_rt_sigtimedwait};
  const auto doing = activity(pid, pid);
  return !doing || std::find(masking.begin(), masking.end(), doing->number) != masking.end();
}

void add_status(Pid pid, Pid helper, Lines& lines) {
  const bool masking_before = may_be_masking(pid);
  const auto status = procfs::status(pid);
  // Held by us before its first instruction: nothing of this is its own yet.
  if (!status || status->tracer_pid == helper) return;
  const bool stopped = status->state == 'T' || status->state == 't';
  lines.push_back(fmt::format("tracer: {}", status->tracer_pid));
  lines.push_back(fmt::format("stopped: {}", stopped ? "yes" : "no"));
  // glibc takes two signals for itself (32, 33), when the first thread is made or cancelled.
  constexpr std::uint64_t of_glibc = std::uint64_t{3} << (32 - 1);
  lines.push_back(fmt::format("signals caught: {:016x}", status->signals_caught & ~of_glibc));
  lines.push_back(fmt::format("signals ignored: {:016x}", status->signals_ignored));
  if (!masking_before && !may_be_masking(pid)) {
    lines.push_back(
        fmt::format("signals blocked by the main thread: {:016x}", status->signals_blocked));
  }
}

void add_mappings(Pid pid, const Injection& injection, Lines& lines) {
  const auto maps = procfs::maps(pid);
  if (!maps) return;
  const auto executable = procfs::executable(pid);
  bool ours = false;
  for (const auto& map : *maps) {
    ours |= injection.code != 0 && map.start <= injection.code && injection.code < map.end;
    if (!map.executable || map.inode == 0) continue;
    lines.push_back(
        fmt::format("text {} +{:#x}: {:#x}-{:#x}", map.path, map.offset, map.start, map.end));
    if (map.path == executable) {
      lines.push_back(fmt::format("hash of text {} +{:#x}: {:016x}", map.path, map.offset,
                                  text_hash(pid, map)));
    }
  }
  lines.push_back(fmt::format("mapping of causalctl: {}", ours ? "yes" : "no"));
}

void add_limits(Pid pid, Lines& lines) {
  const auto slack = procfs::read_text(fmt::format("/proc/{}/timerslack_ns", pid)).value_or("");
  lines.push_back(fmt::format("timer slack: {}", slack.substr(0, slack.find('\n'))));
  const auto limits = procfs::read_text(fmt::format("/proc/{}/limits", pid)).value_or("");
  lines.push_back(fmt::format("limits: {:016x}", fnv1a(std::as_bytes(std::span(limits)))));
}

std::map<std::string_view, std::string_view> by_name(const Digest& digest) {
  std::map<std::string_view, std::string_view> result;
  for (const std::string_view line : digest.lines) {
    const auto colon = line.rfind(": ");
    if (colon != std::string_view::npos) result[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return result;
}

}  // namespace

std::uint64_t fnv1a(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto byte : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

Digest digest_of(Pid pid, const Injection& injection, Pid helper) {
  Digest digest;
  if (!procfs::status(pid)) return digest;
  add_status(pid, helper, digest.lines);
  add_mappings(pid, injection, digest.lines);
  add_limits(pid, digest.lines);
  std::sort(digest.lines.begin(), digest.lines.end());
  return digest;
}

// A line that only one of them has is no difference: the target itself loads and unloads libraries,
// and an ended target has none.
std::vector<std::string> differences(const Digest& before, const Digest& after) {
  std::vector<std::string> result;
  const auto old_values = by_name(before);
  for (const auto& [name, value] : by_name(after)) {
    const auto found = old_values.find(name);
    if (found != old_values.end() && found->second != value) {
      result.push_back(fmt::format("{}: {} before, {} after", name, found->second, value));
    }
  }
  return result;
}

}  // namespace causalctl::target
