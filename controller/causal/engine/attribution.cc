#include "controller/causal/engine/attribution.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "controller/base/uprobe_page.h"
#include "controller/causal/engine/unit_of.h"
#include "controller/causal/record/unit_names.h"
#include "controller/symbols/call_chain.h"
#include "unwind/names.h"

namespace causalctl::causal {
namespace {

constexpr std::size_t kRecent = 256;
constexpr std::size_t kMaxPending = 4096;  // beyond this, the oldest samples become `unknown`
constexpr std::size_t kChainDepth = 32;
constexpr std::size_t kLatestStacks = 64;
constexpr std::size_t kMostCallsBelow = 64;  // of a unit; one that has more has no call of them all

// Frames are asked for only of code in scope.
bool is_nameless(const symbols::Location& location) {
  return !location.frames.empty() && location.frames.back().function.empty() &&
         location.frames.front().line == 0;
}

}  // namespace

bool on_chain(const std::vector<Address>& chain, const std::vector<CodeRange>& code) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Address address = symbols::code_at(chain, i);
    const auto holds = [&](const CodeRange& range) { return range.contains(address); };
    if (std::any_of(code.begin(), code.end(), holds)) return true;
  }
  return false;
}

Attribution::Attribution(std::unique_ptr<symbols::LocationSource> symbols,
                         std::unique_ptr<unwind::Unwinder> unwinder, config::Scope scope)
    : unwinder_(std::move(unwinder)), symbols_(std::move(symbols)), scope_(std::move(scope)) {}

// In a call that does not return the next two calls do not either, unlike those in a function that
// works: the code of a launcher, or of a main loop, is everywhere in what these call.
void Attribution::CallsBelow::count(const std::vector<Address>& chain, std::size_t unit) {
  if (unit < 3) return;  // the innermost entry is where it runs, not a call
  const std::pair below = {chain[unit - 1], chain[unit - 2]};
  if (calls_.size() == kMostCallsBelow && !calls_.contains(below)) return;
  most_ = std::max(most_, ++calls_[below]);
}

Attribution::Charge Attribution::charge_chain(const std::vector<Address>& chain) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Address address = symbols::code_at(chain, i);
    const auto known = known_.find(address);
    if (known == known_.end()) {
      if (asked_.emplace(address, true).second) symbols_->ask(address);
      return {Outcome::pending, 0};
    }
    if (known->second.unit) return {Outcome::unit, *known->second.unit, i};
    // The chain of an instruction that was copied to another place begins with a wrong caller.
    if (known->second.binary == kUprobePage) break;
  }
  return {Outcome::out_of_scope, 0};
}

Attribution::Charge Attribution::charge(const perf::SampleEvent& sample) {
  ++total_;
  count_watched(sample);
  const std::vector<Address>* chain = &sample.callers;
  Charge charge = charge_chain(*chain);
  std::vector<Address> unwound;
  bool complete = true;
  const auto own = sample.callers.empty() ? known_.end() : known_.find(sample.callers.front());
  const bool comparable = own != known_.end() && !sample.user.registers.empty();
  if (comparable && own->second.unit) ++caller_check_.samples;
  if (comparable && !own->second.unit) {
    if (std::exchange(unwinder_is_stale_, false)) unwinder_->refresh();
    unwound = symbols::unwound(sample.user, *unwinder_, kChainDepth, sample.callers);
    // In a system call the registers are those of its entry, so the chain starts at the same place.
    const Charge exact = charge_chain(unwound);
    complete = unwinder_->last_complete();
    if (exact.outcome != Outcome::pending && charge.outcome != Outcome::pending) {
      ++caller_check_.samples;
      ++caller_check_.needed_caller;
      if (exact.outcome != charge.outcome || exact.unit != charge.unit) ++caller_check_.disagreed;
    }
    charge = exact;
    chain = &unwound;
  }
  if (charge.outcome == Outcome::pending) {
    if (pending_.size() == kMaxPending) {
      pending_.pop_front();
      ++unknown_;
    }
    pending_.push_back({*chain, complete});
  } else {
    count(charge, *chain, complete);
  }
  return charge;
}

void Attribution::watch(std::vector<std::vector<CodeRange>> codes) {
  watched_ = std::move(codes);
  seen_in_.assign(watched_.size(), 0);
}

void Attribution::count_watched(const perf::SampleEvent& sample) {
  if (watched_.empty()) return;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if (on_chain(sample.callers, watched_[i])) ++seen_in_[i];
  }
  if (sample.user.registers.empty()) return;
  if (latest_stacks_.size() == kLatestStacks) latest_stacks_.pop_front();
  latest_stacks_.push_back(sample.user);
}

std::vector<std::vector<Address>> Attribution::latest_stacks() {
  std::vector<std::vector<Address>> chains;
  if (!unwinder_) return chains;
  for (const perf::UserStack& user : latest_stacks_) {
    chains.push_back(symbols::unwound(user, *unwinder_, kChainDepth));
  }
  return chains;
}

// What is nameless is told of as that.
void Attribution::count_cut_off(const Known& own) {
  ++stacks_cut_off_;
  if (own.nameless) return;
  ++cut_off_in_[own.binary];
  ++cut_off_[own.place];
}

void Attribution::count(const Charge& charge, const std::vector<Address>& chain, bool complete) {
  const auto own = chain.empty() ? known_.end() : known_.find(chain.front());
  const bool own_unit = own != known_.end() && own->second.unit;
  if (own != known_.end() && !own_unit) ++elsewhere_[own->second.place];
  if (own != known_.end() && own->second.nameless) ++nameless_in_[own->second.binary];
  if (charge.outcome == Outcome::out_of_scope) {
    if (own != known_.end()) {
      ++unclaimed_[own->second.place];
      if (!complete) count_cut_off(own->second);
    }
    ++unknown_;
    return;
  }
  ++counts_[charge.unit];
  if (!own_unit) {
    ++inherited_[charge.unit];
    calls_below_[charge.unit].count(chain, charge.depth);
  }
  recent_.push_back(charge.unit);
  if (recent_.size() > kRecent) recent_.pop_front();
}

UnitId Attribution::intern(Unit unit) {
  const std::string identity = identity_of(unit);
  if (const auto found = by_identity_.find(identity); found != by_identity_.end()) {
    return found->second;
  }
  const auto taken = [this](const std::string& name) { return by_name_.contains(name); };
  if (taken(unit.name)) unit.name = free_name(unit, taken);
  const auto id = static_cast<UnitId>(units_.size());
  by_identity_[identity] = id;
  by_name_.emplace(unit.name, id);
  units_.push_back(std::move(unit));
  counts_.push_back(0);
  inherited_.push_back(0);
  calls_below_.emplace_back();
  return id;
}

void Attribution::absorb() {
  const auto answers = symbols_->answers();
  if (answers.empty()) return;
  for (const symbols::Location& location : answers) {
    asked_.erase(location.address);
    auto unit = unit_of(location, scope_);
    known_[location.address] =
        unit ? Known{intern(std::move(*unit)), {}, {}, false}
             : Known{std::nullopt, place_of(location),
                     std::string(unwind::base_name(location.module)), is_nameless(location)};
  }
  std::deque<Waiting> waiting;
  std::swap(waiting, pending_);
  for (Waiting& each : waiting) {
    const Charge charge = charge_chain(each.chain);
    if (charge.outcome == Outcome::pending) {
      pending_.push_back(std::move(each));
    } else {
      count(charge, each.chain, each.complete);
    }
  }
}

void Attribution::mapped(Address start, Address end) {
  // An address outside every module may be inside one. What was known of the range is known of a
  // file that was there before.
  std::erase_if(known_, [&](const auto& entry) {
    return !entry.second.unit || (entry.first >= start && entry.first < end);
  });
  unwinder_is_stale_ = true;
  symbols_->refresh();
}

std::vector<UnitSamples> Attribution::samples() const {
  std::vector<UnitSamples> all;
  for (UnitId id = 0; id < units_.size(); ++id) {
    all.push_back({units_[id], counts_[id], 0, inherited_[id], calls_below_[id].most()});
  }
  return all;
}

std::vector<PlaceSamples> Attribution::out_of_scope() const {
  std::vector<PlaceSamples> all;
  if (!scope_.is_default()) return all;
  for (const auto& entry : elsewhere_) {
    const auto in = [&](const auto& counts) {
      const auto found = counts.find(entry.first);
      return found == counts.end() ? 0 : found->second;
    };
    all.push_back({entry.first, entry.second, in(unclaimed_), in(cut_off_)});
  }
  return all;
}

void Attribution::call(std::string identity, std::string name) {
  identity_of_called_ = std::move(identity);
  called_ = std::move(name);
}

std::optional<UnitId> Attribution::find(const std::string& name) const {
  if (!called_.empty() && name == called_) {
    const auto found = by_identity_.find(identity_of_called_);
    return found == by_identity_.end() ? std::nullopt : std::optional(found->second);
  }
  if (const auto found = by_identity_.find(name); found != by_identity_.end()) return found->second;
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  const auto unit = std::find_if(units_.begin(), units_.end(),
                                 [&](const Unit& each) { return may_be_called(each, name); });
  if (unit == units_.end()) return std::nullopt;
  return static_cast<UnitId>(unit - units_.begin());
}

std::vector<std::string> Attribution::hottest(std::size_t most) const {
  std::vector<UnitId> ids(units_.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(),
                   [this](UnitId left, UnitId right) { return counts_[left] > counts_[right]; });
  std::vector<std::string> names;
  for (const UnitId id : ids) {
    if (names.size() == most) break;
    names.push_back(units_[id].name);
  }
  return names;
}

}  // namespace causalctl::causal
