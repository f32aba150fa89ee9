#include "controller/continuous/analysis/culprits.h"

#include <algorithm>

#include "disasm/loops.h"
#include "disasm/work.h"
#include "unwind/tables/elf_image.h"

namespace causalctl::continuous {
namespace {

using disasm::Instruction;
using disasm::Operand;

constexpr Address kLine = 64;
// Of the smallest first-level cache for code (32 KiB), what a loop surely has for itself.
constexpr Address kSmallLoop = 16384;
constexpr double kManyTimes = 10;  // that a loop is repeated, for each time that it is entered
// An edge that is passed less often than this does not explain what is behind it (§6.3).
constexpr double kRare = 0.01;
constexpr double kPerCycle = 6;  // instructions that end in a cycle, if nothing waits
// So far back a store is looked for whose bytes a load reads.
constexpr std::size_t kFarthestStore = 8;

// What may execute immediately before an instruction.
struct Before {
  std::vector<const Instruction*> instructions = {};
  bool is_entered = false;  // from outside
  bool is_guessed = false;  // a branch or computed jump leads there, which may be mispredicted
};

class CulpritSearch {
 public:
  explicit CulpritSearch(const FunctionProfile& profile)
      : profile_(profile), into_(disasm::edges_into(profile.graph)) {
    find_loops();
  }

  std::vector<Culprit> culprits(std::size_t block, std::size_t index) const {
    const Instruction& own = profile_.graph.code[index];
    const Before before = before_of(block, index);
    std::vector<Culprit> found = by_kind(own, before);
    if (own.flow == disasm::Flow::call) {
      // Its time is that of the way back, too.
      found.insert(found.end(), {Culprit::code_cache, Culprit::code_tlb});
      return found;
    }
    if (before.is_guessed || before.is_entered) found.push_back(Culprit::misprediction);
    const bool is_far = reads_beyond_frame(own);
    const bool writes_far = disasm::writes_memory(own) && !is_in_frame(own);
    // That an instruction with lock waits for the stores before it is its synchronization.
    if (writes_far && !waits_for_all(own)) found.push_back(Culprit::store_buffer);
    if (is_far) found.push_back(Culprit::data_cache);
    if (is_far || writes_far) found.push_back(Culprit::data_tlb);
    if (!is_in_small_loop_[block] || before.is_entered) {
      if (begins_unit(own, before, kLine)) found.push_back(Culprit::code_cache);
      if (begins_unit(own, before, unwind::kPageBytes)) found.push_back(Culprit::code_tlb);
    }
    if (reads_narrower_store(block, index)) found.insert(found.begin(), Culprit::forwarding);
    return found;
  }

 private:
  void find_loops() {
    const disasm::Graph& graph = profile_.graph;
    is_in_small_loop_.resize(graph.blocks.size());
    for (const disasm::Loop& loop : disasm::loops_of(graph)) {
      Address bytes = 0;
      bool calls = false;
      for (const std::size_t block : loop.blocks) {
        for (const Instruction& each : graph.code_of(graph.blocks[block])) {
          bytes += each.size;
          calls = calls || each.flow == disasm::Flow::call;
        }
      }
      if (calls || bytes > kSmallLoop || !is_repeated(loop)) continue;
      for (const std::size_t block : loop.blocks) is_in_small_loop_[block] = true;
    }
  }

  bool is_repeated(const disasm::Loop& loop) const {
    double back = 0, in = 0;
    for (const std::size_t i : into_[loop.head]) {
      const bool is_own = std::ranges::binary_search(loop.blocks, profile_.graph.edges[i].from);
      (is_own ? back : in) += profile_.passes[i];
    }
    return back > kManyTimes * in;
  }

  // The jump at the end of the block may go another way than the one that is expected of it. A
  // branch that nearly always goes one way is expected to; a loop is expected to be repeated.
  bool is_guessed(std::size_t from, std::size_t to) const {
    const disasm::Graph& graph = profile_.graph;
    const Instruction& last = graph.code_of(graph.blocks[from]).back();
    if (!disasm::jumps(last)) return false;
    if (last.flow == disasm::Flow::jump) return !last.target;
    if (!profile_.is_counted) return !(is_in_small_loop_[from] && from >= to);
    double most = 0, all = 0;
    // Edges are in order.
    const auto first = std::ranges::lower_bound(graph.edges, from, {}, &disasm::Edge::from);
    for (auto edge = first; edge != graph.edges.end() && edge->from == from; ++edge) {
      const double passes = profile_.passes[static_cast<std::size_t>(edge - graph.edges.begin())];
      most = std::max(most, passes);
      all += passes;
    }
    return most < (1 - kRare) * all;
  }

  Before before_of(std::size_t block, std::size_t index) const {
    const disasm::Graph& graph = profile_.graph;
    if (index > graph.blocks[block].first) return {{&graph.code[index - 1]}, false, false};
    double most = 0;
    for (const std::size_t i : into_[block]) most = std::max(most, profile_.passes[i]);
    Before before;
    for (const std::size_t i : into_[block]) {
      const disasm::Edge& edge = graph.edges[i];
      if (profile_.passes[i] < kRare * most) continue;
      if (edge.from == disasm::kOutside) {
        before.is_entered = true;
      } else {
        before.instructions.push_back(&graph.code_of(graph.blocks[edge.from]).back());
        before.is_guessed = before.is_guessed || is_guessed(edge.from, block);
      }
    }
    return before;
  }

  static bool waits_for_all(const Instruction& instruction) {
    const disasm::Work work = disasm::work_of(instruction);
    return work == disasm::Work::locked || work == disasm::Work::fence;
  }

  // A fence also holds up what is behind it.
  static std::vector<Culprit> by_kind(const Instruction& own, const Before& before) {
    switch (disasm::work_of(own)) {
      case disasm::Work::divide:
        return {Culprit::divider};
      case disasm::Work::repeated:
        return {Culprit::microcode};
      case disasm::Work::system_call:
        return {Culprit::system_call};
      case disasm::Work::locked:
      case disasm::Work::fence:
        return {Culprit::synchronization};
      case disasm::Work::plain:
        break;
    }
    const bool is_held_up = std::ranges::any_of(
        before.instructions, [](const Instruction* each) { return waits_for_all(*each); });
    if (is_held_up) return {Culprit::synchronization};
    return {};
  }

  static const Operand* memory_of(const Instruction& instruction) {
    const auto operands = instruction.operands();
    const auto found = std::ranges::find(operands, Operand::Kind::memory, &Operand::kind);
    return found == operands.end() ? nullptr : &*found;
  }

  // The function's frame is in the cache: it is used in each call.
  static bool is_in_frame(const Instruction& instruction) {
    const Operand* memory = memory_of(instruction);
    return memory == nullptr || (disasm::is_in_frame(*memory) && memory->index == disasm::kNone);
  }

  static bool reads_beyond_frame(const Instruction& instruction) {
    return disasm::reads_memory(instruction) && !is_in_frame(instruction);
  }

  static bool begins_unit(const Instruction& own, const Before& before, Address unit) {
    const Address last = (own.next() - 1) / unit;
    return before.is_entered || std::ranges::any_of(before.instructions, [&](const auto* each) {
             return (each->next() - 1) / unit != last;
           });
  }

  // Within the block: a store to some of the bytes that the load reads, and not to all of them.
  bool reads_narrower_store(std::size_t block, std::size_t index) const {
    const Instruction& own = profile_.graph.code[index];
    const Operand* load = disasm::reads_memory(own) ? memory_of(own) : nullptr;
    if (load == nullptr || disasm::writes_memory(own)) return false;
    const std::size_t first = profile_.graph.blocks[block].first;
    for (std::size_t at = index; at-- > first && index - at <= kFarthestStore;) {
      const Instruction& each = profile_.graph.code[at];
      const Operand* store = disasm::writes_memory(each) ? memory_of(each) : nullptr;
      if (store != nullptr && is_same_base(*store, *load)) {
        return overlaps(*store, *load) && !contains(*store, *load);
      }
      const bool changes =
          (load->base < disasm::kRip && disasm::writes_register(each, load->base)) ||
          (load->index < disasm::kRip && disasm::writes_register(each, load->index));
      if (changes || each.flow == disasm::Flow::call) return false;
    }
    return false;
  }

  static bool is_same_base(const Operand& one, const Operand& other) {
    return one.base == other.base && one.index == other.index && one.scale == other.scale &&
           one.base != disasm::kRip && one.has_segment == other.has_segment;
  }
  static bool overlaps(const Operand& one, const Operand& other) {
    return one.value < other.value + other.size && other.value < one.value + one.size;
  }
  static bool contains(const Operand& outer, const Operand& inner) {
    return outer.value <= inner.value && outer.value + outer.size >= inner.value + inner.size;
  }

  const FunctionProfile& profile_;
  std::vector<std::vector<std::size_t>> into_;  // by block: edges that lead to it
  std::vector<bool> is_in_small_loop_;          // by block
};

// Splits the time of an instruction that was executed so often.
void split(Stall& stall, const Instruction& instruction, double time_ns, double executions,
           double cycle_ns) {
  const double execution_ns = executions * cycle_ns / kPerCycle;
  const double latency_ns = executions * cycle_ns * disasm::latency_of(instruction);
  stall.execution_ns = std::min(time_ns, execution_ns);
  stall.latency_ns = std::clamp(latency_ns - execution_ns, 0.0, time_ns - stall.execution_ns);
  stall.dynamic_ns = time_ns - stall.execution_ns - stall.latency_ns;
}

}  // namespace

std::string letters_of(std::span<const Culprit> culprits) {
  std::string letters;
  for (const Culprit each : culprits) {
    letters += kCulpritNames[static_cast<std::size_t>(each)].letter;
  }
  return letters;
}

std::vector<Stall> stalls_of(const FunctionProfile& profile, double cycles_per_ns, double runs) {
  const bool has_cycles = profile.is_counted && cycles_per_ns > 0 && runs > 0;
  const CulpritSearch search(profile);
  std::vector<Stall> stalls(profile.instructions.size());
  for (std::size_t i = 0; i < profile.graph.blocks.size(); ++i) {
    const disasm::Block& block = profile.graph.blocks[i];
    for (std::size_t at = block.first; at < block.first + block.count; ++at) {
      const double time_ns = profile.instructions[at].time_ns;
      if (time_ns <= 0) continue;
      Stall& stall = stalls[at];
      stall.dynamic_ns = time_ns;
      if (has_cycles) {
        split(stall, profile.graph.code[at], time_ns, profile.blocks[i].executions * runs,
              1 / cycles_per_ns);
      }
      if (stall.dynamic_ns > 0) stall.culprits = search.culprits(i, at);
    }
  }
  return stalls;
}

StallSummary summary_of(const std::vector<Stall>& stalls) {
  StallSummary summary;
  for (const Stall& stall : stalls) {
    summary.execution_ns += stall.execution_ns;
    summary.latency_ns += stall.latency_ns;
    summary.dynamic_ns += stall.dynamic_ns;
    if (stall.culprits.empty()) summary.unexplained_ns += stall.dynamic_ns;
    for (const Culprit culprit : stall.culprits) {
      auto& range = summary.culprits[static_cast<std::size_t>(culprit)];
      range.most_ns += stall.dynamic_ns;
      if (stall.culprits.size() == 1) range.least_ns += stall.dynamic_ns;
    }
  }
  return summary;
}

}  // namespace causalctl::continuous
