// Progress points: a SPEC as the user writes it is resolved to places in this target, which are
// armed and counted (Coz §3.3). docs/progress-points.md lists the forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/perf/session.h"
#include "controller/perf/uprobe_place.h"
#include "controller/progress/armed.h"
#include "controller/progress/counters.h"
#include "controller/progress/image.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

struct LineSpec {
  std::string file;
  int line = 0;
};  // file.c:210
struct FunctionSpec {
  std::string binary;  // or a source file
  std::string name;
};  // f  or  libx*:f  or  file.c:f
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

// Throws UsageError, which lists the forms. Pure.
Spec parse_spec(const std::string& text);
// Returns nullopt if the text is not of the form "binary+0x1234". Pure.
std::optional<OffsetSpec> offset_spec(const std::string& text);
// Returns "syscall:write" for "syscal:write": corrects the word before the first ':' if it is
// nearly usdt, syscall or sampled. Returns nullopt if it is not. Pure.
std::optional<std::string> spelled_right(const std::string& text);

// A point with more places than that is the inlined helper of a header rather than a progress
// point. Each place costs memory in the target, and all together are passed far too often.
inline constexpr std::size_t kMostPlaces = 64;

// A SPEC found in a target. `places` has all addresses that count as a visit (inlined and other
// copies of a line, all probes of one USDT name). It is empty for a system call.
struct Point {
  std::string name;  // text of the SPEC, which logs and reports use as its name
  Spec spec;
  std::vector<unwind::Place> places;
  // For each place where a uprobe can count it (uprobe_address.h), or nullopt if nowhere. Empty for
  // points that are not code.
  std::vector<std::optional<Address>> uprobe_addresses{};
  std::vector<FilePlace> files{};      // where each place is; the module is empty if in no file
  std::vector<std::string> remarks{};  // what it does not count, or counts besides; sentences
};

// Throws UsageError, which lists the nearest matches, if the name is unknown or ambiguous, if an
// address is no instruction boundary, if a USDT probe or system call does not exist, or if there
// are more than kMostPlaces.
Point resolve(const std::string& text, Pid target, unwind::Symbolizer& symbolizer);

// All progress points that a configuration names, found in one target. The tag of a point is its
// index in both vectors; events and counts refer to it by its tag.
struct CountedPoints {
  std::vector<CountedPoint> counted;
  std::vector<Point> resolved;
};

// Throws the same as resolve().
CountedPoints resolve_all(const config::Progress& progress, Pid target,
                          unwind::Symbolizer& symbolizer);

// Returns "file.c:210" and the tag of each point that is counted by samples.
std::vector<std::pair<std::string, std::uint32_t>> sampled_points(const CountedPoints& points);

// Arms the points on all threads of the session. Visits arrive as VisitEvents; their tags count up
// from `first_tag` in the order of the points, as the results do. Code is counted by a hardware
// breakpoint for each place if breakpoints were seen to fire here, there are registers for all of
// them and the code cannot be loaded later, and otherwise by uprobes; `count_by` may demand one of
// the two. A USDT probe is counted by uprobes, which also raise its semaphore, and a system call by
// its tracepoint. Sampled points arm nothing. Throws Error with a hint.
std::vector<Armed> arm(const std::vector<Point>& points, Pid target, config::CountBy count_by,
                       perf::Session& session, std::uint32_t first_tag = 0);

// Uprobes for all places of a point in code, each once.
struct UprobePlan {
  std::vector<perf::UprobePlace> places;
  std::vector<std::size_t> of;    // for each, the index of the point's place
  Nanoseconds visit_cost_ns = 0;  // what one visit costs its thread, as measured on this machine
};

// `semaphores`: by place of the point, offsets in the file; none if empty. Throws Error as arm()
// does where no uprobe can or may stand on a place. REQUIRES: the point is in code.
UprobePlan plan_uprobes(const Point& point, Pid target, std::uint32_t tag,
                        const std::vector<std::uint64_t>& semaphores = {});

// Returns the semaphores of a probe by place of its point, as offsets in the file; 0 for none.
std::vector<std::uint64_t> semaphores_of(const Point& point, const UsdtSpec& spec, Pid target);

// Returns what could serve as a progress point, for `causalctl points`: USDT probes in the target.
std::vector<UsdtSpec> usdt_probes(Pid target);

}  // namespace causalctl::progress
