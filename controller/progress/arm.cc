// Arming a resolved point through perf::Session, one event per place, all with the point's tag.
//
// perf_event_open(2): PERF_TYPE_BREAKPOINT with HW_BREAKPOINT_X uses one of the four debug
// registers of a thread; the kernel switches them with the thread and removes them with us. A
// uprobe (PMU "uprobe", Documentation/trace/uprobetracer.rst) is named by file and file offset; its
// int3 is put into the target's private page by the kernel, which takes it away with us too.
// Both are reported before the instruction executes, once per execution.
#include <fmt/format.h>
#include <linux/hw_breakpoint.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <set>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/progress/boundary.h"
#include "controller/progress/image.h"
#include "controller/progress/progress.h"
#include "controller/progress/syscalls.h"
#include "controller/progress/usdt.h"

namespace causalctl::progress {
namespace {

constexpr std::size_t kDebugRegisters = 4;
constexpr std::size_t kPlacesNamed = 8;  // in a message
constexpr const char* kUprobeHint =
    "uprobes need root or CAP_PERFMON; without them, use at most four places in all, which fit "
    "into the hardware breakpoint registers";

// perf_event_attr holds the path of a uprobe by pointer, and the session opens the event anew for
// each thread to come: the text must outlive every session. There are as few as files probed.
const char* keep_forever(const std::string& text) {
  static std::mutex lock;
  static std::set<std::string> texts;
  const std::lock_guard guard(lock);
  return texts.insert(text).first->c_str();
}

perf::VisitTemplate visit(const Point& point, std::uint32_t tag, const char* kind) {
  perf::VisitTemplate result;
  result.tag = tag;
  result.what = fmt::format("{} for progress point '{}'", kind, point.name);
  result.attr.size = sizeof result.attr;
  return result;
}

perf::VisitTemplate breakpoint(const Point& point, std::uint32_t tag, Address address) {
  auto result = visit(point, tag, "hardware breakpoint");
  result.attr.type = PERF_TYPE_BREAKPOINT;
  result.attr.bp_type = HW_BREAKPOINT_X;
  result.attr.bp_addr = address;
  result.attr.bp_len = sizeof(long);  // what the kernel demands of an execution breakpoint
  result.attr.exclude_kernel = 1;
  result.attr.exclude_hv = 1;
  return result;
}

std::uint32_t uprobe_type() {
  const auto text = procfs::read_text("/sys/bus/event_source/devices/uprobe/type");
  std::uint32_t type = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), type).ec != std::errc{}) {
    throw Error("this kernel has no uprobe events (/sys/bus/event_source/devices/uprobe)",
                "needs Linux 4.17 with CONFIG_UPROBE_EVENTS");
  }
  return type;
}

perf::VisitTemplate uprobe(const Point& point, std::uint32_t tag, Pid target, Address address,
                           std::uint64_t semaphore_offset) {
  const auto place = file_place(target, address);
  if (!place) {
    throw Error(fmt::format("progress point '{}': the file that is mapped at 0x{:x} cannot be "
                            "reached",
                            point.name, address),
                "if it was deleted or replaced, run as root");
  }
  // The format says ref_ctr_offset is config:32-63.
  if (semaphore_offset >> 32 != 0) {
    throw Error(
        fmt::format("progress point '{}': the semaphore is beyond 4 GB in its file", point.name));
  }
  auto result = visit(point, tag, "uprobe");
  result.attr.type = uprobe_type();
  result.attr.config = semaphore_offset << 32;
  result.attr.uprobe_path = reinterpret_cast<std::uint64_t>(keep_forever(place->readable));
  result.attr.probe_offset = place->offset;
  result.attr.exclude_kernel = 1;
  result.attr.exclude_hv = 1;
  return result;
}

bool is_permission(const Error& error) {
  return error.error_number() == EACCES || error.error_number() == EPERM;
}

// Where a point has too many places for an ordinary user, each of them by itself has not.
std::string uprobe_hint(const Point& point, Pid target) {
  std::string hint = kUprobeHint;
  if (point.places.size() < 2) return hint;
  hint +=
      fmt::format("\n'{}' was compiled to {} places; one of them by itself would be:", point.name,
                  point.places.size());
  for (std::size_t i = 0; i < std::min(point.places.size(), kPlacesNamed); ++i) {
    hint += "\n    " + name_by_offset(target, point.places[i].address);
  }
  return hint;
}

void add_uprobe(const perf::VisitTemplate& visit, const Point& point, Pid target,
                perf::Session& session) {
  try {
    session.add(visit);
  } catch (const Error& error) {
    if (!is_permission(error)) throw;
    throw Error::from_errno(visit.what, error.error_number(), uprobe_hint(point, target));
  }
}

// false: no register is free.
bool add_breakpoint(const perf::VisitTemplate& visit, perf::Session& session) {
  try {
    session.add(visit);
    return true;
  } catch (const Error& error) {
    if (error.error_number() != ENOSPC) throw;
    return false;
  }
}

std::string kinds(bool breakpoints, bool uprobes, std::size_t places) {
  std::string kinds = uprobes ? "uprobe" : "hardware breakpoint";
  if (breakpoints && uprobes) kinds = "hardware breakpoint and uprobe";
  return places > 1 ? fmt::format("{} at {} places", kinds, places) : kinds;
}

std::string arm_code(const Point& point, std::uint32_t tag, Pid target, perf::Session& session) {
  // A point that needs more registers than there are would take them all from other points.
  bool registers_free = point.places.size() <= kDebugRegisters;
  bool breakpoints = false;
  bool uprobes = false;
  for (const auto& place : point.places) {
    registers_free =
        registers_free && add_breakpoint(breakpoint(point, tag, place.address), session);
    if (registers_free) {
      breakpoints = true;
    } else {
      add_uprobe(uprobe(point, tag, target, place.address, 0), point, target, session);
      uprobes = true;
    }
  }
  return kinds(breakpoints, uprobes, point.places.size());
}

std::uint64_t semaphore_of(const std::vector<UsdtSite>& sites, const UsdtSpec& spec,
                           Address address) {
  for (const auto& site : sites) {
    const bool same = site.provider == spec.provider && site.name == spec.name;
    if (same && site.address == address) return site.semaphore_offset;
  }
  return 0;
}

// By uprobe, whose registration holds the semaphore up. Where uprobes are not permitted, a probe
// without a semaphore is as well a place for a breakpoint.
std::string arm_usdt(const Point& point, const UsdtSpec& spec, std::uint32_t tag, Pid target,
                     perf::Session& session) {
  const auto sites = usdt_sites(target);
  bool breakpoints = false;
  bool uprobes = false;
  for (const auto& place : point.places) {
    const auto semaphore = semaphore_of(sites, spec, place.address);
    try {
      add_uprobe(uprobe(point, tag, target, place.address, semaphore), point, target, session);
      uprobes = true;
    } catch (const Error& error) {
      if (!is_permission(error) || semaphore != 0 ||
          !add_breakpoint(breakpoint(point, tag, place.address), session)) {
        throw;
      }
      breakpoints = true;
    }
  }
  return kinds(breakpoints, uprobes, point.places.size());
}

std::string arm_syscall(const Point& point, const SyscallSpec& spec, std::uint32_t tag,
                        perf::Session& session) {
  const auto id = syscall_tracepoint(tracefs_of_calls().path, spec.name);
  if (!id) throw UsageError(fmt::format("progress point '{}': no such system call", point.name));
  auto event = visit(point, tag, "tracepoint");
  event.attr.type = PERF_TYPE_TRACEPOINT;
  event.attr.config = *id;  // fires in the kernel: exclude_kernel would hide it
  try {
    session.add(event);
  } catch (const Error& error) {
    if (!is_permission(error)) throw;
    throw Error::from_errno(event.what, error.error_number(),
                            "tracepoints need root, CAP_PERFMON or perf_event_paranoid -1");
  }
  return "tracepoint";
}

}  // namespace

std::string arm(const Point& point, std::uint32_t tag, Pid target, perf::Session& session) {
  if (std::holds_alternative<SampledSpec>(point.spec)) return "samples";
  if (const auto* spec = std::get_if<SyscallSpec>(&point.spec)) {
    return arm_syscall(point, *spec, tag, session);
  }
  INVARIANT(!point.places.empty());
  if (const auto* spec = std::get_if<UsdtSpec>(&point.spec)) {
    return arm_usdt(point, *spec, tag, target, session);
  }
  return arm_code(point, tag, target, session);
}

}  // namespace causalctl::progress
