#include "controller/progress/wrappers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "controller/progress/boundary.h"
#include "controller/progress/code_loops.h"
#include "controller/progress/code_steps.h"
#include "unwind/tables/call_site.h"

namespace causalctl::progress {
namespace {

using unwind::Place;

constexpr std::size_t kLongestEntry = 16;  // bytes, of the linkage table

// Where a call or jump of a step leads: to code, or through a pointer.
struct Lead {
  Address to = 0;
  Address slot = 0;
};

class Leads {
 public:
  explicit Leads(Pid target) : target_(target) {}

  Lead of(const CodeStep& step) {
    if (step.to == 0) return {0, step.slot};
    const auto [known, is_new] = known_.try_emplace(step.to, Lead{step.to, 0});
    if (is_new) {
      const auto code = read_code(target_, step.to, step.to + kLongestEntry - 1);
      const auto jump = unwind::jump_at(code, step.to);
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

bool jumps(const CodeStep& step) {
  return step.mnemonic.starts_with('j') || step.mnemonic.ends_with("jmp");
}

// A part of the function that lies elsewhere (f.cold) goes on in it, or ends the program.
bool leaves(const CodeStep& step, const std::vector<CodeStep>& steps,
            unwind::Symbolizer& symbolizer) {
  if (!jumps(step)) return step.mnemonic.find("ret") != std::string::npos;
  if (step.to == 0) return true;
  if (is_within(steps, step.to)) return false;
  const auto own = symbolizer.frames(step.address);
  const auto other = symbolizer.frames(step.to);
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
  const auto steps = steps_of(place.address, target, symbolizer);
  const auto entry = step_at(steps, place.address);
  if (entry == steps.end()) return false;
  Leads leads(target);
  std::vector<bool> entering;
  for (const CodeStep& step : steps) {
    const Lead lead = step.is_call || jumps(step) ? leads.of(step) : Lead{};
    entering.push_back(std::any_of(others.begin(), others.end(), [&](const Place& each) {
      return enters(lead, each, symbolizer);
    }));
  }
  auto until = steps;  // the same code, as far as the other entry
  for (std::size_t i = 0; i < until.size(); ++i) {
    if (!entering[i]) continue;
    until[i].is_call = true;
    until[i].continues = false;
  }
  const auto first = static_cast<std::size_t>(entry - steps.begin());
  const auto reached = reached_from(until, {first});
  bool enters_one = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!reached[i]) continue;
    if (entering[i]) enters_one = true;
    if (!entering[i] && leaves(steps[i], steps, symbolizer)) return false;
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
