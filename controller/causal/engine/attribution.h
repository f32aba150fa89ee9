// Charges samples to units (Coz section 3.4.2): a sample goes to the first frame of its call chain
// that is in scope, inlined frames first. The unit is a line if there is line information,
// otherwise a function.
//
// Symbolizing an address takes microseconds to seconds (the first one of a module reads its debug
// information), so a thread of its own does it. The main loop only reads a table of known
// places. A sample whose places are not all known yet is `pending`: it earns nothing, and is
// counted when they are known. That is rare after the first second of a run. Places are those of
// the sample's time (symbols/code_spots.h), whatever is mapped at their addresses later.
//
// A unit may also be a call path (path_unit.h). It gets the samples of its callee on that path,
// which are then in no other unit.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "controller/causal/engine/path_unit.h"
#include "controller/causal/record/call_path.h"
#include "controller/causal/record/evidence.h"
#include "controller/causal/record/experiment.h"
#include "controller/perf/events.h"
#include "controller/symbols/async_symbolizer.h"
#include "controller/symbols/code_spots.h"
#include "controller/symbols/mappings.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::causal {

// Returns whether one of the chain's calls, or its innermost instruction, is in the code.
bool on_chain(const std::vector<Address>& chain, const std::vector<CodeRange>& code);

class Attribution {
 public:
  // `unwinder` may be null if no sample comes with a copied stack.
  Attribution(std::unique_ptr<symbols::LocationSource> symbols,
              std::unique_ptr<unwind::Unwinder> unwinder, config::Scope scope = {});
  Attribution(const Attribution&) = delete;
  Attribution& operator=(const Attribution&) = delete;

  enum class Outcome : std::uint8_t { unit, out_of_scope, pending };
  struct Charge {
    Outcome outcome = Outcome::pending;
    UnitId unit = 0;
    std::size_t depth = 0;     // index in the chain of the entry that is in the unit
    UnitId code_unit = 0;      // that of the code there: `unit`, unless that is a call path
    bool in_callee = false;    // the sample is in the callee of the call path
    OnPath path = OnPath::no;  // if it is: on the path
  };
  Charge charge(const perf::SampleEvent& sample);
  // From now on charge() symbolizes a new address itself, unless the symbolizer is busy. Runs of a
  // second need it: most samples of a unit may be the first ones at their addresses there.
  void look_up_at_once() { at_once_ = true; }

  // Takes in what has been resolved since the last call, and counts the samples that waited for it.
  // It is cheap.
  void absorb();

  // Follows the mappings of the target from now on. Without it only records tell of mappings.
  void follow(Pid target);
  void read_mappings();  // once the session has started
  // Call it with each event, in time order, before a sample is charged.
  void pass(const perf::Event& event);
  // Reads the mappings again if more records were lost than at the last call.
  void lost(std::uint64_t records, Nanoseconds now_ns);

  std::optional<symbols::LineInformation> lines() { return symbols_->lines(); }

  // Does what LocationSource::ask_later() does.
  void ask_later(const std::function<void(unwind::Symbolizer&)>& job) { symbols_->ask_later(job); }

  const Unit& unit(UnitId id) const { return units_.at(id); }
  std::uint64_t count(UnitId id) const { return counts_.at(id); }
  const std::vector<std::uint64_t>& counts() const { return counts_; }  // by unit
  std::size_t units() const { return units_.size(); }
  // Returns how many samples of count() the unit got as the caller of code out of scope.
  std::uint64_t inherited(UnitId id) const { return inherited_.at(id); }
  std::vector<UnitSamples> samples() const;  // by unit; those in baselines are not known here
  // Samples in code out of scope, by place (place_of()), whether or not a caller was charged with
  // them.
  const std::map<std::string, std::uint64_t>& elsewhere() const { return elsewhere_; }
  // The same for the report. Empty unless the scope is the default one.
  std::vector<PlaceSamples> out_of_scope() const;
  std::uint64_t unknown() const { return unknown_; }  // samples that no unit got
  std::uint64_t total() const { return total_; }
  std::size_t pending() const { return pending_.size(); }  // samples not counted yet

  // From now on find(name) returns the unit of this identity (unit_names.h), and no other.
  void call(std::string identity, std::string name);
  // Makes a unit of the call path, which find() returns by its name once it has a sample. Call it
  // once, before the first sample, and have stacks copied with all samples.
  void call_path(CallPath path);
  const std::optional<PathUnit>& path_unit() const { return path_; }

  // From now on counts, for each of these pieces of code, the samples whose chain, as the kernel
  // gives it, contains it. Results are by index. For code without frame pointers only the innermost
  // address of a chain is certain.
  void watch(std::vector<std::vector<CodeRange>> codes);
  std::uint64_t seen_in(std::size_t code) const { return seen_in_.at(code); }
  // Returns the whole chains of the latest samples that came with a copied stack, at most 64.
  // Unwinding them takes some milliseconds.
  std::vector<std::vector<Address>> latest_stacks();

  // Returns the unit that the user calls `name`: its identity, its name, FILE:LINE or FILE:FUNCTION
  // with a longer path, or BINARY:FUNCTION. Returns nullopt if no such unit was seen.
  std::optional<UnitId> find(const std::string& name) const;
  std::vector<std::string> hottest(std::size_t most) const;  // names, by samples

  const std::deque<UnitId>& recent() const {
    return recent_;
  }  // of the latest samples, at most 256

  // How often the unwound chain and the frame pointers disagreed about the unit, among the first
  // samples that came with a stack. This decides whether stacks are copied.
  struct CallerCheck {
    std::uint64_t samples = 0;
    std::uint64_t open = 0;  // of these, whose place or needed callers are not known yet
    std::uint64_t needed_caller = 0;
    std::uint64_t disagreed = 0;

    // It waits for all: places in the program itself are known long before those in a library whose
    // debug information is read.
    bool decided() const { return samples == kCompared && open == 0; }
  };
  static constexpr std::uint64_t kCompared = 100;  // samples
  const CallerCheck& caller_check() const { return caller_check_; }
  // Samples that no unit got because their copied stack ended before a frame in scope.
  std::uint64_t stacks_cut_off() const { return stacks_cut_off_; }
  // The same by the file name of the binary that was executed, empty for code in no file, without
  // those of nameless_in().
  const std::map<std::string, std::uint64_t>& cut_off_in() const { return cut_off_in_; }
  // Samples in binaries in scope, by file name, of which no unit can be made: nothing tells which
  // function has the code.
  const std::map<std::string, std::uint64_t>& nameless_in() const { return nameless_in_; }

 private:
  // Counts the calls below the inherited sample's unit.
  class CallsBelow {
   public:
    void count(const std::vector<Address>& chain, std::size_t unit);
    std::uint64_t most() const { return most_; }

   private:
    std::map<std::pair<Address, Address>, std::uint64_t> calls_;
    std::uint64_t most_ = 0;
  };

  struct Known {
    std::optional<UnitId> unit;  // nullopt if out of scope
    std::string place;           // set if out of scope
    std::string binary;          // the same
    bool nameless = false;       // no function and no line is known, though the binary is in scope
    PathFrames path{};           // to the call path, if there is one
  };
  // A call chain, with the places of its addresses.
  struct Calls {
    std::vector<Address> chain;
    std::vector<symbols::CodeSpot> spots{};
    bool complete = true;  // false if the unwinder could not go on
    bool certain = true;   // false if frame pointers tell of it, which many programs do not keep
  };
  // A sample that is counted once its places are known.
  struct Waiting {
    Calls calls;
    bool in_kernel = false;
    bool compared = false;               // it is one of caller_check()
    std::optional<Calls> by_pointers{};  // set if it is, and `calls` was unwound
  };
  using KnownSpots = std::unordered_map<symbols::CodeSpot, Known, symbols::HashOfSpot>;

  const Known* find_known(Calls& calls, std::size_t index);
  void find_spots(Calls& calls, std::size_t count) const;
  bool needs_callers(const perf::SampleEvent& sample, const Known* own) const;
  Charge charge_chain(Calls& calls);
  Charge charge_waiting(Waiting& waiting);
  Waiting waiting_of(const perf::SampleEvent& sample);
  void compare(const Charge& charge, const Charge& by_pointers);
  void keep(Waiting waiting);
  Charge charge_path(Calls& calls, const Charge& charge);
  void ask(Address address, const symbols::CodeSpot& spot);
  symbols::CodeSpot answered_spot(Address address);
  Known known_of(const symbols::Location& location);
  void count(const Charge& charge, const Waiting& sample);
  void count_cut_off(const Known& own);
  void count_watched(const perf::SampleEvent& sample);
  std::optional<UnitId> named(const std::string& name) const;
  UnitId intern(Unit unit);
  void add_unit(Unit unit);

  std::unique_ptr<unwind::Unwinder> unwinder_;
  std::optional<symbols::Following<unwind::Unwinder>> unwinder_follows_;
  std::unique_ptr<symbols::LocationSource> symbols_;
  config::Scope scope_;
  symbols::CodeSpots spots_;
  std::vector<symbols::MappingFollower*> followers_;
  std::optional<symbols::Mappings> mappings_;
  KnownSpots known_;
  // Questions that are open: by address, the spots that it was, in their order.
  std::unordered_map<Address, std::deque<symbols::CodeSpot>> asked_;
  bool at_once_ = false;
  std::optional<PathUnit> path_;
  std::deque<Waiting> pending_;
  std::vector<Unit> units_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint64_t> inherited_;    // by unit
  std::vector<std::uint64_t> in_own_code_;  // likewise
  std::vector<CallsBelow> calls_below_;     // by unit
  std::map<std::string, std::uint64_t> elsewhere_;
  std::map<std::string, std::uint64_t> cut_off_in_;
  std::map<std::string, std::uint64_t> nameless_in_;
  std::map<std::string, std::uint64_t> unclaimed_;  // those of elsewhere_ that no unit got
  std::map<std::string, std::uint64_t> cut_off_;    // those of unclaimed_ that are in cut_off_in_
  std::vector<std::vector<CodeRange>> watched_;
  std::vector<std::uint64_t> seen_in_;  // by index of watched_
  std::deque<perf::UserStack> latest_stacks_;
  std::unordered_map<std::string, UnitId> by_identity_;  // unit_names.h
  std::unordered_map<std::string, UnitId> by_name_;
  std::string called_, identity_of_called_;
  std::deque<UnitId> recent_;
  std::uint64_t unknown_ = 0;
  std::uint64_t total_ = 0;
  CallerCheck caller_check_;
  std::uint64_t stacks_cut_off_ = 0;
};

}  // namespace causalctl::causal
