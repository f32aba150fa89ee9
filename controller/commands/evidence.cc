#include "controller/commands/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>

#include "controller/base/procfs.h"
#include "controller/tracee/freezer.h"
#include "unwind/names.h"

namespace causalctl::commands {
namespace {

using causal::PointCode;

PointCode::Kind kind_of(const progress::Spec& spec) {
  if (std::holds_alternative<progress::FunctionSpec>(spec)) return PointCode::Kind::function;
  if (std::holds_alternative<progress::SyscallSpec>(spec)) return PointCode::Kind::system_call;
  if (std::holds_alternative<progress::SampledSpec>(spec)) return PointCode::Kind::samples;
  return PointCode::Kind::instruction;
}

// "0 0x0 0x7ffd… …": the number of the call and its arguments (proc(5), /proc/PID/syscall).
std::string input_waited_for(Pid target) {
  constexpr std::string_view read_call = "0 0x";
  const auto text = procfs::read_text(fmt::format("/proc/{}/syscall", target));
  if (!text || !text->starts_with(read_call)) return {};
  const auto end = text->find(' ', read_call.size());
  const std::string number = text->substr(read_call.size(), end - read_call.size());
  return fmt::format("input on descriptor {}", std::strtoul(number.c_str(), nullptr, 16));
}

}  // namespace

std::vector<PointCode> codes_of(const progress::CountedPoints& points,
                                unwind::Symbolizer& symbolizer) {
  std::vector<PointCode> codes;
  for (const progress::Point& point : points.resolved) {
    PointCode code{kind_of(point.spec), {}, {}};
    for (const unwind::Place& place : point.places) {
      if (code.function.empty()) code.function = unwind::without_arguments(place.function);
      const auto range = symbolizer.function_range(place.address);
      if (range) code.functions.push_back({range->first, range->second});
    }
    codes.push_back(std::move(code));
  }
  return codes;
}

causal::TargetState state_of(Pid target) {
  causal::TargetState state;
  const auto threads = procfs::threads(target);
  state.stopped = !threads.empty() && std::all_of(threads.begin(), threads.end(), [&](Tid thread) {
    const auto stat = procfs::thread_stat(target, thread);
    return !stat || procfs::parse_state(*stat) == 'T';
  });
  state.frozen = tracee::is_frozen(target);
  state.waits_for = input_waited_for(target);
  return state;
}

}  // namespace causalctl::commands
