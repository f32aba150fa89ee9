#include "unwind/stack/blocked_stack.h"

#include <asm/perf_regs.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "unwind/modules/target_memory.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kUnboundedCopy = 256U << 10U;
constexpr Address kThreadBlock = 8U << 10U;  // its end is above the frames of the C library

// It is no address (not canonical), and as it is odd, it is no stack pointer either.
constexpr std::uint64_t kUnknown = 0x8bad'f00d'8bad'f00d;

struct Count {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  char state = '?';
  bool operator==(const Count&) const = default;
};

std::optional<Count> count(const std::string& folder) {
  const auto status = procfs::read_text(folder + "status");
  // It is read last, because it is what shows that the thread has come to a core.
  const auto schedstat = procfs::read_text(folder + "schedstat");
  if (!status || status->empty()) return std::nullopt;
  return Count{procfs::parse_switches_in(schedstat.value_or("")),
               procfs::parse_switches_out(*status), procfs::parse_status(*status).state};
}

}  // namespace

std::optional<procfs::OffCore> off_core(Pid pid, Tid tid) {
  const auto text = procfs::read_text(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  return text ? procfs::parse_off_core(*text) : std::nullopt;
}

std::size_t bytes_of_stack(const std::vector<procfs::Map>& maps, Address sp, Address thread_block) {
  const auto map = std::find_if(maps.begin(), maps.end(), [&](const procfs::Map& each) {
    return sp >= each.start && sp < each.end;
  });
  if (map == maps.end() || !map->readable) return 0;
  const bool below_block = thread_block > sp && thread_block < map->end;
  const Address end = below_block ? std::min(map->end, thread_block + kThreadBlock) : map->end;
  const bool bounded = below_block || map->path == "[stack]";
  return std::min<std::size_t>(end - sp, bounded ? kLargestStackCopy : kUnboundedCopy);
}

Registers BlockedStack::registers() const {
  Registers registers;
  std::fill(std::begin(registers.values), std::end(registers.values), kUnknown);
  registers.values[PERF_REG_X86_SP] = at.stack_pointer;
  registers.values[PERF_REG_X86_IP] = at.instruction;
  if (at.number < 0) return registers;
  // The arguments of a system call are registers; vfork() of glibc has its return address in one.
  constexpr unsigned arguments[] = {PERF_REG_X86_DI,  PERF_REG_X86_SI, PERF_REG_X86_DX,
                                    PERF_REG_X86_R10, PERF_REG_X86_R8, PERF_REG_X86_R9};
  for (std::size_t i = 0; i < std::size(arguments); ++i) {
    registers.values[arguments[i]] = at.arguments[i];
  }
  return registers;
}

std::optional<BlockedStack> read_blocked_stack(Pid pid, Tid tid,
                                               const std::vector<procfs::Map>& maps) {
  const std::string folder = fmt::format("/proc/{}/task/{}/", pid, tid);
  const auto before = count(folder);
  if (!before) return std::nullopt;
  const auto at = off_core(pid, tid);
  if (!at) return std::nullopt;
  BlockedStack blocked{before->state, *at, {}};
  blocked.stack.resize(bytes_of_stack(maps, at->stack_pointer, 0));
  blocked.stack.resize(read_target_until_gap(tid, at->stack_pointer, blocked.stack));
  if (off_core(pid, tid) != at || count(folder) != before) return std::nullopt;
  return blocked;
}

}  // namespace causalctl::unwind
