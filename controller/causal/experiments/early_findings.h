// Tells the user within seconds what a run does not find: points without visits, and samples that
// no unit in scope gets. Each is said once on standard error; the report says at the end what is
// true then.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/config.h"
#include "controller/causal/analysis/silence.h"
#include "controller/causal/engine/engine.h"

namespace causalctl::causal {

class EarlyFindings {
 public:
  // A point that is visited only at the end, as in a run of a program that ends by itself, is named
  // only if the target does not run at all.
  enum class Visits : std::uint8_t { throughout, at_the_end };
  EarlyFindings(const EngineParts& parts, const Engine& engine, const config::Scope& scope,
                Visits visits);

  void begin(Nanoseconds now_ns);  // call it when the target begins to be watched
  void poll();                     // call it in each round of a loop; it is cheap
  // Returns the findings for the report. `samples` are those of all units.
  std::vector<std::string> at_the_end(const std::vector<UnitSamples>& samples);

 private:
  // Answers that the symbolizer's thread writes. It may outlive this object.
  struct Asked {
    std::mutex mutex;
    std::vector<std::vector<std::string>> inlined_at;  // by tag
    bool inlined_known = false;
    std::string unmatched_files;
    std::vector<std::string> folded;  // warnings of units whose code has other names, too
  };

  bool is_silent(std::uint32_t tag) const { return parts_.counters.total_visits(tag) == 0; }
  bool any_silent() const;
  void ask_where_inlined();
  void ask_for_files();
  void ask_for_other_names();
  void remember_use(Nanoseconds now_ns);
  Silence silence_of(std::uint32_t tag);
  std::vector<std::string> silences();
  void say_what_is_silent(Nanoseconds passed_ns);
  void say_what_is_elsewhere();
  std::optional<std::string> elsewhere(const std::vector<UnitSamples>& samples) const;

  const EngineParts& parts_;
  const Engine& engine_;
  config::Scope scope_;
  Visits visits_;
  std::shared_ptr<Asked> asked_ = std::make_shared<Asked>();
  std::vector<std::vector<Address>> stacks_;  // call stacks from the survey
  bool stacks_read_ = false;
  // The CPU time that the target had used at the last two of 250 ms, 500 ms, 1 s, 2 s, … after the
  // begin. Since the earlier one, half to three quarters of all time have passed.
  struct Use {
    Nanoseconds at_ns = 0;
    Nanoseconds cpu_ns = 0;
  };
  Use earlier_use_, later_use_;
  Nanoseconds begun_ns_ = 0;
  Nanoseconds polled_ns_ = 0;
  bool inlined_asked_ = false;
  bool names_asked_ = false;
  bool files_asked_ = false;
  bool silence_said_ = false;
  bool elsewhere_said_ = false;
};

}  // namespace causalctl::causal
