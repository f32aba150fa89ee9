// The symbolizing thread behind Attribution: addresses in, places in scope out.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/causal/record/experiment.h"
#include "unwind/symbolizer.h"

namespace causalctl::causal {

// The unit that an address belongs to by itself, without its callers; nullopt: out of scope. Pure
// but for the symbolizer. `module_main`, `path`: of the module at the address.
std::optional<Unit> unit_of(const std::vector<unwind::Frame>& frames, bool has_lines,
                            const config::Scope& scope);
bool module_in_scope(const unwind::Module& module, const config::Scope& scope);

// The function that holds the address, by the file and the line at which it begins. nullopt: not
// known.
std::optional<Unit> function_at(Address address, unwind::Symbolizer& symbolizer);

// Of the modules in scope.
struct LineInformation {
  bool any = false;                  // in one of them, at least
  std::vector<std::string> without;  // paths
};

// The warning that functions are sped up for want of lines. Throws UsageError where only lines were
// asked for and there are none at all: no experiment could ever be made.
std::optional<std::string> missing_lines(const LineInformation& lines, const config::Scope& scope);

// "no source file matches 'x.c'; nearest: y.c": of the patterns of --scope-file that no file of the
// binaries in scope matches. Empty: there is none. Reads all of their debug information.
std::string unmatched_files(const config::Scope& scope, unwind::Symbolizer& symbolizer,
                            std::size_t nearest);

class Resolver {
 public:
  virtual ~Resolver() = default;

  struct Answer {
    Answer(Address of, std::optional<Unit> its_unit, std::string its_binary = {})
        : address(of), unit(std::move(its_unit)), binary(std::move(its_binary)) {}
    Address address;
    std::optional<Unit> unit;  // nullopt: out of scope
    std::string binary;        // file name; empty: in no file
  };
  virtual void ask(Address address) = 0;
  // Does `job` where the symbolizer is, after the questions that are there; maybe never.
  virtual void ask_later(const std::function<void(unwind::Symbolizer&)>& /*job*/) {}
  virtual void refresh() = 0;                          // mappings changed
  virtual std::vector<Answer> answers() = 0;           // since the last call; never blocks for long
  virtual std::optional<LineInformation> lines() = 0;  // nullopt: not known yet
};

// Where a target runs meanwhile that there is time to learn about, it comes first. Of a run that
// lasts less than a second the samples would be known too late: on a busy machine answers took 6 to
// 63 ms from the start at a low priority, 6 to 22 ms without (six busy loops on two cores).
enum class Haste : std::uint8_t { low_priority, ordinary };

class SymbolizingThread final : public Resolver {
 public:
  SymbolizingThread(std::unique_ptr<unwind::Symbolizer> symbolizer, config::Scope scope,
                    Haste haste = Haste::low_priority);
  ~SymbolizingThread() override;
  SymbolizingThread(const SymbolizingThread&) = delete;
  SymbolizingThread& operator=(const SymbolizingThread&) = delete;

  void ask(Address address) override;
  void ask_later(const std::function<void(unwind::Symbolizer&)>& job) override;
  void refresh() override;
  std::vector<Answer> answers() override;
  std::optional<LineInformation> lines() override;

 private:
  void work();
  Answer resolve(Address address);
  LineInformation find_lines();

  std::unique_ptr<unwind::Symbolizer> symbolizer_;  // the thread's alone
  config::Scope scope_;
  Haste haste_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Address> questions_;                              // guarded by mutex_
  std::vector<Answer> answers_;                                 // guarded by mutex_
  std::vector<std::function<void(unwind::Symbolizer&)>> jobs_;  // guarded by mutex_
  std::optional<LineInformation> lines_;                        // guarded by mutex_
  bool refresh_ = false;                                        // guarded by mutex_
  bool stop_ = false;                                           // guarded by mutex_
  std::thread thread_;                                          // last: it uses all of the above
};

}  // namespace causalctl::causal
