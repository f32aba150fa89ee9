// Moves do not show that the line runs in the loop, because the compiler loads constants and
// spilled registers of other lines anew there.
#include "controller/progress/loop_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/progress/function_code.h"
#include "disasm/decoder.h"
#include "disasm/loops.h"

namespace causalctl::progress {
namespace {

using unwind::Place;

constexpr std::size_t kMostLoopBlocks = 2048;  // of loops of one function that are looked at

class LoopFunction {
 public:
  LoopFunction(disasm::Graph graph, const Place& place, unwind::Symbolizer& symbolizer)
      : graph_(std::move(graph)),
        loops_(disasm::loops_of(graph_)),
        place_(place),
        symbolizer_(symbolizer) {}

  bool holds(Address address) const { return disasm::is_within(graph_.code, address); }

  // Returns the lines of the smallest loop that has code of the line, is entered from one of the
  // places and has none in it; nullopt if there is no such loop.
  std::optional<std::set<int>> lines_of_loop(const std::vector<Place>& places) {
    if (loops_.empty()) return std::nullopt;
    std::vector<std::size_t> counted;        // instructions
    std::vector<std::size_t> counted_block;  // by the same index
    for (const Place& each : places) {
      const auto block = graph_.block_at(each.address);
      if (!block) continue;
      counted.push_back(*disasm::index_at(graph_.code, each.address));
      counted_block.push_back(*block);
    }
    const std::vector<bool> reached = disasm::reached_from(graph_, counted);
    const disasm::Loop* smallest = nullptr;
    std::size_t looked_at = 0;
    for (const disasm::Loop& loop : loops_) {
      if (smallest != nullptr && instructions_of(loop) >= instructions_of(*smallest)) continue;
      const bool has_place = std::ranges::any_of(counted_block, [&](std::size_t each) {
        return std::ranges::binary_search(loop.blocks, each);
      });
      if (has_place) continue;
      looked_at += loop.blocks.size();
      if (looked_at > kMostLoopBlocks) break;
      const bool is_entered = std::ranges::any_of(loop.entered_from, [&](std::size_t each) {
        const disasm::Block& block = graph_.blocks[each];
        return reached[block.first + block.count - 1];
      });
      if (is_entered && has_line(loop)) smallest = &loop;
    }
    if (smallest == nullptr) return std::nullopt;
    std::set<int> lines = lines_of(*smallest);
    lines.erase(place_.line);
    return lines;
  }

 private:
  std::size_t instructions_of(const disasm::Loop& loop) const {
    std::size_t count = 0;
    for (const std::size_t block : loop.blocks) count += graph_.blocks[block].count;
    return count;
  }

  // Calls `take` with the address of each instruction of the loop that does more than move data, as
  // long as it returns false. Returns whether it has returned true.
  template <typename Take>
  bool any_of(const disasm::Loop& loop, Take take) const {
    return std::ranges::any_of(loop.blocks, [&](std::size_t block) {
      return std::ranges::any_of(graph_.code_of(graph_.blocks[block]), [&](const auto& each) {
        return !disasm::is_move(each) && take(each.address);
      });
    });
  }

  bool has_line(const disasm::Loop& loop) const {
    return any_of(loop, [&](Address address) {
      const auto frames = symbolizer_.frames(address);
      return !frames.empty() && frames.front().line == place_.line &&
             frames.front().file == place_.file;
    });
  }

  std::set<int> lines_of(const disasm::Loop& loop) const {
    std::set<int> lines;
    any_of(loop, [&](Address address) {
      for (const unwind::Frame& frame : symbolizer_.frames(address)) {
        if (frame.line <= 0 || frame.file != place_.file || frame.function != place_.function) {
          continue;
        }
        lines.insert(frame.line);
        break;
      }
      return false;
    });
    return lines;
  }

  disasm::Graph graph_;
  std::vector<disasm::Loop> loops_;
  Place place_;
  unwind::Symbolizer& symbolizer_;
};

}  // namespace

std::optional<std::string> counted_before_loop(const std::string& name,
                                               const std::vector<Place>& places, Pid target,
                                               unwind::Symbolizer& symbolizer) {
  std::vector<LoopFunction> functions;
  for (const Place& place : places) {
    if (functions.size() == kMostDecodedFunctions) break;
    const bool known =
        std::any_of(functions.begin(), functions.end(),
                    [&](const LoopFunction& each) { return each.holds(place.address); });
    if (known) continue;
    functions.emplace_back(function_graph(place.address, target, symbolizer), place, symbolizer);
    const auto lines = functions.back().lines_of_loop(places);
    if (!lines) continue;
    const std::string text = fmt::format(
        "{} is counted where its loop begins, once for each time that the loop is entered", name);
    if (lines->empty()) return text;
    // The body of most loops is below the head.
    const auto below = lines->upper_bound(place.line);
    const int line = below != lines->end() ? *below : *lines->rbegin();
    return fmt::format("{}: for each pass take a line in it, as {}:{}", text, base_name(place.file),
                       line);
  }
  return std::nullopt;
}

}  // namespace causalctl::progress
