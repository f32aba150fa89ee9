// The symbolizing thread behind Attribution: addresses in, places in scope out.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/causal/experiment.h"
#include "unwind/symbolizer.h"

namespace causalctl::causal {

// The unit that an address belongs to by itself, without its callers; nullopt: out of scope. Pure
// but for the symbolizer. `module_main`, `path`: of the module at the address.
std::optional<Unit> unit_of(const std::vector<unwind::Frame>& frames, bool has_lines,
                            const config::Scope& scope);
bool module_in_scope(const unwind::Module& module, const config::Scope& scope);

class Resolver {
 public:
  virtual ~Resolver() = default;

  using Answer = std::pair<Address, std::optional<Unit>>;
  virtual void ask(Address address) = 0;
  virtual void refresh() = 0;                 // mappings changed
  virtual std::vector<Answer> answers() = 0;  // since the last call; never blocks for long
};

class SymbolizingThread final : public Resolver {
 public:
  SymbolizingThread(std::unique_ptr<unwind::Symbolizer> symbolizer, config::Scope scope);
  ~SymbolizingThread() override;
  SymbolizingThread(const SymbolizingThread&) = delete;
  SymbolizingThread& operator=(const SymbolizingThread&) = delete;

  void ask(Address address) override;
  void refresh() override;
  std::vector<Answer> answers() override;

 private:
  void work();
  std::optional<Unit> resolve(Address address);

  std::unique_ptr<unwind::Symbolizer> symbolizer_;  // the thread's alone
  config::Scope scope_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Address> questions_;  // guarded by mutex_
  std::vector<Answer> answers_;     // guarded by mutex_
  bool refresh_ = false;            // guarded by mutex_
  bool stop_ = false;               // guarded by mutex_
  std::thread thread_;              // last: it uses all of the above
};

}  // namespace causalctl::causal
