// Counts a point by uprobes beside its breakpoints, to find out what these cost the target, and
// then, if they cost more, in their place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "controller/base/types.h"
#include "controller/perf/event_closer.h"
#include "controller/perf/uprobes.h"
#include "controller/progress/progress.h"

namespace causalctl::progress {

class OtherWay {
 public:
  virtual ~OtherWay() = default;

  virtual void enable_breakpoints(bool on) = 0;
  virtual std::uint64_t hits() const = 0;         // of the uprobes so far
  virtual Nanoseconds visit_cost_ns() const = 0;  // by uprobe, as measured on causalctl itself
  // Lets the uprobes report visits from now on, and closes the breakpoints. If uprobes cannot do
  // that now, nothing changes. Returns whether they can.
  virtual bool replace_breakpoints() = 0;
};

class UprobesBeside final : public OtherWay {
 public:
  // Calls `replaced` when the uprobes have taken over. Uprobes that are not needed any more are
  // closed by `closer`, because that takes the kernel some 50 ms. Throws Error if uprobes cannot
  // count the point here. REQUIRES: breakpoints count it in the session; all arguments outlive it.
  UprobesBeside(const Point& point, Pid target, std::uint32_t tag, perf::Session& session,
                perf::EventCloser& closer, std::function<void(const Armed&)> replaced);
  ~UprobesBeside() override;
  UprobesBeside(const UprobesBeside&) = delete;
  UprobesBeside& operator=(const UprobesBeside&) = delete;

  void enable_breakpoints(bool on) override { session_.enable_visits(tag_, on); }
  std::uint64_t hits() const override;
  Nanoseconds visit_cost_ns() const override { return plan_.visit_cost_ns; }
  bool replace_breakpoints() override;

 private:
  const Point& point_;
  std::uint32_t tag_;
  perf::Session& session_;
  perf::EventCloser& closer_;
  std::function<void(const Armed&)> replaced_;
  UprobePlan plan_;
  perf::Uprobes uprobes_;
  std::vector<Fd> open_;
};

}  // namespace causalctl::progress
