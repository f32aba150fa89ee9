#include "controller/stacks/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/stacks/waits.h"
#include "controller/symbols/call_chain.h"
#include "controller/symbols/perf_map.h"
#include "controller/tracee/all_threads.h"
#include "controller/tracee/freezer.h"
#include "controller/tracee/process.h"
#include "unwind/modules/loaded_files.h"
#include "unwind/modules/target_memory.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::stacks {
namespace {

using report::stacks::Frame;
using report::stacks::State;
using report::stacks::Taken;

Nanoseconds real_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

bool has_memory(Pid pid, Tid tid) {
  const auto status = procfs::thread_status(pid, tid);
  return status && status->state != 'Z' && status->state != 'X';
}

// Returns the main thread, or, once that has ended, the oldest other one, as it may live on
// longest.
Tid one_with_memory(Pid pid) {
  if (has_memory(pid, pid)) return pid;
  std::optional<std::pair<std::uint64_t, Tid>> oldest;
  for (const Tid tid : tracee::all_threads(pid)) {
    if (!has_memory(pid, tid)) continue;
    const auto stat = procfs::thread_stat(pid, tid).value_or("");
    const std::pair started{procfs::parse_start_ticks(stat), tid};
    if (!oldest || started < *oldest) oldest = started;
  }
  if (!oldest) throw TargetGone(fmt::format("process {} has ended", pid));
  return oldest->second;
}

// Calls `work` with a thread whose memory is that of the process, again where that has ended
// meanwhile.
void with_memory(Pid pid, const std::function<void(Tid memory)>& work) {
  constexpr int tries = 20;
  for (int i = 0; i < tries; ++i) {
    const Tid memory = one_with_memory(pid);
    try {
      work(memory);
      if (has_memory(pid, memory)) return;
    } catch (const Error&) {
      if (has_memory(pid, memory)) throw;
    }
  }
  throw Error(fmt::format("process {}: its threads end while they are read", pid));
}

// Names the places in chains.
class Namer {
 public:
  Namer(Pid pid, Tid memory)
      : memory_(memory),
        symbolizer_(memory),
        files_(unwind::LoadedFiles(memory).read()),
        compiled_(pid) {}

  std::string place(Address address) const {
    const unwind::MappedFile* file = file_at(address);
    if (file == nullptr) return fmt::format("{:#x}", address);
    return fmt::format("{}+{:#x}", base_name(file->path), offset_in(*file, address));
  }
  bool in_file(Address address) const { return file_at(address) != nullptr; }

  void add_frames(const std::vector<Address>& chain, std::vector<Frame>& frames) {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      // No call leads to the code that returns from a signal handler, nor from what it interrupts.
      const bool called =
          i > 0 && !returns_from_signal(chain[i]) && !returns_from_signal(chain[i - 1]);
      for (const Frame& frame : frames_at(called ? chain[i] - 1 : chain[i])) {
        frames.push_back(frame);
      }
    }
  }

 private:
  const unwind::MappedFile* file_at(Address address) const {
    const auto found = std::find_if(files_.begin(), files_.end(), [&](const auto& each) {
      return address >= each.start && address < each.end;
    });
    return found == files_.end() ? nullptr : &*found;
  }
  // Returns whether the code is that to which the kernel makes handlers return, which calls
  // rt_sigreturn: mov $15, %rax (or %eax); syscall.
  bool returns_from_signal(Address address) {
    const auto [known, is_new] = signal_returns_.emplace(address, false);
    if (!is_new) return known->second;
    std::array<unsigned char, 9> code{};
    if (!unwind::read_target(memory_, address, std::as_writable_bytes(std::span(code))))
      return false;
    const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
    using namespace std::string_view_literals;
    return known->second = text == "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"sv ||
                           text.starts_with("\xb8\x0f\0\0\0\x0f\x05"sv);
  }

  static Address offset_in(const unwind::MappedFile& file, Address address) {
    return address - file.bias.value_or(file.start);
  }

  std::vector<unwind::Frame> symbols_at(Address address) {
    try {
      return symbolizer_.frames(address);
    } catch (const TargetGone&) {
      throw;
    } catch (const Error&) {  // broken debug information
      return {};
    }
  }

  std::string compiled_at(Address address) {
    while (compiled_.read_on()) {
    }
    const auto* function = compiled_.map().find(address);
    return function != nullptr ? function->name : "";
  }

  std::vector<Frame> frames_at(Address address) {
    const unwind::MappedFile* file = file_at(address);
    Frame whole;
    whole.offset = file != nullptr ? offset_in(*file, address) : address;
    if (file != nullptr) whole.module = file->path;
    std::vector<Frame> frames;
    for (const unwind::Frame& each : symbols_at(address)) {
      Frame frame = whole;
      frame.function = each.function;
      frame.file = each.file;
      frame.line = each.line;
      frame.inlined = true;
      frames.push_back(std::move(frame));
    }
    if (frames.empty()) frames.push_back(whole);
    frames.back().inlined = false;
    std::string& name = frames.back().function;
    if (file == nullptr && name.empty()) {
      name = compiled_at(address);
      if (!name.empty()) frames.back().module = symbols::kCompiledCode;
    }
    if (name.empty() && returns_from_signal(address)) name = "[signal return]";
    if (name.empty()) name = place(address);
    return frames;
  }

  Tid memory_;
  unwind::Symbolizer symbolizer_;
  std::vector<unwind::MappedFile> files_;
  symbols::PerfMapFile compiled_;
  std::unordered_map<Address, bool> signal_returns_;
};

Frame kernel_frame(const std::string& function) {
  Frame frame;
  frame.function = "[k] " + function;
  frame.module = "[kernel]";
  frame.kernel = true;
  return frame;
}

Walk own_walk(const ThreadState& thread, unwind::Unwinder& unwinder) {
  if (thread.walk) return *thread.walk;
  return walk_of(unwinder.unwind_chain(thread.registers, thread.stack, kDeepest));
}

// Of a blocked thread, registers may have been missing.
bool wants_registers(const ThreadState& thread, const Walk& walk) {
  return thread.taken == Taken::without_stop && (!walk.complete || walk.searched);
}

// Some memory was read after the thread went on, but it is another stack that was read.
bool wants_unwinding_in_stop(const ThreadState& thread, const Walk& walk) {
  return thread.problem.empty() && !thread.walk && (walk.goes_on || !walk.from_copy);
}

// Unwinds everything, and takes in a stop what needs one for it.
std::vector<Walk> unwind_all(Pid pid, std::vector<ThreadState>& threads,
                             unwind::Unwinder& unwinder) {
  std::vector<Walk> walks(threads.size());
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (threads[i].taken != Taken::not_read) walks[i] = own_walk(threads[i], unwinder);
  }
  const auto again = [&](bool (*wants)(const ThreadState&, const Walk&), const Look& look) {
    std::vector<ThreadState*> chosen;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      if (threads[i].taken != Taken::not_read && wants(threads[i], walks[i])) {
        chosen.push_back(&threads[i]);
      }
    }
    take_in_stops(pid, chosen, look);
    for (const ThreadState* thread : chosen) {
      const auto i = static_cast<std::size_t>(thread - threads.data());
      if (thread->problem.empty()) walks[i] = own_walk(*thread, unwinder);
    }
  };
  again(wants_registers, copies_stack(pid));
  again(wants_unwinding_in_stop, unwinds(unwinder, pid));
  return walks;
}

std::string why_incomplete(const ThreadState& thread, const Walk& walk, const Namer& namer) {
  if (walk.chain.empty()) return "no register was read";
  if (walk.chain.size() >= kDeepest) return fmt::format("cut off after {} frames", kDeepest);
  const std::string place = namer.place(symbols::code_at(walk.chain, walk.chain.size() - 1));
  if (thread.taken == Taken::without_stop) {
    return fmt::format(
        "the caller of {} needs registers that are known of a stopped thread only{}{}", place,
        thread.problem.empty() ? "" : "; ", thread.problem);
  }
  if (!namer.in_file(walk.chain.back())) {
    return fmt::format("the code at {} is in no file, so nothing tells its caller", place);
  }
  return fmt::format("nothing tells the caller of {}", place);
}

report::stacks::Thread named(const ThreadState& state, const Walk& walk, Pid pid, Namer& namer) {
  report::stacks::Thread thread;
  thread.tid = state.tid;
  thread.name = state.name;
  thread.state = state_of(state.state);
  thread.cpu_ns = state.cpu_ns;
  thread.taken = state.taken;
  thread.held_ns = state.times.held_ns;
  thread.at_most_ns = state.times.at_most_ns;
  if (state.at) {
    thread.waits_in = text_of_wait(
        *state.at, [&](int descriptor) { return descriptor_target(pid, state.tid, descriptor); });
  }
  if (state.taken == Taken::not_read) {
    thread.remark = state.problem;
    return thread;
  }
  for (const std::string& function : state.kernel) thread.frames.push_back(kernel_frame(function));
  namer.add_frames(walk.chain, thread.frames);
  thread.complete = walk.complete;
  thread.searched = walk.searched;
  if (!walk.complete) {
    thread.remark = why_incomplete(state, walk, namer);
  } else if (!walk.from_copy) {
    thread.remark = "part of its stack was read later, when it may have run on";
  }
  return thread;
}

}  // namespace

State state_of(char state) {
  switch (state) {
    case 'R':
      return State::running;
    case 'S':
    case 'I':
      return State::blocked;
    case 'D':
      return State::uninterruptible;
    case 'T':
      return State::stopped;
    case 't':
      return State::traced;
    case 'Z':
    case 'X':
      return State::ended;
    default:
      return State::unknown;
  }
}

bool shown_before(const report::stacks::Thread& a, const report::stacks::Thread& b) {
  const auto rank = [](const report::stacks::Thread& each) {
    return each.state == State::running ? 0 : each.state == State::uninterruptible ? 1 : 2;
  };
  return std::tuple(rank(a), a.tid) < std::tuple(rank(b), b.tid);
}

report::stacks::Process stacks_of(Pid pid, const Wanted& wanted, const Hooks& hooks) {
  report::stacks::Process process;
  process.pid = pid;
  process.name = tracee::process_name(pid);
  process.program = procfs::executable(pid);
  process.taken_ns = real_time_ns();
  if (tracee::is_frozen(pid)) process.warnings.emplace_back("a cgroup has frozen the process");

  std::vector<ThreadState> threads = threads_of(pid, !wanted.reference);
  std::vector<ThreadState*> rest;
  for (ThreadState& thread : threads) {
    if (thread.taken == Taken::not_read) rest.push_back(&thread);
  }
  take_in_stops(pid, rest, wanted.reference ? unwinds_for_reference() : copies_stack(pid));
  std::erase_if(threads,
                [](const ThreadState& each) { return each.gone && each.taken == Taken::not_read; });
  if (wanted.kernel) {
    if (std::string why = why_no_kernel_stacks(); !why.empty()) {
      process.warnings.push_back(std::move(why));
    }
    take_kernel_stacks(pid, threads);
  }

  with_memory(pid, [&](Tid memory) {
    if (process.program.empty()) process.program = procfs::executable(memory);
    process.threads.clear();
    unwind::Unwinder unwinder(memory);
    const std::vector<Walk> walks = unwind_all(pid, threads, unwinder);
    Namer namer(pid, memory);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      hooks.names(i, threads.size());
      process.threads.push_back(named(threads[i], walks[i], pid, namer));
    }
  });
  std::sort(process.threads.begin(), process.threads.end(), shown_before);
  return process;
}

}  // namespace causalctl::stacks
