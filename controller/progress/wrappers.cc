#include "controller/progress/wrappers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "controller/progress/boundary.h"
#include "controller/progress/function_code.h"
#include "disasm/decoder.h"
#include "disasm/loops.h"
#include "unwind/tables/call_site.h"

namespace causalctl::progress {
namespace {

using unwind::Place;

constexpr std::size_t kLongestEntry = 16;  // bytes, of the linkage table

// Where a call or jump leads: to code, or through a pointer.
struct Lead {
  Address to = 0;
  Address slot = 0;
};

class Leads {
 public:
  explicit Leads(Pid target) : target_(target) {}

  Lead of(const disasm::Instruction& instruction) {
    if (instruction.flow != disasm::Flow::call && !disasm::jumps(instruction)) return {};
    if (!instruction.target) return {0, disasm::slot(instruction).value_or(0)};
    const Address to = *instruction.target;
    const auto [known, is_new] = known_.try_emplace(to, Lead{to, 0});
    if (is_new) {
      const auto code = read_code(target_, to, to + kLongestEntry - 1);
      const auto jump = unwind::jump_at(code, to);
      if (jump && jump->indirect) known->second.slot = jump->address;
    }
    return known->second;
  }

 private:
  Pid target_;
  std::map<Address, Lead> known_;
};

bool enters(const Lead& lead, const Place& function, unwind::Symbolizer& symbolizer) {
  if (lead.to == function.address) return true;
  return lead.slot != 0 && symbolizer.slot_leads_to(lead.slot, function);
}

// A part of the function that lies elsewhere (f.cold) goes on in it, or ends the program.
bool leaves(const disasm::Instruction& instruction, std::span<const disasm::Instruction> code,
            unwind::Symbolizer& symbolizer) {
  if (!disasm::jumps(instruction)) return instruction.mnemonic.find("ret") != std::string::npos;
  if (!instruction.target) return true;
  if (disasm::is_within(code, *instruction.target)) return false;
  const auto own = symbolizer.frames(instruction.address);
  const auto other = symbolizer.frames(*instruction.target);
  return own.empty() || other.empty() || own.back().function != other.back().function;
}

}  // namespace

bool is_thunk(const Place& place) { return place.symbol.starts_with("_ZT"); }

bool is_wrapper(const Place& place, const std::vector<Place>& places, Pid target,
                unwind::Symbolizer& symbolizer) {
  std::vector<Place> others;
  std::copy_if(places.begin(), places.end(), std::back_inserter(others), [&](const Place& each) {
    return each.function == place.function && each.symbol != place.symbol &&
           each.address != place.address;
  });
  if (others.empty()) return false;
  const disasm::Graph graph = function_graph(place.address, target, symbolizer);
  const auto entry = disasm::index_at(graph.code, place.address);
  if (!entry) return false;
  Leads leads(target);
  std::vector<bool> entering;
  for (const disasm::Instruction& each : graph.code) {
    const Lead lead = leads.of(each);
    entering.push_back(std::any_of(others.begin(), others.end(), [&](const Place& other) {
      return enters(lead, other, symbolizer);
    }));
  }
  // As far as the other entry.
  const auto reached = disasm::reached_from(graph, std::span(&*entry, 1), entering);
  bool enters_one = false;
  for (std::size_t i = 0; i < graph.code.size(); ++i) {
    if (!reached[i]) continue;
    if (entering[i]) enters_one = true;
    if (!entering[i] && leaves(graph.code[i], graph.code, symbolizer)) return false;
  }
  return enters_one;
}

void drop_wrappers(std::vector<Place>& places, Pid target, unwind::Symbolizer& symbolizer) {
  if (places.size() < 2) return;
  std::vector<Place> kept;
  for (const Place& place : places) {
    if (!is_wrapper(place, places, target, symbolizer)) kept.push_back(place);
  }
  places = std::move(kept);
}

}  // namespace causalctl::progress
