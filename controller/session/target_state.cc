#include "controller/session/target_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "controller/base/procfs.h"
#include "controller/tracee/freezer.h"

namespace causalctl::session {
namespace {

// Reads /proc/PID/syscall: "0 0x0 0x7ffd… …" is the number of the call and its arguments (proc(5)).
std::string input_waited_for(Pid target) {
  constexpr std::string_view read_call = "0 0x";
  const auto text = procfs::read_text(fmt::format("/proc/{}/syscall", target));
  if (!text || !text->starts_with(read_call)) return {};
  const auto end = text->find(' ', read_call.size());
  const std::string number = text->substr(read_call.size(), end - read_call.size());
  return fmt::format("input on descriptor {}", std::strtoul(number.c_str(), nullptr, 16));
}

}  // namespace

TargetState state_of(Pid target) {
  TargetState state;
  const auto threads = procfs::threads(target);
  state.stopped = !threads.empty() && std::all_of(threads.begin(), threads.end(), [&](Tid thread) {
    const auto stat = procfs::thread_stat(target, thread);
    return !stat || procfs::parse_state(*stat) == 'T';
  });
  state.frozen = tracee::is_frozen(target);
  state.waits_for = input_waited_for(target);
  return state;
}

}  // namespace causalctl::session
