// Symbolizes addresses on a thread of its own: they are asked for, and answered later.
//
// The first look into a module reads its debug information, which takes up to seconds; the main
// loop must not wait for that.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "controller/symbols/location.h"
#include "controller/symbols/mappings.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::symbols {

// Of the modules that are wanted.
struct LineInformation {
  bool any = false;                  // at least one of them has it
  std::vector<std::string> without;  // paths of those that have none
  std::string unused_map;            // why a perf map is not used; empty if none is passed over
};

// Where locations come from. A table of a test is the other implementation.
class LocationSource : public MappingFollower {
 public:
  // Asks what is at the address by the mappings that it was told of so far. Answers to questions of
  // one address come in their order.
  virtual void ask(Address address) = 0;
  // Does `job` where the symbolizer is, after the questions that are there; maybe never.
  virtual void ask_later(const std::function<void(unwind::Symbolizer&)>& /*job*/) {}
  virtual std::vector<Location> answers() = 0;  // since the last call; never blocks for long
  // Answers in the caller's thread. That takes some 10 µs, and milliseconds where debug information
  // is read. Returns nullopt, upon which to ask(), while earlier questions or mappings are open.
  virtual std::optional<Location> answer_now(Address /*address*/) { return std::nullopt; }
  virtual std::optional<LineInformation> lines() = 0;  // nullopt: not known yet

  void take(const std::vector<procfs::Map>& /*maps*/) override {}
  void mapped(const perf::MapEvent& /*event*/) override {}
  void unmap_all() override {}
};

// At a low priority a target that runs meanwhile comes first. In a run that lasts less than a
// second its samples would then be known too late, because answers may take tens of milliseconds
// beside busy programs: such a run needs the ordinary priority.
enum class Haste : std::uint8_t { low_priority, ordinary };

class AsyncSymbolizer final : public LocationSource {
 public:
  AsyncSymbolizer(std::unique_ptr<unwind::Symbolizer> symbolizer, Wanted wanted,
                  Haste haste = Haste::low_priority);
  ~AsyncSymbolizer() override;
  AsyncSymbolizer(const AsyncSymbolizer&) = delete;
  AsyncSymbolizer& operator=(const AsyncSymbolizer&) = delete;

  void ask(Address address) override;
  void ask_later(const std::function<void(unwind::Symbolizer&)>& job) override;
  void take(const std::vector<procfs::Map>& maps) override { give(maps); }
  void mapped(const perf::MapEvent& event) override { give(line_of(event)); }
  void unmap_all() override { give(UnmapAll()); }
  // A location whose debug information is broken has no frames.
  std::vector<Location> answers() override;
  std::optional<Location> answer_now(Address address) override;
  std::optional<LineInformation> lines() override;

 private:
  struct UnmapAll {};
  // In the order in which they came, so that each question is answered by the mappings of its time.
  using Order = std::variant<Address, UnmapAll, std::vector<procfs::Map>, procfs::Map>;

  void give(Order order);
  void work();
  void carry_out(Order& order);
  Location answer(Address address);
  LineInformation find_lines();

  // The thread alone uses these three while it is `busy_`, otherwise whoever holds mutex_.
  std::unique_ptr<unwind::Symbolizer> symbolizer_;
  Wanted wanted_;
  Haste haste_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Order> orders_;                                   // guarded by mutex_
  std::vector<Location> answers_;                               // guarded by mutex_
  std::vector<std::function<void(unwind::Symbolizer&)>> jobs_;  // guarded by mutex_
  std::optional<LineInformation> lines_;                        // guarded by mutex_
  bool busy_ = true;                                            // guarded by mutex_
  bool stop_ = false;                                           // guarded by mutex_
  std::thread thread_;                                          // last: it uses all of the above
};

}  // namespace causalctl::symbols
