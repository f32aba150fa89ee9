#include "controller/callpath/engine/recorder.h"

#include <asm/perf_regs.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <variant>

#include "controller/base/error.h"
#include "controller/callpath/record/calls_seen.h"
#include "controller/callpath/record/limits.h"
#include "controller/symbols/call_chain.h"

namespace causalctl::callpath {
namespace {

// A chain that is longer keeps its outermost frames, and as many of the innermost. How many are
// left out between is told roughly: recursion whose depth varies has few paths so. Once the tree
// has many nodes it keeps fewer: of recursion that never takes the same way twice each chain is a
// path of its own, and a thousand long ones would fill the tree.
struct KeptFrames {
  std::size_t most;
  std::size_t outermost;
};
constexpr KeptFrames kKept{1024, 256};
constexpr KeptFrames kKeptOfMany{128, 32};
constexpr std::size_t kManyNodes = kMostNodes / 4;

std::string left_out_words(std::size_t count) {
  const std::size_t least = std::bit_floor(count);
  return least == 1 ? "[1 frame]" : fmt::format("[{} to {} frames]", least, 2 * least - 1);
}

// The instruction `syscall` copies the address behind it to RCX.
bool in_system_call(const perf::UserStack& user) {
  const unwind::Registers registers = symbols::registers_of(user);
  return registers.values[PERF_REG_X86_CX] == registers.values[PERF_REG_X86_IP];
}

// A register may have any value. A log whose values add up to more than 2^62 cannot be read.
constexpr std::uint64_t kMostOfEvent = 1ULL << 60;
// With more, no path gets a kernel's part any more, so that there is room for those in user code.
constexpr std::size_t kMostNodesWithKernel = kMostNodes / 2;

}  // namespace

Recorder::Recorder(RecorderParts parts, Grouping grouping, bool waits, Recording& recording)
    : parts_(std::move(parts)),
      recording_(recording),
      groups_(grouping, recording),
      with_waits_(waits) {
  INVARIANT(!recording.epochs.empty());
}

SliceKey Recorder::key(ThreadId thread, Metric metric) {
  return {static_cast<std::uint32_t>(recording_.epochs.size() - 1), groups_.group_of(thread),
          metric};
}

void Recorder::take(const perf::Event& event) {
  if (const auto* sample = std::get_if<perf::SampleEvent>(&event)) {
    take_sample(*sample);
  } else if (const auto* change = std::get_if<perf::SwitchEvent>(&event)) {
    take_switch(*change);
  } else if (const auto* wake = std::get_if<perf::WakeEvent>(&event)) {
    const bool by_thread = wake->context == perf::WakeContext::task;
    waits_.wake(wake->woken, wake->time_ns, by_thread ? Waker::thread : Waker::interrupt);
  } else if (const auto* start = std::get_if<perf::ThreadStartEvent>(&event)) {
    begin(*start);
  } else if (const auto* exit = std::get_if<perf::ThreadExitEvent>(&event)) {
    end(*exit);
  } else if (const auto* exec = std::get_if<perf::ExecEvent>(&event)) {
    execute(*exec);
  } else if (const auto* name = std::get_if<perf::NameEvent>(&event)) {
    flush(name->thread);  // into the group that it leaves
    groups_.named(name->thread, name->name);
  }
}

void Recorder::begin(const perf::ThreadStartEvent& start) {
  if (start.is_peer) return;
  process_of_[start.thread] = start.process;
  ++processes_[start.process].threads;
  std::string name = parts_.name_of(start.process, start.thread.tid);
  // One that has ended began with the name of its parent.
  if (name.empty()) name = groups_.name_of(start.parent);
  groups_.named(start.thread, name);
  waits_.begin(start.thread, start.time_ns, start.blocked);
}

void Recorder::end(const perf::ThreadExitEvent& exit) {
  if (const auto wait = waits_.runs(exit.thread, exit.time_ns)) add(*wait);
  flush(exit.thread, true);
  waits_.end(exit.thread);
  groups_.ended(exit.thread);
  const auto process = processes_.find(process_of(exit.thread));
  process_of_.erase(exit.thread);
  if (process == processes_.end()) return;
  if (--process->second.threads == 0) processes_.erase(process);
}

void Recorder::execute(const perf::ExecEvent& exec) {
  processes_[exec.process].edges.clear();  // what was called before is over
  if (several_) return;                    // belongs() tells of it
  settle(exec.time_ns, true);
  groups_.executed();
}

void Recorder::belongs(ThreadId thread, std::shared_ptr<ProcessRun> process) {
  several_ = true;
  const auto pending = pending_.find(thread);
  const bool has_path = pending != pending_.end() &&
                        !(pending->second.cpu_ns.empty() && pending->second.sampled.empty());
  if (waits_.knows(thread) && (has_path || groups_.has_entry(thread))) {
    flush(thread, true);  // into the group that it leaves
  }
  groups_.belongs(thread, std::move(process));
}

Pid Recorder::process_of(ThreadId thread) const {
  const auto known = process_of_.find(thread);
  return known == process_of_.end() ? 0 : known->second;
}

NodeId Recorder::path_of(const perf::SampleEvent& sample) {
  const unwind::Chain& chain = parts_.chain(sample);
  ChainTotals& totals = recording_.chains;
  is_complete_ = chain.complete();
  ++(is_complete_ ? totals.complete : totals.incomplete);
  if (is_complete_ && unwind::has_guess(chain)) ++totals.searched;
  if (chain.end == unwind::ChainEnd::no_table) ++totals.no_table;
  if (chain.end == unwind::ChainEnd::copy_short) ++totals.copy_short;
  if (chain.end == unwind::ChainEnd::no_call) ++totals.no_call;
  if (chain.end == unwind::ChainEnd::depth) ++totals.too_deep;
  if (chain.end == unwind::ChainEnd::unreadable) ++totals.unreadable;
  const NodeId node = node_of(sample.thread, chain);
  table_gaps_.take(chain, path_);
  if (!chain.frames.empty()) {
    const SliceKey at = key(sample.thread, Metric::chains);
    Edges& edges = processes_[process_of(sample.thread)].edges;
    is_new_ = edges.take(chain, sample.stack_pointer, sample.user.stack.size());
    is_new_.resize(std::min(is_new_.size(), kept_inner_));
    if (!is_cut_) count_calls(is_new_, node, at.epoch, at.group, recording_);
  }
  return node;
}

NodeId Recorder::node_of(ThreadId thread, const unwind::Chain& chain) {
  path_.clear();
  const Pid process = process_of(thread);
  const std::size_t size = chain.frames.size();
  const KeptFrames& kept = recording_.tree.size() < kManyNodes ? kKept : kKeptOfMany;
  kept_inner_ = size > kept.most ? kept.most - kept.outermost : size;
  for (std::size_t i = size; i-- > 0;) {
    if (i + kept.outermost + 1 == size && kept_inner_ < size) {
      path_.push_back(parts_.outside(left_out_words(size - kept.most).c_str()));
      i = kept_inner_;
      continue;
    }
    const unwind::UnwoundFrame& frame = chain.frames[i];
    path_.push_back(parts_.locate(process, frame.ip, unwind::is_return_address(frame)));
  }
  if (chain.complete() && !path_.empty() && groups_.wants_start(thread)) {
    flush(thread);  // into the group that it leaves
    groups_.began(thread, start_of(path_, recording_));
  }
  is_cut_ = false;
  if (recording_.tree.size() < kMostNodes) return recording_.tree.path(path_);
  return known_part(path_);
}

// The tree has no room for further paths: what of this one is not known stands below the part that
// is, as one node.
NodeId Recorder::known_part(std::span<const LocationId> path) {
  NodeId end = kRoot;
  for (const LocationId location : path) {
    const auto next = recording_.tree.find(end, location);
    if (!next) {
      ++recording_.account.paths_cut;
      is_cut_ = true;
      return recording_.tree.child(end, parts_.outside("[path not kept]"));
    }
    end = *next;
  }
  return end;
}

NodeId Recorder::with_kernel_part(NodeId node, const perf::SampleEvent& sample) {
  if (sample.kernel.empty() || !parts_.kernel_part || is_cut_) return node;
  const auto part = parts_.kernel_part(sample);
  if (recording_.tree.size() + part.size() > kMostNodesWithKernel) {
    ++recording_.account.kernel_parts_cut;
    return node;
  }
  for (const LocationId location : part) node = recording_.tree.child(node, location);
  return node;
}

void Recorder::stands_on(ThreadId thread, const unwind::Chain& chain, Nanoseconds read_ns) {
  if (!with_waits_ || chain.frames.empty() || !waits_.knows(thread)) return;
  const NodeId node = node_of(thread, chain);
  if (const auto wait = waits_.stands_on(thread, node, chain.complete(), read_ns)) add(*wait);
}

void Recorder::take_sample(const perf::SampleEvent& sample) {
  const bool counts =
      sample.reason == perf::SampleReason::cpu_time || sample.reason == perf::SampleReason::event;
  if (counts && sample.time_ns < start_ns_) return;
  const NodeId user = path_of(sample);
  const NodeId node = with_kernel_part(user, sample);
  if (sample.reason == perf::SampleReason::leaving) {
    return waits_.leaving(sample.thread, {node, is_complete_, in_system_call(sample.user), user},
                          static_cast<std::uint16_t>(sample.tag));
  }
  if (sample.reason == perf::SampleReason::waking) return waits_.woken_by(sample.woken, node);
  if (sample.reason == perf::SampleReason::event) return take_event(sample, node);
  recording_.add(key(sample.thread, Metric::samples), node, 1);
  const auto period_ns = static_cast<std::uint64_t>(sample.period_ns);
  if (!with_waits_) return recording_.add(key(sample.thread, Metric::cpu_ns), node, period_ns);
  if (const auto wait = waits_.runs(sample.thread, sample.time_ns)) add(*wait);
  pending_[sample.thread].cpu_ns[node] += period_ns;
}

void Recorder::take_event(const perf::SampleEvent& sample, NodeId node) {
  std::uint64_t& sum = event_sums_[sample.tag];
  const std::uint64_t value = std::min(parts_.value_of(sample), kMostOfEvent - sum);
  sum += value;
  recording_.add(key(sample.thread, metric_of_event(sample.tag)), node, value);
}

void Recorder::take_switch(const perf::SwitchEvent& change) {
  if (change.kind == perf::SwitchKind::in) {
    if (const auto wait = waits_.come(change.thread, change.time_ns)) add(*wait);
  } else {
    const bool preempted = change.kind == perf::SwitchKind::out_preempted;
    waits_.leave(change.thread, change.time_ns, preempted, change.place);
  }
}

void Recorder::add(const Wait& wait) {
  if (!with_waits_) return;
  ThreadPending& pending = pending_[wait.thread];
  WaitSums& sums = wait.path ? pending.sampled[*wait.path] : pending.others;
  sums.blocked_ns += static_cast<std::uint64_t>(wait.blocked_ns);
  sums.runnable_ns += static_cast<std::uint64_t>(wait.runnable_ns);
  sums.stopped_ns += static_cast<std::uint64_t>(wait.stopped_ns);
  sums.frozen_ns += static_cast<std::uint64_t>(wait.frozen_ns);
  if (wait.over) ++sums.waits;
  if (wait.over && wait.whole_blocked_ns >= kLongWait) {
    ++recording_.long_waits.count;
    if (wait.path && wait.is_complete) ++recording_.long_waits.complete;
  }
  if (wait.over && wakers_) pending.wakers.add(wait);
}

void Recorder::flush(ThreadId thread, bool is_last, bool of_epoch) {
  if (!with_waits_) return;
  const auto pending = pending_.try_emplace(thread).first;
  auto& [cpu_ns, sampled, others, wakers] = pending->second;
  flush_cpu(thread, cpu_ns, is_last);
  if (wakers_) flush_wakers(thread, wakers);
  // Where a thread stands may still be read. What it has waited until then is kept for that.
  const bool keeps = sampled.empty() && !is_last && !of_epoch;
  const WaitSums kept = keeps ? std::exchange(others, {}) : WaitSums();
  if (!sampled.empty() || others != WaitSums()) share_out(others, sampled);
  for (const auto& [node, sums] : sampled) {
    recording_.add(key(thread, Metric::blocked_ns), node, sums.blocked_ns);
    recording_.add(key(thread, Metric::runnable_ns), node, sums.runnable_ns);
    recording_.add(key(thread, Metric::waits), node, sums.waits);
    recording_.add(key(thread, Metric::stopped_ns), node, sums.stopped_ns);
    recording_.add(key(thread, Metric::frozen_ns), node, sums.frozen_ns);
  }
  if (kept == WaitSums()) {
    pending_.erase(pending);
  } else {
    pending->second = {{}, {}, kept, {}};
  }
}

// The switches tell how long the thread was on a core, the samples where. What it has run without a
// sample is kept for its next one; if it ends, for the samples of its group.
void Recorder::flush_cpu(ThreadId thread, std::map<NodeId, std::uint64_t>& sampled, bool is_last) {
  if (sampled.empty() && !is_last) return;
  const auto on_core_ns = waits_.take_on_core(thread, is_last);
  if (sampled.empty() && on_core_ns.value_or(0) == 0) return;
  GroupCpu& group = group_cpu_[groups_.group_of(thread)];
  if (sampled.empty()) {
    group.unsampled_ns += static_cast<std::uint64_t>(*on_core_ns);
    return;
  }
  if (on_core_ns) divide(static_cast<std::uint64_t>(*on_core_ns), sampled);
  for (const auto& [node, value] : sampled) {
    recording_.add(key(thread, Metric::cpu_ns), node, value);
    group.sampled[node] += value;
  }
}

// Gives what threads that have ended ran without a sample to the paths that their group's samples
// had meanwhile.
void Recorder::settle_groups(bool is_last) {
  const auto epoch = static_cast<std::uint32_t>(recording_.epochs.size() - 1);
  for (auto& [number, group] : group_cpu_) {
    auto sampled = std::exchange(group.sampled, {});
    if (group.unsampled_ns == 0 || (sampled.empty() && !is_last)) continue;
    // After the last sample: like all before it.
    if (sampled.empty()) {
      const Slice& all = recording_.slices[{epoch, number, Metric::cpu_ns}];
      sampled.insert(all.begin(), all.end());
    }
    if (sampled.empty()) sampled[kRoot];
    divide(std::exchange(group.unsampled_ns, 0), sampled);
    for (const auto& [node, value] : sampled) {
      recording_.add({epoch, number, Metric::cpu_ns}, node, value);
    }
  }
}

void Recorder::start(Nanoseconds time_ns) {
  start_ns_ = time_ns;
  waits_.start(time_ns);
}

void Recorder::record_wakers() {
  const auto node = [&](const char* name) {
    return recording_.tree.path(std::array{parts_.outside(name)});
  };
  const bool is_of_set = !recording_.set.empty();
  wakers_ = WakersWithoutPath{
      node(is_of_set ? "[outside: timer, device or a process that is not recorded]"
                     : "[outside: timer, device or another process]"),
      node("[interrupt]"),
      node(is_of_set ? "[a thread of the recorded processes, not sampled]"
                     : "[a thread of the process, not sampled]"),
      node("[nobody: the wait goes on]")};
}

void Recorder::flush_wakers(ThreadId thread, Wakers& wakers) {
  const WakerSums sums = wakers.take(*wakers_);
  if (sums.empty()) return;
  auto& all = recording_.wakers[groups_.group_of(thread)];
  for (const auto& [pair, value] : sums) all[pair] += value;
}

void Recorder::settle_all(Nanoseconds now_ns, bool is_last, bool of_epoch) {
  for (const Wait& wait : waits_.cut(now_ns)) {
    add(wait);
    if (is_last && wakers_) pending_[wait.thread].wakers.add(wait);
  }
  for (const ThreadId thread : waits_.threads()) flush(thread, is_last, of_epoch);
  std::vector<ThreadId> ended;
  for (const auto& [thread, pending] : pending_) {
    if (!waits_.knows(thread)) ended.push_back(thread);
  }
  for (const ThreadId thread : ended) flush(thread, true);
  settle_groups(is_last);
}

void Recorder::begin_epoch(Nanoseconds start_ns, const std::string& reason, Nanoseconds now_ns) {
  settle_all(now_ns, false, true);
  recording_.epochs.push_back({start_ns, reason});
}

}  // namespace causalctl::callpath
