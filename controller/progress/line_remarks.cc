// A loop of a line is a jump back, from code of the line to code of the line, on a way round that
// does not leave it: a jump back to where two ways meet again closes no loop, and one round a loop
// of other lines does not count. Calls that were inlined from the line belong to the way.
#include "controller/progress/line_remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "controller/progress/function_code.h"
#include "disasm/decoder.h"

namespace causalctl::progress {
namespace {

using unwind::Place;

constexpr std::string_view kLambda = "operator()";  // as debug information names it, without scope
constexpr std::size_t kMostStepsRound = 4096;       // instructions of one loop that are looked at

// The code of one function, and which of it is of the line.
class LineCode {
 public:
  LineCode(std::vector<disasm::Instruction> code, const Place& place,
           unwind::Symbolizer& symbolizer)
      : code_(std::move(code)), place_(place), symbolizer_(symbolizer) {
    for (const disasm::Instruction& each : code_) {
      if (!disasm::jumps(each) || !each.target || *each.target > each.address) continue;
      const Whose from = whose(each.address), to = whose(*each.target);
      const bool own = from == Whose::own || to == Whose::own;
      const bool other = is_other(from) || is_other(to);
      if (own && !other && closes(each)) loops_.emplace_back(*each.target, each.address);
    }
  }

  bool holds(Address address) const { return disasm::is_within(code_, address); }
  bool is_in_loop(Address address) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](const auto& loop) {
      return loop.first <= address && address <= loop.second;
    });
  }
  bool has_loop_behind(Address address) const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const auto& loop) { return address < loop.first; });
  }

 private:
  enum class Whose {
    own,      // code of the line
    inlined,  // by the line
    nobodys,  // line 0: of the compiler
    other,
  };

  static bool is_other(Whose whose) { return whose == Whose::other || whose == Whose::inlined; }

  Whose whose(Address address) const {
    const auto frames = symbolizer_.frames(address);
    if (frames.empty() || frames.front().line == 0) return Whose::nobodys;
    const auto of_line =
        std::find_if(frames.begin(), frames.end(), [&](const unwind::Frame& frame) {
          return frame.line == place_.line && frame.file == place_.file;
        });
    if (of_line == frames.end()) return Whose::other;
    return of_line == frames.begin() ? Whose::own : Whose::inlined;
  }

  // Returns whether the code of the line leads from the target of the jump to the jump.
  bool closes(const disasm::Instruction& jump) const {
    std::vector<Address> open = {*jump.target};
    std::set<Address> seen;
    while (!open.empty() && seen.size() < kMostStepsRound) {
      const Address address = open.back();
      open.pop_back();
      if (address == jump.address) return true;
      if (!seen.insert(address).second || whose(address) == Whose::other) continue;
      const auto index = disasm::index_at(code_, address);
      if (!index) continue;
      const disasm::Instruction& each = code_[*index];
      if (disasm::continues(each)) open.push_back(each.next());
      if (disasm::jumps(each) && each.target) open.push_back(*each.target);
    }
    return false;
  }

  std::vector<disasm::Instruction> code_;
  const Place& place_;
  unwind::Symbolizer& symbolizer_;
  std::vector<std::pair<Address, Address>> loops_;  // first instruction and jump
};

}  // namespace

std::optional<std::string> loop_on_line(const std::string& name, const std::vector<Place>& places,
                                        Pid target, unwind::Symbolizer& symbolizer) {
  std::vector<LineCode> functions;
  std::size_t iterations = 0;  // places in a loop
  bool beginning = false;      // of a loop is a place
  for (const Place& place : places) {
    auto code = std::find_if(functions.begin(), functions.end(),
                             [&](const LineCode& each) { return each.holds(place.address); });
    if (code == functions.end()) {
      if (functions.size() == kMostDecodedFunctions) break;
      functions.emplace_back(function_code(place.address, target, symbolizer), place, symbolizer);
      code = functions.end() - 1;
    }
    iterations += code->is_in_loop(place.address) ? 1 : 0;
    beginning = beginning || code->has_loop_behind(place.address);
  }
  const std::string text = name + " has a loop on this one line: ";
  if (iterations == places.size()) return text + "each iteration is counted";
  if (iterations > 0) {
    return text + fmt::format(
                      "each iteration is counted at {} of {} places, and its beginning at "
                      "the others",
                      iterations, places.size());
  }
  if (beginning) return text + "its beginning is counted, not its iterations";
  return std::nullopt;
}

std::optional<std::string> function_within(const std::string& name,
                                           const std::vector<Place>& places) {
  std::set<std::string> functions;
  for (const Place& place : places) functions.insert(place.function);
  for (const std::string& outer : functions) {
    if (outer.empty() || outer == kLambda) continue;
    const bool within = std::any_of(functions.begin(), functions.end(), [&](const auto& each) {
      return each == kLambda || each.starts_with(outer + "::") || each.starts_with(outer + ".");
    });
    if (!within) continue;
    return fmt::format("{} has code of {} and of a function within it; both are counted", name,
                       outer);
  }
  return std::nullopt;
}

}  // namespace causalctl::progress
