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
  Resolver(std::unique_ptr<unwind::Symbolizer> symbolizer, config::Scope scope);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  using Answer = std::pair<Address, std::optional<Unit>>;
  void ask(Address address);
  void refresh();                 // mappings changed
  std::vector<Answer> answers();  // since the last call; never blocks for long

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
