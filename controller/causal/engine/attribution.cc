#include "controller/causal/engine/attribution.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/uprobe_page.h"
#include "controller/causal/engine/unit_of.h"
#include "controller/causal/record/unit_names.h"
#include "controller/symbols/call_chain.h"

namespace causalctl::causal {
namespace {

constexpr std::size_t kRecent = 256;
constexpr std::size_t kMaxPending = 4096;  // beyond this, the oldest samples become `unknown`
constexpr std::size_t kChainDepth = 32;
constexpr std::size_t kPathDepth = 256;  // of chains in which a call path is looked for
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
    : unwinder_(std::move(unwinder)), symbols_(std::move(symbols)), scope_(std::move(scope)) {
  followers_ = {&spots_, symbols_.get()};
  if (unwinder_) followers_.push_back(&unwinder_follows_.emplace(*unwinder_));
}

void Attribution::follow(Pid target) { mappings_.emplace(target, followers_); }

void Attribution::read_mappings() {
  if (mappings_) mappings_->read();
}

void Attribution::lost(std::uint64_t records, Nanoseconds now_ns) {
  if (mappings_) mappings_->lost(records, now_ns);
}

void Attribution::pass(const perf::Event& event) {
  const auto* map = std::get_if<perf::MapEvent>(&event);
  if (map != nullptr && map->inode == 0) {  // other code may be compiled to there
    std::erase_if(known_, [&](const auto& entry) {
      return entry.first.file == 0 && entry.first.offset - map->start < map->length;
    });
  }
  if (mappings_) return mappings_->take(event);
  if (map == nullptr) return;
  for (symbols::MappingFollower* each : followers_) each->mapped(*map);
}

// In a call that does not return the next two calls do not either, unlike those in a function that
// works: the code of a launcher, or of a main loop, is everywhere in what these call.
void Attribution::CallsBelow::count(const std::vector<Address>& chain, std::size_t unit) {
  if (unit < 3) return;  // the innermost entry is where it runs, not a call
  const std::pair below = {chain[unit - 1], chain[unit - 2]};
  if (calls_.size() == kMostCallsBelow && !calls_.contains(below)) return;
  most_ = std::max(most_, ++calls_[below]);
}

// Finds the spots of the first `count` entries, as far as the chain has them. Most samples need
// one.
void Attribution::find_spots(Calls& calls, std::size_t count) const {
  count = std::min(count, calls.chain.size());
  for (std::size_t i = calls.spots.size(); i < count; ++i) {
    calls.spots.push_back(spots_.at(symbols::code_at(calls.chain, i)));
  }
}

void Attribution::ask(Address address, const symbols::CodeSpot& spot) {
  auto& open = asked_[address];
  if (std::find(open.begin(), open.end(), spot) != open.end()) return;
  open.push_back(spot);
  symbols_->ask(address);
}

// Returns what is known of an entry of the chain, or nullptr after asking for it. The pointer is
// valid until absorb().
const Attribution::Known* Attribution::find_known(Calls& calls, std::size_t index) {
  find_spots(calls, index + 1);
  const auto known = known_.find(calls.spots[index]);
  if (known != known_.end()) return &known->second;
  const Address address = symbols::code_at(calls.chain, index);
  if (at_once_ && !asked_.contains(address)) {
    if (const auto location = symbols_->answer_now(address)) {
      return &(known_[calls.spots[index]] = known_of(*location));
    }
  }
  ask(address, calls.spots[index]);
  return nullptr;
}

Attribution::Charge Attribution::charge_chain(Calls& calls) {
  for (std::size_t i = 0; i < calls.chain.size(); ++i) {
    const Known* known = find_known(calls, i);
    if (known == nullptr) return {Outcome::pending};
    if (known->unit) {
      const Charge charge{Outcome::unit, *known->unit, i, *known->unit};
      return path_ ? charge_path(calls, charge) : charge;
    }
    // The chain of an instruction that was copied to another place begins with a wrong caller.
    if (known->binary == kUprobePage) break;
  }
  return {Outcome::out_of_scope};
}

// Leaves in path_ what decides, for count().
Attribution::Charge Attribution::charge_path(Calls& calls, const Charge& charge) {
  if (!path_->begin(known_.at(calls.spots[charge.depth]).path)) return charge;
  for (std::size_t i = charge.depth + 1; calls.certain && i < calls.chain.size(); ++i) {
    if (!path_->is_open()) break;
    const Known* known = find_known(calls, i);
    if (known == nullptr) return {Outcome::pending};
    path_->add(known->path);
  }
  Charge on_path = charge;
  on_path.in_callee = true;
  on_path.path = path_->decide(calls.certain && calls.complete);
  if (on_path.path == OnPath::yes) on_path.unit = path_->id();
  return on_path;
}

// Those whose place is in scope need no callers, except for a call path.
bool Attribution::needs_callers(const perf::SampleEvent& sample, const Known* own) const {
  if (sample.callers.empty() || sample.user.registers.empty() || !unwinder_) return false;
  if (own == nullptr || !own->unit) return true;
  return path_ && own->path.callee() < own->path.steps.size();
}

Attribution::Waiting Attribution::waiting_of(const perf::SampleEvent& sample) {
  Waiting waiting{{sample.callers}, sample.in_kernel};
  waiting.calls.certain = false;
  find_spots(waiting.calls, 1);
  const auto& spots = waiting.calls.spots;
  const auto own = spots.empty() ? known_.end() : known_.find(spots.front());
  waiting.compared = !path_ && !sample.user.registers.empty() && caller_check_.samples < kCompared;
  if (needs_callers(sample, own == known_.end() ? nullptr : &own->second)) {
    if (waiting.compared) waiting.by_pointers = std::move(waiting.calls);
    // In a system call the registers are those of its entry, so the chain starts at the same place.
    waiting.calls = Calls{symbols::unwound(sample.user, *unwinder_,
                                           path_ ? kPathDepth : kChainDepth, sample.callers)};
    waiting.calls.complete = unwinder_->last_complete();
  }
  return waiting;
}

// Returns `pending` until the places that the sample needs are known.
Attribution::Charge Attribution::charge_waiting(Waiting& waiting) {
  const Charge charge = charge_chain(waiting.calls);
  const Charge by_pointers = waiting.by_pointers ? charge_chain(*waiting.by_pointers) : charge;
  if (by_pointers.outcome == Outcome::pending) return by_pointers;
  if (waiting.compared && charge.outcome != Outcome::pending) compare(charge, by_pointers);
  return charge;
}

void Attribution::compare(const Charge& charge, const Charge& by_pointers) {
  --caller_check_.open;
  if (charge.outcome == Outcome::unit && charge.depth == 0) return;
  ++caller_check_.needed_caller;
  if (charge.outcome != by_pointers.outcome || charge.unit != by_pointers.unit) {
    ++caller_check_.disagreed;
  }
}

Attribution::Charge Attribution::charge(const perf::SampleEvent& sample) {
  ++total_;
  count_watched(sample);
  Waiting waiting = waiting_of(sample);
  if (waiting.compared) {
    ++caller_check_.samples;
    ++caller_check_.open;
  }
  const Charge charge = charge_waiting(waiting);
  if (charge.outcome == Outcome::pending) {
    keep(std::move(waiting));
  } else {
    count(charge, waiting);
  }
  return charge;
}

void Attribution::keep(Waiting waiting) {
  if (pending_.size() == kMaxPending) {
    if (pending_.front().compared) --caller_check_.open;
    pending_.pop_front();
    ++unknown_;
  }
  // While they are those of the sample's time.
  find_spots(waiting.calls, waiting.calls.chain.size());
  if (waiting.by_pointers) find_spots(*waiting.by_pointers, waiting.by_pointers->chain.size());
  pending_.push_back(std::move(waiting));
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

void Attribution::count(const Charge& charge, const Waiting& sample) {
  const Calls& calls = sample.calls;
  const auto own = calls.spots.empty() ? known_.end() : known_.find(calls.spots.front());
  const bool own_unit = own != known_.end() && own->second.unit;
  if (own != known_.end() && !own_unit) ++elsewhere_[own->second.place];
  if (own != known_.end() && own->second.nameless) ++nameless_in_[own->second.binary];
  if (charge.outcome == Outcome::out_of_scope) {
    if (own != known_.end()) {
      ++unclaimed_[own->second.place];
      if (!calls.complete) count_cut_off(own->second);
    }
    ++unknown_;
    return;
  }
  ++counts_[charge.unit];
  if (!own_unit) {
    ++inherited_[charge.unit];
    calls_below_[charge.unit].count(calls.chain, charge.depth);
  } else if (!sample.in_kernel && charge.depth == 0) {
    ++in_own_code_[charge.unit];
  }
  if (charge.in_callee) path_->count(charge.path);
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
  add_unit(std::move(unit));
  return id;
}

void Attribution::add_unit(Unit unit) {
  units_.push_back(std::move(unit));
  counts_.push_back(0);
  inherited_.push_back(0);
  in_own_code_.push_back(0);
  calls_below_.emplace_back();
}

symbols::CodeSpot Attribution::answered_spot(Address address) {
  const auto open = asked_.find(address);
  // No question: code that was compiled has another name now.
  if (open == asked_.end()) return {0, address};
  const symbols::CodeSpot spot = open->second.front();
  open->second.pop_front();
  if (open->second.empty()) asked_.erase(open);
  return spot;
}

Attribution::Known Attribution::known_of(const symbols::Location& location) {
  auto unit = unit_of(location, scope_);
  Known known;
  if (!unit) {
    known.place = place_of(location);
    known.binary = base_name(location.module);
    known.nameless = is_nameless(location);
  }
  if (path_) {
    known.path = path_frames(location, unit ? charged_frame(location, scope_) : 0, path_->path());
  }
  if (unit) known.unit = intern(std::move(*unit));
  return known;
}

void Attribution::absorb() {
  const auto answers = symbols_->answers();
  if (answers.empty()) return;
  for (const symbols::Location& location : answers) {
    known_[answered_spot(location.address)] = known_of(location);
  }
  std::deque<Waiting> waiting;
  std::swap(waiting, pending_);
  for (Waiting& each : waiting) {
    const Charge charge = charge_waiting(each);
    if (charge.outcome == Outcome::pending) {
      pending_.push_back(std::move(each));
    } else {
      count(charge, each);
    }
  }
}

void Attribution::call_path(CallPath path) {
  const auto id = static_cast<UnitId>(units_.size());
  by_identity_[identity_of(path.unit)] = id;
  by_name_.emplace(path.unit.name, id);
  add_unit(path.unit);
  path_.emplace(std::move(path), id);
}

std::vector<UnitSamples> Attribution::samples() const {
  std::vector<UnitSamples> all;
  for (UnitId id = 0; id < units_.size(); ++id) {
    all.push_back(
        {units_[id], counts_[id], 0, inherited_[id], calls_below_[id].most(), in_own_code_[id]});
    if (!path_ || path_->id() != id) continue;
    all.back().in_callee = path_->counts().in_callee;
    all.back().unknown_callers = path_->counts().unknown_callers;
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
  const auto unit = named(name);
  const bool is_unseen = path_ && unit == path_->id() && path_->counts().on_path == 0;
  return is_unseen ? std::nullopt : unit;
}

std::optional<UnitId> Attribution::named(const std::string& name) const {
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
