#include "controller/tracee/inject/left_stub.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

#include "controller/base/procfs.h"
#include "controller/tracee/inject/slot.h"
#include "controller/tracee/process.h"
#include "controller/tracee/target_lock.h"

namespace causalctl::tracee {
namespace {

std::uint64_t own_namespace(const char* name) {
  struct stat file {};
  if (stat(fmt::format("/proc/self/ns/{}", name).c_str(), &file) != 0) return 0;
  return file.st_ino;
}

ProcessMark mark(Pid pid) {
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", pid));
  return {static_cast<std::uint64_t>(pid), stat ? procfs::parse_start_ticks(*stat) : 0};
}

OwnerState state_of(const ProcessMark& process) {
  const auto pid = static_cast<Pid>(process.pid);
  const bool is_pid = pid > 0 && static_cast<std::uint64_t>(pid) == process.pid;
  if (!is_pid || process.start_ticks == 0) return OwnerState::unknown;
  // /proc alone may hide the processes of other users (hidepid of proc(5)).
  if (kill(pid, 0) != 0 && errno == ESRCH) return OwnerState::gone;
  const auto now = mark(pid);
  if (now.start_ticks == 0) return OwnerState::unknown;
  if (now.start_ticks != process.start_ticks) return OwnerState::gone;  // its number is reused
  return procfs::has_ended(pid) ? OwnerState::gone : OwnerState::at_work;
}

}  // namespace

// The kernel may have merged the slots' mapping with what the target has mapped behind it.
bool is_laid_out(const procfs::Map& code, const procfs::Map& data,
                 const StubParameters& parameters) {
  const Address slots_end = parameters.slots_end;
  return code.end == code.start + kPage && parameters.slots_begin == code.end &&
         data.start == code.end && data.inode == 0 && data.writable && !data.shared &&
         slots_end % kPage == 0 && slots_end > parameters.slots_begin &&
         slots_end - parameters.slots_begin <= kSlotsLimit * sizeof(Slot) && slots_end < data.end &&
         data.end - slots_end >= kPage;
}

Owner make_owner(Pid target, Pid controller, Pid guardian) {
  return {{},           own_namespace("pid"), own_namespace("time"),
          mark(target), mark(controller),     mark(guardian)};
}

OwnerState state_of(const Owner& owner, Pid target) {
  if (owner.pid_namespace == 0 || owner.pid_namespace != own_namespace("pid") ||
      owner.time_namespace != own_namespace("time")) {
    return OwnerState::unknown;
  }
  // A child that the target forked has a copy of the stub; a child by vfork shares it.
  const auto now = mark(target);
  if (owner.target.pid != now.pid || owner.target.start_ticks != now.start_ticks) {
    return OwnerState::unknown;
  }
  const auto controller = state_of(owner.controller);
  const auto guardian = state_of(owner.guardian);
  if (controller == OwnerState::at_work || guardian == OwnerState::at_work) {
    return OwnerState::at_work;
  }
  return controller == guardian ? controller : OwnerState::unknown;
}

Pid who_lives(const Owner& owner) {
  const bool controller = state_of(owner.controller) == OwnerState::at_work;
  return static_cast<Pid>(controller ? owner.controller.pid : owner.guardian.pid);
}

Address owner_address(Address slots_end) { return slots_end + kPage - sizeof(Owner); }

void refuse_if_at_work(const LeftStub& stub, Pid target) {
  if (state_of(stub.owner, target) != OwnerState::at_work) return;
  refuse_profiled(target, who_lives(stub.owner));
}

std::optional<LeftStub> find_left_stub(Pid target) {
  const auto maps = procfs::maps(target);
  if (!maps) return std::nullopt;
  for (std::size_t i = 0; i + 1 < maps->size(); ++i) {
    const procfs::Map& map = (*maps)[i];
    if (!map.executable || map.inode != 0) continue;
    const auto parameters = find_stub(target, map.start);
    if (!parameters || !is_laid_out(map, (*maps)[i + 1], *parameters)) continue;
    const auto owner = read_object<Owner>(target, owner_address(parameters->slots_end));
    return LeftStub{map.start, *parameters, owner.value_or(Owner{})};
  }
  return std::nullopt;
}

}  // namespace causalctl::tracee
