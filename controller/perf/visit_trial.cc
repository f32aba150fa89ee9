#include "controller/perf/visit_trial.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/base/statistics.h"
#include "controller/base/thread.h"
#include "controller/base/tracefs.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"
#include "controller/perf/kept_open.h"

namespace causalctl::perf {
namespace {

// The median of them counts, so that a stall of the machine spoils only one.
constexpr int kBatches = 15;
constexpr int kHits = 10;
constexpr std::uint64_t kCalls = std::uint64_t{kBatches} * kHits;

// This function begins with an instruction that the kernel does not emulate.
extern "C" void causalctl_stepped();
extern "C" void causalctl_emulated();
__asm__(
    ".pushsection .text\n"
    ".balign 64\n"
    "causalctl_stepped: xorl %eax, %eax\n"
    "ret\n"
    ".balign 64\n"
    "causalctl_emulated: pushq %rbp\n"
    "popq %rbp\n"
    "ret\n"
    ".popsection\n");

using Visited = void (*)();

Trial visit(Facility facility, Visited visited, const std::function<std::uint64_t()>& count) {
  const std::uint64_t before = count();
  std::vector<double> batches_ns;
  for (int batch = 0; batch < kBatches; ++batch) {
    const Nanoseconds start_ns = monotonic_now();
    for (int i = 0; i < kHits; ++i) visited();
    batches_ns.push_back(static_cast<double>(monotonic_now() - start_ns) / kHits);
  }
  const std::uint64_t counted = is_pretended_broken(facility) ? 0 : count() - before;
  return trial_of_visits(facility, counted, kCalls,
                         static_cast<Nanoseconds>(statistics::median(batches_ns)));
}

// Returns nullopt if /proc does not tell.
std::optional<UprobePlace> place_of(Visited function, std::uint32_t tag) {
  const auto address = reinterpret_cast<Address>(function);
  const auto maps = procfs::maps(getpid());
  if (!maps) return std::nullopt;
  for (const procfs::Map& map : *maps) {
    if (address < map.start || address >= map.end) continue;
    return UprobePlace{"/proc/self/exe", address - map.start + map.offset, 0, tag};
  }
  return std::nullopt;
}

UprobeTrial both(const Trial& stepped, const Trial& emulated) {
  UprobeTrial trial{stepped};
  trial.emulated_cost_ns = emulated.cost_ns;
  if (trial.is_seen() && emulated.is_seen()) {
    trial.finding += fmt::format("; {:.1f} µs where the kernel emulates the instruction",
                                 static_cast<double>(emulated.cost_ns) / kMicrosecond);
  }
  return trial;
}

// A link that is opened by the number of a process may report its first thread only (Linux 6.6 to
// 6.9).
bool counts_other_threads(const Uprobes& uprobes, std::uint32_t tag) {
  const std::uint64_t before = uprobes.count(tag);
  start_thread("a trial of uprobes", causalctl_stepped).join();
  return uprobes.count(tag) == before + 1;
}

UprobeTrial try_program(const std::array<UprobePlace, 2>& places, Uprobes::Means means) {
  Uprobes uprobes(getpid(), means);
  uprobes.add({places.begin(), places.end()});
  uprobes.start();
  const auto visit_of = [&uprobes](Visited function, std::uint32_t tag) {
    return visit(Facility::uprobe, function, [&uprobes, tag] {
      std::vector<UprobeHit> hits;
      uprobes.read(hits);
      return uprobes.count(tag);
    });
  };
  UprobeTrial trial = both(visit_of(causalctl_stepped, 0), visit_of(causalctl_emulated, 1));
  if (trial.is_seen() && !counts_other_threads(uprobes, 0)) {
    static_cast<Trial&>(trial) = {Facility::uprobe, Outcome::never_fired,
                                  "opened, but it counts one thread only", "", 0};
  }
  if (trial.is_seen()) trial.means = means;
  keep_open(std::move(uprobes));
  return trial;
}

UprobeTrial try_events(const std::array<UprobePlace, 2>& places) {
  const auto visit_of = [](const UprobePlace& place, Visited function) {
    auto event = EventFd::open(visit_attr(uprobe_attr(place)), 0, "uprobe on ourselves");
    if (!event) throw Error("our own thread is gone");
    event->enable();
    Trial trial = visit(Facility::uprobe, function, [&event] { return event->read_count(); });
    keep_open(std::move(*event));
    return trial;
  };
  return both(visit_of(places[0], causalctl_stepped), visit_of(places[1], causalctl_emulated));
}

// Returns the tracepoint of getppid(2), if it is known.
std::optional<std::uint64_t> tracepoint_of_trial() {
  std::string problem;
  const auto tracefs = find_tracefs(problem);
  if (!tracefs) return std::nullopt;
  const auto id = procfs::read_number(tracefs->path + "/events/syscalls/sys_enter_getppid/id");
  return id ? std::optional(static_cast<std::uint64_t>(*id)) : std::nullopt;
}

bool try_calls() {
  const auto id = tracepoint_of_trial();
  if (!id) return false;
  try {
    Uprobes calls(getpid(), Uprobes::Means::none);
    calls.add_call(*id, 0);
    calls.start();
    for (int i = 0; i < kHits; ++i) syscall(SYS_getppid);
    std::vector<UprobeHit> hits;
    calls.read(hits);
    const bool all = calls.count(0) == kHits && hits.size() == kHits;
    keep_open(std::move(calls));
    return all;
  } catch (const Error& error) {
    log::verbose("system calls are counted by an event of each thread: {}", error.what());
    return false;
  }
}

// Whether the stack of a hit is copied as it is.
bool try_copies() {
  const auto& means = uprobe_trial().means;
  const auto place = place_of(causalctl_stepped, 0);
  if (!means || !place) return false;
  constexpr unsigned kBytes = 256;
  try {
    Uprobes uprobes(getpid(), *means, {.stack_bytes = kBytes, .most_pieces = 16});
    uprobes.add({*place});
    uprobes.set_use(0, {.row = 0, .copied_every = 1});
    uprobes.start();
    causalctl_stepped();
    std::vector<SampleEvent> samples;
    uprobes.read_copies(samples);
    keep_open(std::move(uprobes));
    return samples.size() == 1 && samples[0].tag == 0 && samples[0].thread.tid == gettid() &&
           samples[0].user.stack.size() >= sizeof(Address);
  } catch (const Error& error) {
    log::verbose("stacks of uprobes' hits are not copied by a BPF program: {}", error.what());
    return false;
  }
}

void touch_new_page() {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  *static_cast<volatile char*>(page) = 1;
  munmap(page, bytes);
}

// Whether an event of this process is copied as what it is: open() opens it by a tag, and happen()
// lets it happen once or a few times.
template <typename Open, typename Happen>
bool is_copied(const char* what, Open open, Happen happen) {
  constexpr std::uint32_t kTag = 0;
  constexpr unsigned kBytes = 256;
  try {
    Uprobes events(getpid(), Uprobes::Means::none,
                   {.stack_bytes = kBytes, .most_pieces = 64, .of_calls = true});
    events.keep(open(events, kTag));
    events.set_use(kTag, {.row = 0, .copied_every = 1});
    events.start();
    happen();
    std::vector<SampleEvent> samples;
    events.read_copies(samples);
    const bool is_seen = std::any_of(samples.begin(), samples.end(), [](const SampleEvent& sample) {
      return sample.tag == kTag && sample.thread.tid == gettid() && sample.stack_pointer != 0 &&
             sample.user.stack.size() >= sizeof(Address);
    });
    keep_open(std::move(events));
    return is_seen;
  } catch (const Error& error) {
    log::verbose("{} are sampled by an event of each thread: {}", what, error.what());
    return false;
  }
}

bool try_copied_calls() {
  const auto id = tracepoint_of_trial();
  if (!id) return false;
  return is_copied(
      "system calls",
      [&](Uprobes& events, std::uint32_t tag) { return events.open_call(*id, tag, false); },
      [] { syscall(SYS_getppid); });
}

bool try_copied_page_faults() {
  perf_event_attr faults{};
  faults.type = PERF_TYPE_SOFTWARE;
  faults.config = PERF_COUNT_SW_PAGE_FAULTS;
  return is_copied(
      "page faults",
      [&](Uprobes& events, std::uint32_t tag) {
        return events.open_on_cores(faults, tag, "page faults");
      },
      touch_new_page);
}

perf_event_attr own_breakpoint() {
  return visit_attr(breakpoint_attr(reinterpret_cast<Address>(&causalctl_stepped)));
}

}  // namespace

bool is_emulated(std::span<const std::byte> instruction) {
  const auto byte = [&](std::size_t i) {
    return i < instruction.size() ? std::to_integer<unsigned>(instruction[i]) : 0U;
  };
  std::size_t i = 0;
  while (byte(i) == 0x66) ++i;                  // of a long nop
  if (byte(i) >= 0x40 && byte(i) <= 0x4f) ++i;  // REX
  const unsigned opcode = byte(i);
  if (opcode == 0x0f) {
    return byte(i + 1) == 0x1f || (byte(i + 1) >= 0x80 && byte(i + 1) <= 0x8f);  // nop, jcc
  }
  return (opcode >= 0x50 && opcode <= 0x57) || (opcode >= 0x70 && opcode <= 0x7f) ||
         opcode == 0x90 || opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb;
}

Trial trial_of_visits(Facility facility, std::uint64_t counted, std::uint64_t made,
                      Nanoseconds cost_ns) {
  if (counted == 0) return {facility, Outcome::never_fired, "opened, but never fired", "", 0};
  if (counted != made) {
    return {facility, Outcome::never_fired,
            fmt::format("opened, but {} of {} hits only were counted", counted, made), "", 0};
  }
  return {facility, Outcome::seen,
          fmt::format("{} of {} hits counted, {:.1f} µs each", counted, made,
                      static_cast<double>(cost_ns) / kMicrosecond),
          "", cost_ns};
}

Trial try_breakpoint() {
  try {
    const auto event = EventFd::open(own_breakpoint(), 0, "breakpoint on ourselves");
    if (!event) throw Error("our own thread is gone");
    event->enable();
    return visit(Facility::breakpoint, causalctl_stepped, [&event] { return event->read_count(); });
  } catch (const Error& error) {
    return refused(Facility::breakpoint, error);
  }
}

int free_debug_registers() {
  constexpr std::size_t most = 16;
  std::vector<EventFd> events;
  try {
    while (events.size() < most) {
      auto event = EventFd::open(own_breakpoint(), 0, "breakpoint on ourselves");
      if (!event) break;
      events.push_back(std::move(*event));
    }
  } catch (const Error&) {  // there is no free register left
    return static_cast<int>(events.size());
  }
  return static_cast<int>(events.size());
}

UprobeTrial try_uprobes() {
  try {
    const auto stepped = place_of(causalctl_stepped, 0);
    const auto emulated = place_of(causalctl_emulated, 1);
    if (!stepped || !emulated) throw Error("/proc/self/maps does not have our own code");
    const std::array places = {*stepped, *emulated};
    for (const auto means : {Uprobes::Means::links, Uprobes::Means::events}) {
      try {
        UprobeTrial trial = try_program(places, means);
        if (trial.is_seen()) return trial;
      } catch (const Error&) {  // an older kernel, or no right: the next way is tried
        continue;
      }
    }
    return try_events(places);
  } catch (const Error& error) {
    return {refused(Facility::uprobe, error)};
  }
}

bool copies_are_seen() {
  static const bool seen = try_copies();
  return seen;
}

bool calls_are_counted() {
  static const bool counted = try_calls();
  return counted;
}

bool calls_are_copied() {
  static const bool copied = try_copied_calls();
  return copied;
}

bool page_faults_are_copied() {
  static const bool copied = try_copied_page_faults();
  return copied;
}

const Trial& breakpoint_trial() {
  static const Trial trial = try_breakpoint();
  return trial;
}

const UprobeTrial& uprobe_trial() {
  static const UprobeTrial trial = try_uprobes();
  return trial;
}

}  // namespace causalctl::perf
