// Progress points: a SPEC as the user writes it → where it is in this target → armed and counted.
// Coz §3.3. The forms are listed in docs/progress-points.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/perf/session.h"
#include "controller/progress/armed.h"
#include "unwind/symbolizer.h"

namespace causalctl::progress {

struct LineSpec {
  std::string file;
  int line = 0;
};  // file.c:210
struct FunctionSpec {
  std::string binary;
  std::string name;
};  // f  or  libx*:f
struct OffsetSpec {
  std::string binary;
  std::uint64_t offset = 0;
};  // binary+0x1234
struct UsdtSpec {
  std::string provider;
  std::string name;
};  // usdt:p:n
struct SyscallSpec {
  std::string name;
};  // syscall:sendto
struct SampledSpec {
  std::string file;
  int line = 0;
};  // sampled:file.c:210
using Spec = std::variant<LineSpec, FunctionSpec, OffsetSpec, UsdtSpec, SyscallSpec, SampledSpec>;

// Pure. Throws UsageError that lists the forms.
Spec parse_spec(const std::string& text);
// "syscal:write" → "syscall:write": where the word before the first ':' is nearly one of usdt,
// syscall and sampled. nullopt: it is not. Pure.
std::optional<std::string> spelled_right(const std::string& text);

// More places than that are no progress point but a header's inlined helper: each costs memory in
// the target, and together they are passed far too often.
inline constexpr std::size_t kMostPlaces = 64;

// A spec found in a target. `places` are all addresses that count as a visit (inlined and other
// copies of a line, all probes of one USDT name); empty for system calls.
struct Point {
  std::string name;  // the SPEC text: how logs and reports call it
  Spec spec;
  std::vector<unwind::Place> places;
  // For each place where a uprobe can count it (uprobe_address.h); nullopt: nowhere. Empty for
  // points that are not code.
  std::vector<std::optional<Address>> uprobe_addresses{};
};

// Throws UsageError listing the nearest matches when unknown or ambiguous, when an address is not
// an instruction boundary, when a USDT probe or system call does not exist, or when there are more
// than kMostPlaces.
Point resolve(const std::string& text, Pid target, unwind::Symbolizer& symbolizer);

// Arms the points on all threads of the session. Visits arrive as VisitEvents, whose tags count up
// from `first_tag` in the order of the points, as the results do. Code is counted by a hardware
// breakpoint for each place, where breakpoints were seen to fire here and registers are free for
// all of them, otherwise by uprobes; `count_by` may demand one of the two. A USDT probe is counted
// by uprobes, which hold its semaphore up, a system call by its tracepoint; sampled points arm
// nothing. Throws Error with a hint.
std::vector<Armed> arm(const std::vector<Point>& points, Pid target, config::CountBy count_by,
                       perf::Session& session, std::uint32_t first_tag = 0);

// What could serve as a progress point, for `causalctl points`: USDT probes in the target.
std::vector<UsdtSpec> usdt_probes(Pid target);

}  // namespace causalctl::progress
