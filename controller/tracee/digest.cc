#include "controller/tracee/digest.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/procfs.h"
#include "controller/tracee/code_bytes.h"
#include "controller/tracee/inject/own_mask.h"
#include "controller/tracee/inject/stub.h"
#include "controller/tracee/process.h"

namespace causalctl::tracee {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kThreadsInDetail = 64;  // as many as the injector chooses from

void add_thread(Tid tid, std::optional<std::uint64_t> mask, Lines& lines) {
  if (mask) lines.push_back(fmt::format("signals blocked by thread {}: {:016x}", tid, *mask));
  sched_param parameter{};
  const int policy = sched_getscheduler(tid);
  if (policy >= 0 && sched_getparam(tid, &parameter) == 0) {
    lines.push_back(fmt::format("scheduling of thread {}: policy {}, priority {}", tid, policy,
                                parameter.sched_priority));
  }
  const auto slack = procfs::read_text(fmt::format("/proc/{}/timerslack_ns", tid)).value_or("");
  if (!slack.empty()) {
    lines.push_back(
        fmt::format("timer slack of thread {}: {}", tid, slack.substr(0, slack.find('\n'))));
  }
}

// Before the guardian has touched any thread these are all threads, with the masks that are their
// own. Afterwards they are those that it has touched, with any mask: one that blocks all signals
// may be the guardian's.
void add_details(Pid pid, const std::vector<Tid>& tids, const Involvement& involvement,
                 Lines& lines) {
  const std::vector<Tid>& all = involvement.restored ? involvement.touched : tids;
  const auto detailed = std::span(all).first(std::min(all.size(), kThreadsInDetail));
  std::map<Tid, std::uint64_t> masks;
  if (!involvement.restored) masks = own_masks(pid, detailed);
  for (const Tid tid : detailed) {
    const auto own = masks.find(tid);
    auto mask = own == masks.end() ? std::nullopt : std::optional(own->second);
    if (involvement.restored) mask = mask_now(pid, tid);
    add_thread(tid, mask, lines);
  }
}

void add_threads(Pid pid, const Involvement& involvement, Digest& digest) {
  unsigned alive = 0;
  unsigned traced = 0;
  unsigned stopped = 0;
  unsigned pending = 0;
  const auto tids = procfs::threads(pid);
  for (const Tid tid : tids) {
    const auto status = procfs::thread_status(pid, tid);
    if (!status || status->state == 'Z' || status->state == 'X') continue;
    ++alive;
    if (status->tracer_pid == involvement.helper) ++traced;
    if (status->state == 'T' || status->state == 't') ++stopped;
    if (procfs::has_signal(status->signals_pending, SIGTRAP)) ++pending;
  }
  digest.lines.push_back(fmt::format("threads traced by causalctl: {}", traced));
  // A signal that stops a process stops all of its threads.
  digest.lines.push_back(fmt::format("threads stopped alone: {}", stopped < alive ? stopped : 0U));
  digest.lines.push_back(fmt::format("threads with a pending SIGTRAP: {}", pending));
  add_details(pid, tids, involvement, digest.lines);
}

std::string trap_disposition(const procfs::Status& status) {
  if (procfs::has_signal(status.signals_ignored, SIGTRAP)) return "ignored";
  return procfs::has_signal(status.signals_caught, SIGTRAP) ? "handled" : "default";
}

void add_signals(const procfs::Status& status, const Involvement& involvement, Digest& digest) {
  const bool ours = involvement.stub != 0 && !involvement.trap_replaced;
  (ours ? digest.lines : digest.others).push_back("SIGTRAP: " + trap_disposition(status));
  // glibc takes two signals for itself (32, 33), when the first thread is made or cancelled.
  constexpr std::uint64_t others =
      ~(std::uint64_t{3} << (32 - 1) | std::uint64_t{1} << (SIGTRAP - 1));
  digest.others.push_back(fmt::format("signals caught: {:016x}", status.signals_caught & others));
  digest.others.push_back(fmt::format("signals ignored: {:016x}", status.signals_ignored & others));
}

void add_mappings(Pid pid, const Involvement& involvement, std::span<const Address> places,
                  Digest& digest) {
  const auto maps = procfs::maps(pid);
  if (!maps) return;
  for (const auto& map : *maps) {
    if (!map.executable || map.inode == 0) continue;
    digest.others.push_back(
        fmt::format("text {} +{:#x}: {:#x}-{:#x}", map.path, map.offset, map.start, map.end));
  }
  for (const CodeBytes& code : code_of(pid, *maps, places)) {
    digest.lines.push_back(fmt::format("{}: {:016x}", code.name, fnv1a(code.bytes)));
  }
  const bool ours = find_stub(pid, involvement.stub).has_value();
  digest.lines.push_back(fmt::format("mapping of causalctl: {}", ours ? "yes" : "no"));
}

std::uint64_t text_hash(const std::string& text) { return fnv1a(std::as_bytes(std::span(text))); }

void add_files_and_limits(Pid pid, Digest& digest) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator each(fmt::format("/proc/{}/fd", pid), error), end;
       !error && each != end; each.increment(error)) {
    std::error_code closed;
    const auto link = std::filesystem::read_symlink(each->path(), closed);
    if (!closed) files.push_back(each->path().filename().string() + " " + link.string());
  }
  std::sort(files.begin(), files.end());
  std::string all;
  for (const std::string& file : files) all += file + "\n";
  digest.others.push_back(
      fmt::format("open files: {} (hash {:016x})", files.size(), text_hash(all)));
  const auto limits = procfs::read_text(fmt::format("/proc/{}/limits", pid)).value_or("");
  digest.others.push_back(fmt::format("limits: {:016x}", text_hash(limits)));
}

void add_by_name(const Lines& lines, std::map<std::string_view, std::string_view>& values) {
  for (const std::string_view line : lines) {
    const auto colon = line.rfind(": ");
    if (colon != std::string_view::npos) values[line.substr(0, colon)] = line.substr(colon + 2);
  }
}

// A line that only one of them has is no difference: the target itself loads and unloads libraries,
// and a target that has ended has no lines.
Lines differing(const Digest& before, const Lines& after) {
  std::map<std::string_view, std::string_view> old_values;
  add_by_name(before.lines, old_values);
  add_by_name(before.others, old_values);
  std::map<std::string_view, std::string_view> new_values;
  add_by_name(after, new_values);
  Lines result;
  for (const auto& [name, value] : new_values) {
    const auto found = old_values.find(name);
    if (found != old_values.end() && found->second != value) {
      result.push_back(fmt::format("{}: {} before, {} after", name, found->second, value));
    }
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

Digest digest_of(Pid pid, const Involvement& involvement, std::span<const Address> places) {
  Digest digest;
  const auto status = procfs::status(pid);
  if (!status) return digest;
  // While the guardian has it suspended before its first instruction, nothing of its threads and
  // signals is its own.
  if (status->tracer_pid != involvement.helper || involvement.restored) {
    add_threads(pid, involvement, digest);
    add_signals(*status, involvement, digest);
  }
  add_mappings(pid, involvement, places, digest);
  add_files_and_limits(pid, digest);
  std::sort(digest.lines.begin(), digest.lines.end());
  std::sort(digest.others.begin(), digest.others.end());
  return digest;
}

Lines differences(const Digest& before, const Digest& after) {
  return differing(before, after.lines);
}

Lines own_changes(const Digest& before, const Digest& after) {
  return differing(before, after.others);
}

}  // namespace causalctl::tracee
