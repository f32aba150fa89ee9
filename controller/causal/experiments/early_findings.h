// What a run has not found, said within seconds: points without visits, and samples that no unit in
// scope has. Looks whenever a loop of the run turns; says each thing once on standard error, and at
// the end in the report, as it is then.
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
  // Where a point is visited at the end only, as in a run of a program that ends by itself, it is
  // named only if the target does not run at all.
  enum class Visits : std::uint8_t { throughout, at_the_end };
  EarlyFindings(const EngineParts& parts, const Engine& engine, const config::Scope& scope,
                Visits visits);

  void begin(Nanoseconds now_ns);  // the target is watched from now on
  void poll();                     // cheap
  // For the report. `samples`: of all units.
  std::vector<std::string> at_the_end(const std::vector<UnitSamples>& samples);

 private:
  // What the symbolizer finds out in its own time, which may end after this.
  struct Asked {
    std::mutex mutex;
    std::vector<std::vector<std::string>> inlined_at;  // by tag
    bool inlined_known = false;
    std::string unmatched_files;
  };

  bool is_silent(std::uint32_t tag) const { return parts_.counters.total_visits(tag) == 0; }
  bool any_silent() const;
  void ask_where_inlined();
  void ask_for_files();
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
  std::vector<std::vector<Address>> stacks_;  // of the survey
  bool stacks_read_ = false;
  Nanoseconds begun_ns_ = 0;
  Nanoseconds polled_ns_ = 0;
  bool inlined_asked_ = false;
  bool files_asked_ = false;
  bool silence_said_ = false;
  bool elsewhere_said_ = false;
};

}  // namespace causalctl::causal
