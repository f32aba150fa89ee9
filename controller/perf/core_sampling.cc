#include "controller/perf/core_sampling.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/perf/bpf/core_samples.skel.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/ring_sizes.h"
#include "controller/perf/stack_event.h"

namespace causalctl::perf {
namespace {

// As measured in virtual machines: of a switch of a thread with a clock, and of a tick.
constexpr double kSwitchCostNs = 7000;
constexpr double kTickCostNs = 2000;
// The smallest ring of a core, where memory is not short. It has the samples of all threads that
// run there, so that it fills faster than a thread's ring when the reader is late.
constexpr unsigned kFewestPages = 128;
constexpr Nanoseconds kLook = 50 * kMillisecond;
constexpr Nanoseconds kOwnTrial = 20 * kMillisecond;

bool is_stopped(Pid process) {
  const auto status = procfs::thread_status(process, process);
  return status && (status->state == 'T' || status->state == 't');
}

std::uint64_t switches_of(const std::vector<Pid>& processes) {
  std::uint64_t sum = 0;
  for (const Pid process : processes) {
    for (const Tid tid : procfs::threads(process)) {
      const auto text = procfs::read_text(fmt::format("/proc/{}/task/{}/schedstat", process, tid));
      if (text) sum += procfs::parse_switches_in(*text);
    }
  }
  return sum;
}

// Of the ring of each core.
unsigned pages_of_core(std::size_t cores, const SamplingFields& fields, std::size_t lockable) {
  const unsigned most = stack_ring_limit(cores);
  const unsigned pages = stack_ring_pages(fields.stack_bytes, most);
  if (lockable == kAnyMemory) return std::max(pages, std::min(kFewestPages, most));
  return static_cast<unsigned>(
      std::min<std::size_t>(pages, std::bit_floor(std::max<std::size_t>(1, lockable / 8 / cores))));
}

long cores_online() { return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)); }

}  // namespace

struct CoreSampling::Program {
  explicit Program(const ProcessBits& processes) {
    set_namespace_of(*object->rodata, getpid());
    share_map(object->maps.watched_processes, processes.descriptor());
    object.load();
  }
  int descriptor() const { return bpf_program__fd(object->progs.causalctl_core); }

  BpfObject<core_samples_bpf> object;
};

CoreSampling::CoreSampling(const ProcessBits& processes, const SamplingFields& fields,
                           std::size_t lockable, std::uint64_t seed, std::optional<int> program)
    : clocks_(fields.period_ns, seed) {
  if (!program) {
    program_ = std::make_unique<Program>(processes);
    program = program_->descriptor();
  }
  const auto cores = static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  const unsigned pages = pages_of_core(cores, fields, lockable);
  for (std::size_t number = 0; number < cores; ++number) {
    auto opened = open_stack_event(core_clock_attr(fields), pages, [&](const auto& attr) {
      return EventFd::open_on_core(attr, static_cast<int>(number), "sampling of a core");
    });
    if (!opened) continue;  // it is offline
    opened->event.set_program(*program);
    const auto& attr = opened->event.attr();
    Source source;
    source.ring = std::move(opened->ring);
    source.layouts = {{opened->event.id(), attr.sample_type, attr.sample_regs_user}};
    sources_.push_back(std::move(source));
    clocks_.add(std::move(opened->event), number);
  }
  clocks_.draw();
}

CoreSampling::~CoreSampling() = default;

void CoreSampling::enable(bool on) { clocks_.enable(on); }

void CoreSampling::set_period(Nanoseconds period_ns) { clocks_.set_mean(period_ns); }

std::optional<std::string> why_no_core_sampling() {
  try {
    ProcessBits ourselves;
    ourselves.sample(getpid());
    CoreSampling cores(ourselves, {.period_ns = kMillisecond / 2, .stack_bytes = 256},
                       lockable_pages(), 1);
    cores.enable(true);
    const Nanoseconds until_ns = process_cpu_now() + kOwnTrial;
    bool seen = false;
    bool foreign = false;
    while (!seen && process_cpu_now() < until_ns) {
      const auto use = [&](const SampleRecord& sample, Nanoseconds) {
        (sample.common.pid == getpid() ? seen : foreign) = true;
      };
      cores.read(use, [](const Record&) {});
    }
    if (foreign) return "samples of other processes were not dropped";
    if (!seen) return "opened, but no sample came";
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

double switches_per_second(const std::vector<Pid>& processes) {
  if (std::all_of(processes.begin(), processes.end(), is_stopped)) return 0;
  const std::uint64_t before = switches_of(processes);
  const Nanoseconds start_ns = monotonic_now();
  sleep_until(start_ns + kLook);
  const double passed = static_cast<double>(monotonic_now() - start_ns) / kSecond;
  const std::uint64_t after = switches_of(processes);
  return static_cast<double>(after - std::min(before, after)) / passed;
}

bool core_sampling_pays(double switches_per_second, Nanoseconds period_ns) {
  const double ticks =
      static_cast<double>(cores_online()) * kSecond / static_cast<double>(period_ns);
  return switches_per_second * kSwitchCostNs > ticks * kTickCostNs;
}

}  // namespace causalctl::perf
