// Records a continuous profile of a set of processes, or of the machine, into a database. Nothing
// is put into any process: no signal, no ptrace. Shell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/continuous/record/database.h"
#include "controller/session/watch.h"

namespace causalctl::continuous {

struct RecordOptions {
  bool all = false;           // the machine, rather than the processes of the watch's set
  Pid process = 0;            // the only one of the set; 0 if there may be others
  Nanoseconds period_ns = 0;  // 0: as the budget lets it be
  double budget = 0.01;       // share of a busy core that samples may take
  Nanoseconds drain_ns = 5 * kSecond;
  Nanoseconds merge_ns = 600 * kSecond;
  Nanoseconds epoch_ns = 3'600 * kSecond;  // after which a new epoch begins
  Nanoseconds roll_up_ns = 0;              // older ones are joined by day; 0: never
  Nanoseconds keep_ns = 0;                 // of epochs; 0: all are kept
  std::uint64_t most_bytes = 0;            // of the file; 0: any number
  std::string label;
  bool files = true;                // those in which time is spent are kept (file_keeper.h)
  std::vector<std::string> points;  // whose visits are counted (visits.h)
  std::uint64_t seed = 1;

  // A quarter of the file is for kept files.
  std::uint64_t most_of_kept() const { return most_bytes / 4; }
  std::uint64_t most_of_epochs() const { return most_bytes - most_of_kept(); }
};

// What records call paths besides, epoch by epoch.
class PathsRecorder {
 public:
  virtual ~PathsRecorder() = default;
  virtual void begin() = 0;  // a recording
  virtual void end() = 0;    // that recording, soon: it does not wait
  // Returns the log of one that has ended, waiting for it so long; nullopt if there is none.
  virtual std::optional<std::string> take(Nanoseconds patience_ns) = 0;
};

struct RecordHooks {
  std::function<bool()> is_over;                      // whether to end
  std::function<void(const std::string& text)> show;  // how far it is
  PathsRecorder* paths = nullptr;                     // may be null
};

struct RecordSummary {
  Nanoseconds period_ns = 0;       // in the end
  Nanoseconds sample_cost_ns = 0;  // as measured
  Nanoseconds recorded_ns = 0;
  std::uint64_t samples = 0;
  std::uint64_t records = 0;    // of the kernel, that tell of these
  std::uint64_t unknown = 0;    // of these, in code of which nothing is known
  std::uint64_t lost = 0;       // of places or drains that found no room
  std::uint64_t unwritten = 0;  // in the end, because the database could not be written
  double cpu_share = 0;         // of one core, that causalctl itself has taken
};

// Records until `hooks.is_over()`, or until all processes of the set have ended. Throws Error if
// nothing can be recorded. Where the database cannot be written, it goes on in memory, as long as
// there is room, and says so.
RecordSummary record(session::Watch& watch, Database& database, const RecordOptions& options,
                     const RecordHooks& hooks);

}  // namespace causalctl::continuous
