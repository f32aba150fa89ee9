// The progress points of a watched process: where they are, how each is counted, and whether what
// counts them is still in place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/perf/event_closer.h"
#include "controller/perf/session.h"
#include "controller/progress/armory.h"
#include "controller/progress/loaded_later.h"
#include "controller/progress/other_way.h"
#include "controller/progress/progress.h"
#include "controller/session/recording.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::session {

class ArmedPoints {
 public:
  // Finds the points, and records what is to be remarked of them. If the program `is_suspended`, it
  // has not loaded all of its libraries. Throws UsageError as progress::resolve() does. The
  // recording must outlive this object.
  ArmedPoints(Pid target, const config::Progress& progress, unwind::Symbolizer& symbolizer,
              bool is_suspended, Recording& recording);
  ArmedPoints(const ArmedPoints&) = delete;
  ArmedPoints& operator=(const ArmedPoints&) = delete;

  // Throws Error as progress::arm() does. The session must outlive this object, or close().
  void arm(perf::Session& session);
  void close() { closer_.reset(); }  // what other_way() has opened

  const progress::CountedPoints& all() const { return points_; }
  const progress::Armory& armory() const { return armory_; }
  const std::vector<Address>& places() const { return places_; }  // of all points
  // Counts the point of this tag by uprobes beside its breakpoints; null if it has none, or uprobes
  // cannot count it. REQUIRES: it does not outlive this object.
  std::unique_ptr<progress::OtherWay> other_way(std::uint32_t tag);
  // Returns whether a file in which breakpoints stand was unloaded, which it records. It looks 20
  // times a second, however often it is called.
  bool look_for_unloads();

 private:
  void watch_for_unloads();
  void recounted(std::uint32_t tag, const progress::Armed& armed);

  Pid target_;
  config::CountBy count_by_;
  Recording& recording_;
  progress::CountedPoints points_;
  std::vector<Address> places_;
  perf::Session* session_ = nullptr;
  progress::Armory armory_;
  std::optional<perf::EventCloser> closer_{std::in_place};  // of uprobes beside breakpoints
  progress::Unloads unloads_;                               // of files in which breakpoints stand
  Nanoseconds next_look_ns_ = 0;
  bool is_unloaded_ = false;
};

}  // namespace causalctl::session
