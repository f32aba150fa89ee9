// Arming a resolved point through perf::Session: all places of a point in one way, with its tag.
//
// perf_event_open(2): PERF_TYPE_BREAKPOINT with HW_BREAKPOINT_X uses one of the four debug
// registers of a thread; the kernel switches them with the thread and removes them with us. A
// uprobe is named by file and file offset; its int3 is put into the target's private page by the
// kernel, which takes it away with us too. Both are reported before the instruction executes, once
// per execution.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "controller/base/error.h"
#include "controller/perf/visit_trial.h"
#include "controller/progress/boundary.h"
#include "controller/progress/file_code.h"
#include "controller/progress/image.h"
#include "controller/progress/loaded_later.h"
#include "controller/progress/progress.h"
#include "controller/progress/syscalls.h"
#include "controller/progress/uprobe_address.h"
#include "controller/progress/usdt.h"

namespace causalctl::progress {
namespace {

constexpr std::size_t kDebugRegisters = 4;
constexpr double kFewestBirths = 3;         // so that first visits that are missing matter
constexpr double kBirthsThatMatter = 0.01;  // for each visit
constexpr std::size_t kPlacesNamed = 8;     // in a message
constexpr const char* kUprobeHint =
    "uprobes need root or CAP_PERFMON; without them, use at most four places in all, which fit "
    "into the hardware breakpoint registers";

perf::VisitTemplate visit(const Point& point, std::uint32_t tag, const char* kind) {
  perf::VisitTemplate result;
  result.tag = tag;
  result.what = fmt::format("{} for progress point '{}'", kind, point.name);
  result.attr.size = sizeof result.attr;
  return result;
}

perf::VisitTemplate breakpoint(const Point& point, std::uint32_t tag, Address address) {
  auto result = visit(point, tag, "hardware breakpoint");
  result.attr = perf::breakpoint_attr(address);
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

// "lock add dword ptr [rip + 0x2f], 1 at prog+0x1234"
std::string instruction_at(Pid target, Address address) {
  const auto bytes = read_code(target, address, address);
  const auto instruction = disasm::Decoder().decode(bytes, address);
  const std::string place = name_by_offset(target, address);
  if (!instruction) return "the code at " + place;
  return fmt::format("'{} {}' at {}", instruction->mnemonic, instruction->text, place);
}

// Uprobes are armed for all commands, and only some have another way to count.
constexpr const char* kByBreakpoint =
    "attach, run and ab can count by --count-by breakpoint, which callpath cannot";

[[noreturn]] void refuse_instruction(const Point& point, Pid target, Address address) {
  throw Error(
      fmt::format("progress point '{}': the kernel lets no uprobe stand on {}, and no neighbour is "
                  "certain to be executed as often",
                  point.name, instruction_at(target, address)),
      fmt::format("name the line before or after it; {}, where those fire", kByBreakpoint));
}

perf::UprobePlace uprobe(const Point& point, std::uint32_t tag, Pid target, std::size_t index,
                         std::uint64_t semaphore_offset) {
  const Address address = point.places[index].address;
  const auto moved = point.uprobe_addresses.at(index);
  if (!moved) refuse_instruction(point, target, address);
  const auto place = file_place(target, *moved);
  if (!place) {
    throw Error(fmt::format("progress point '{}': no file that can be reached is mapped at 0x{:x}, "
                            "so no uprobe can stand there",
                            point.name, address),
                fmt::format("if its file was deleted, run as root; where a program has moved its "
                            "text to anonymous memory, {}",
                            kByBreakpoint));
  }
  return {place->readable, place->offset, semaphore_offset, tag};
}

// Returns an address at which a uprobe would destroy the target's code, or nullopt.
std::optional<Address> changed_code(const Point& point, Pid target) {
  for (const auto& address : point.uprobe_addresses) {
    if (!address) continue;
    if (const auto changed = differs_from_file(target, *address)) return changed;
  }
  return std::nullopt;
}

bool can_be_uprobe(const Point& point, Pid target) {
  return std::all_of(point.uprobe_addresses.begin(), point.uprobe_addresses.end(),
                     [](const auto& address) { return address.has_value(); }) &&
         !changed_code(point, target);
}

void require_code_of_file(const Point& point, Pid target) {
  const auto changed = changed_code(point, target);
  if (!changed) return;
  throw Error(fmt::format("progress point '{}': the code at {} (0x{:x}) is not that of its file: "
                          "the program has patched it, or its text was relocated. A uprobe there "
                          "would destroy it",
                          point.name, name_by_offset(target, *changed), *changed),
              fmt::format("{}, with at most four places in all", kByBreakpoint));
}

// The paths may differ, because each mapping of a deleted file has its own.
bool same_place(const perf::UprobePlace& a, const perf::UprobePlace& b) {
  std::error_code error;
  return a.offset == b.offset && std::filesystem::equivalent(a.path, b.path, error);
}

void require_uprobes(const Point& point) {
  const perf::UprobeTrial& trial = perf::uprobe_trial();
  if (trial.is_seen()) return;
  std::string what = fmt::format("progress point '{}': a uprobe on causalctl itself: {}",
                                 point.name, trial.finding);
  if (const auto& breakpoint = perf::breakpoint_trial(); !breakpoint.is_seen()) {
    what += fmt::format("; a hardware breakpoint on causalctl itself: {}", breakpoint.finding);
  }
  throw Error(what, kUprobeHint);
}

// Of one visit, on average over the places.
Nanoseconds uprobe_cost_ns(const Point& point, Pid target) {
  const perf::UprobeTrial& trial = perf::uprobe_trial();
  Nanoseconds sum_ns = 0;
  disasm::Decoder decoder;
  for (const auto& address : point.uprobe_addresses) {
    const auto bytes = read_code(target, *address, *address);
    const auto instruction = decoder.decode(bytes, *address);
    const bool emulated =
        instruction && perf::is_emulated(std::span(bytes).first(instruction->size));
    sum_ns += emulated ? trial.emulated_cost_ns : trial.cost_ns;
  }
  return sum_ns / static_cast<Nanoseconds>(point.uprobe_addresses.size());
}

class Arming {
 public:
  Arming(Pid target, config::CountBy count_by, perf::Session& session)
      : target_(target), count_by_(count_by), session_(session) {}

  Armed arm(const Point& point, std::uint32_t tag);
  void add_uprobes();  // those of all points at once: one link is closed as fast as one uprobe

 private:
  Armed code(const Point& point, std::uint32_t tag);
  Armed usdt(const Point& point, const UsdtSpec& spec, std::uint32_t tag);
  Armed system_call(const Point& point, const SyscallSpec& spec, std::uint32_t tag);
  std::optional<Armed> by_breakpoint(const Point& point, std::uint32_t tag);
  Armed by_breakpoint_only(const Point& point, std::uint32_t tag);
  // `semaphores`: by place, offsets in the file.
  Armed by_uprobe(const Point& point, std::uint32_t tag,
                  const std::vector<std::uint64_t>& semaphores);
  void find_refused() const;

  struct Waiting {
    const Point* point;
    std::size_t place;  // its index
  };

  Pid target_;
  config::CountBy count_by_;
  perf::Session& session_;
  std::vector<perf::UprobePlace> uprobes_;
  std::vector<Waiting> waiting_;  // what each of them is for
};

Armed Arming::by_uprobe(const Point& point, std::uint32_t tag,
                        const std::vector<std::uint64_t>& semaphores) {
  UprobePlan plan = plan_uprobes(point, target_, tag, semaphores);
  for (const std::size_t place : plan.of) waiting_.push_back({&point, place});
  uprobes_.insert(uprobes_.end(), plan.places.begin(), plan.places.end());
  return {CountedBy::uprobe, point.places.size(), plan.visit_cost_ns, true};
}

void Arming::add_uprobes() {
  if (uprobes_.empty()) return;
  const Point& first = *waiting_.front().point;
  const std::string what = fmt::format("uprobes for progress point '{}'", first.name);
  try {
    session_.add_uprobes(uprobes_, what);
  } catch (const Error& error) {
    if (is_permission(error)) {
      throw Error::from_errno(what, error.error_number(), uprobe_hint(first, target_));
    }
    if (error.error_number() == perf::kNotSupported) find_refused();
    throw;
  }
}

// The kernel says only that it refuses one of them.
void Arming::find_refused() const {
  for (std::size_t i = 0; i < uprobes_.size(); ++i) {
    try {
      session_.add_uprobes({uprobes_[i]}, "a uprobe");
    } catch (const Error& error) {
      if (error.error_number() != perf::kNotSupported) throw;
      const Waiting& refused = waiting_[i];
      refuse_instruction(*refused.point, target_, refused.point->places[refused.place].address);
    }
  }
}

// nullopt: too few registers are free.
std::optional<Armed> Arming::by_breakpoint(const Point& point, std::uint32_t tag) {
  if (point.places.size() > kDebugRegisters) return std::nullopt;
  std::vector<perf::VisitTemplate> visits;
  for (const auto& place : point.places) visits.push_back(breakpoint(point, tag, place.address));
  try {
    session_.add(visits);
  } catch (const Error& error) {
    if (error.error_number() != ENOSPC) throw;
    return std::nullopt;
  }
  return Armed{CountedBy::breakpoint, visits.size(), perf::breakpoint_trial().cost_ns,
               can_be_uprobe(point, target_)};
}

Armed Arming::by_breakpoint_only(const Point& point, std::uint32_t tag) {
  if (const auto& trial = perf::breakpoint_trial(); !trial.is_seen()) {
    throw Error(fmt::format("progress point '{}': a hardware breakpoint on causalctl itself: {}",
                            point.name, trial.finding),
                "use --count-by uprobe, or auto");
  }
  if (auto armed = by_breakpoint(point, tag)) return *armed;
  throw Error(fmt::format("progress point '{}': {} places, and fewer of the four hardware "
                          "breakpoint registers are free",
                          point.name, point.places.size()),
              "use --count-by uprobe, or auto");
}

Armed Arming::code(const Point& point, std::uint32_t tag) {
  if (count_by_ == config::CountBy::breakpoint) return by_breakpoint_only(point, tag);
  // A breakpoint would stay at the address where the file was, a uprobe goes with the file.
  std::vector<Address> addresses;
  for (const auto& place : point.places) addresses.push_back(place.address);
  const bool prefers_uprobe = is_in_loaded_later(addresses, target_) &&
                              perf::uprobe_trial().is_seen() && can_be_uprobe(point, target_);
  if (count_by_ == config::CountBy::automatic && !prefers_uprobe &&
      perf::breakpoint_trial().is_seen()) {
    if (const auto armed = by_breakpoint(point, tag)) return *armed;
  }
  return by_uprobe(point, tag, std::vector<std::uint64_t>(point.places.size()));
}

std::uint64_t semaphore_of(const std::vector<UsdtSite>& sites, const UsdtSpec& spec,
                           Address address) {
  for (const auto& site : sites) {
    const bool same = site.provider == spec.provider && site.name == spec.name;
    if (same && site.address == address) return site.semaphore_offset;
  }
  return 0;
}

// By uprobe, whose registration holds the semaphore up. Where uprobes do not work or are not
// permitted, a probe without a semaphore is as well a place for a breakpoint.
Armed Arming::usdt(const Point& point, const UsdtSpec& spec, std::uint32_t tag) {
  const std::vector<std::uint64_t> semaphores = semaphores_of(point, spec, target_);
  const bool any = std::any_of(semaphores.begin(), semaphores.end(),
                               [](std::uint64_t semaphore) { return semaphore != 0; });
  const bool only_uprobes = any || count_by_ == config::CountBy::uprobe;
  if (count_by_ == config::CountBy::breakpoint && !any) return by_breakpoint_only(point, tag);
  if (!only_uprobes && !perf::uprobe_trial().is_seen() && perf::breakpoint_trial().is_seen()) {
    if (const auto armed = by_breakpoint(point, tag)) return *armed;
  }
  return by_uprobe(point, tag, semaphores);
}

Armed Arming::system_call(const Point& point, const SyscallSpec& spec, std::uint32_t tag) {
  const auto id = syscall_tracepoint(tracefs_of_calls().path, spec.name);
  if (!id) throw UsageError(fmt::format("progress point '{}': no such system call", point.name));
  const std::string what = fmt::format("tracepoint for progress point '{}'", point.name);
  try {
    session_.add_call(*id, tag, what);
  } catch (const Error& error) {
    if (!is_permission(error)) throw;
    throw Error::from_errno(what, error.error_number(),
                            "tracepoints need root, CAP_PERFMON or perf_event_paranoid -1");
  }
  return {CountedBy::tracepoint, 1, 0};
}

Armed Arming::arm(const Point& point, std::uint32_t tag) {
  if (std::holds_alternative<SampledSpec>(point.spec)) return {CountedBy::samples, 0, 0};
  if (const auto* spec = std::get_if<SyscallSpec>(&point.spec)) {
    return system_call(point, *spec, tag);
  }
  wait_for_its_files(point, target_);
  INVARIANT(!point.places.empty() && point.uprobe_addresses.size() == point.places.size());
  if (const auto* spec = std::get_if<UsdtSpec>(&point.spec)) return usdt(point, *spec, tag);
  return code(point, tag);
}

// Those that only a breakpoint can count come first, while registers are free.
std::vector<std::size_t> order_of_arming(const std::vector<Point>& points, Pid target) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t places = 0;
  for (const Point& point : points) places += point.places.size();
  if (places <= kDebugRegisters) return order;
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return !can_be_uprobe(points[i], target); });
  return order;
}

}  // namespace

std::vector<std::uint64_t> semaphores_of(const Point& point, const UsdtSpec& spec, Pid target) {
  const auto sites = usdt_sites(target);
  std::vector<std::uint64_t> semaphores;
  for (const auto& place : point.places) {
    semaphores.push_back(semaphore_of(sites, spec, place.address));
  }
  return semaphores;
}

UprobePlan plan_uprobes(const Point& point, Pid target, std::uint32_t tag,
                        const std::vector<std::uint64_t>& semaphores) {
  require_uprobes(point);
  UprobePlan plan;
  for (std::size_t i = 0; i < point.places.size(); ++i) {
    perf::UprobePlace place = uprobe(point, tag, target, i, semaphores.empty() ? 0 : semaphores[i]);
    // One uprobe counts in all copies of its file (dlmopen).
    const bool stands = std::any_of(plan.places.begin(), plan.places.end(),
                                    [&](const auto& each) { return same_place(each, place); });
    if (stands) continue;
    plan.places.push_back(std::move(place));
    plan.of.push_back(i);
  }
  require_code_of_file(point, target);
  if (!has_its_files(point, target)) throw_unloaded(point);
  plan.visit_cost_ns = uprobe_cost_ns(point, target);
  return plan;
}

bool misses_visits(std::uint64_t births, std::uint64_t visits) {
  return static_cast<double>(births) >=
         std::max(kFewestBirths, kBirthsThatMatter * static_cast<double>(visits));
}

std::string text_of(const Armed& armed) {
  const auto places = [&armed](const char* kind) {
    return armed.places > 1 ? fmt::format("{} at {} places", kind, armed.places) : kind;
  };
  switch (armed.by) {
    case CountedBy::samples:
      return "samples";
    case CountedBy::tracepoint:
      return "tracepoint";
    case CountedBy::breakpoint:
      return places("hardware breakpoint");
    case CountedBy::uprobe:
      return places("uprobe");
  }
  return "";
}

std::vector<Armed> arm(const std::vector<Point>& points, Pid target, config::CountBy count_by,
                       perf::Session& session, std::uint32_t first_tag) {
  Arming arming(target, count_by, session);
  std::vector<Armed> armed(points.size());
  for (const std::size_t i : order_of_arming(points, target)) {
    armed[i] = arming.arm(points[i], first_tag + static_cast<std::uint32_t>(i));
  }
  arming.add_uprobes();
  return armed;
}

}  // namespace causalctl::progress
