// Begins epochs of a recording (csprof §2.5.1): at regular times, when the target loads or unloads
// libraries, and when it visits a point.
//
// A program that loads a library loads what that one needs, too, and a program that starts loads
// dozens: what is mapped within kBurst of each other is one load. The kernel does not tell what is
// unmapped, so that is looked for every kLookEvery.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/engine/recorder.h"
#include "controller/callpath/record/recording.h"
#include "controller/perf/events.h"
#include "controller/perf/session.h"
#include "controller/progress/progress.h"

namespace causalctl::callpath {

struct EpochSettings {
  std::optional<Nanoseconds> every_ns;
  bool libraries = false;           // one begins at dlopen and dlclose
  std::vector<std::string> points;  // SPECs; a visit begins one
};

class Epochs {
 public:
  static constexpr Nanoseconds kBurst = 100 * kMillisecond;
  static constexpr Nanoseconds kLongestBurst = kSecond;
  static constexpr Nanoseconds kLookEvery = 200 * kMillisecond;
  static constexpr Nanoseconds kShortest = 100 * kMillisecond;  // of those that visits begin
  static constexpr std::size_t kMost = 10'000;

  // Both must live as long as this object, and the recording must have an epoch.
  Epochs(EpochSettings settings, Recorder& recorder, Recording& recording);

  // Arms the points. Call it before the session starts. Throws UsageError as progress::resolve()
  // does, and Error as progress::arm().
  void arm(Pid target, perf::Session& session);
  void start(Nanoseconds begin_ns) { begin_ns_ = begin_ns; }

  // In time order, each before the recorder takes it.
  void take(const perf::Event& event);
  // `settled_ns`: up to then all events were taken.
  void at_time(Nanoseconds now_ns, Nanoseconds settled_ns);
  // The same with the libraries that are mapped, for at_time() and tests.
  void look(const std::set<std::string>& mapped, Nanoseconds settled_ns);
  // Warns of epochs that were not begun.
  void finish();

 private:
  void begin(Nanoseconds time_ns, const std::string& reason);
  void take_map(const perf::MapEvent& map);
  void take_visit(const perf::VisitEvent& visit);

  EpochSettings settings_;
  Recorder& recorder_;
  Recording& recording_;
  Pid target_ = 0;
  Nanoseconds begin_ns_ = 0;
  std::vector<std::string> names_;  // of the points, by tag
  Nanoseconds next_every_ns_ = 0;   // since the begin
  Nanoseconds next_look_ns_ = 0;
  std::optional<Nanoseconds> burst_begin_ns_;  // of the last one
  Nanoseconds burst_end_ns_ = 0;               // so far
  std::optional<Nanoseconds> last_visit_ns_;   // that began an epoch
  std::optional<std::set<std::string>> mapped_;
  std::uint64_t visits_too_soon_ = 0;
  bool too_many_ = false;
};

}  // namespace causalctl::callpath
