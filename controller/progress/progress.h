// Progress points: a SPEC as the user writes it → where it is in this target → armed and counted.
// Coz §3.3. The forms are listed in docs/progress-points.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/session.h"
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

// More places than this are not armed, and not offered: each is an event on each thread.
inline constexpr std::size_t kMostPlaces = 64;

// A spec found in a target. `places` are all addresses that count as a visit (inlined and other
// copies of a line, all probes of one USDT name); empty for system calls.
struct Point {
  std::string name;  // the SPEC text: how logs and reports call it
  Spec spec;
  std::vector<unwind::Place> places;
};

// Throws UsageError listing the nearest matches when unknown or ambiguous, when an address is not
// an instruction boundary, when a USDT probe or system call does not exist.
Point resolve(const std::string& text, Pid target, unwind::Symbolizer& symbolizer);

// Arms the point on all threads of the session: a hardware breakpoint per place, uprobes when no
// debug register is free, the syscalls:sys_enter_* tracepoint. Visits arrive as VisitEvents with
// `tag`. Returns how it is counted ("hardware breakpoint", "uprobe at 6 places", "tracepoint",
// "samples") for messages. Throws Error with a hint. Sampled points arm nothing.
std::string arm(const Point& point, std::uint32_t tag, Pid target, perf::Session& session);

// What could serve as a progress point, for `causalctl points`: USDT probes in the target.
std::vector<UsdtSpec> usdt_probes(Pid target);

}  // namespace causalctl::progress
