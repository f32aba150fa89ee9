// What a run has cost and lost, and how it ended: what the log records of it as a whole and its
// report shows. Passive.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "controller/base/fields.h"
#include "controller/base/types.h"

namespace causalctl {

// Why a run ended.
enum class EndReason : std::uint8_t {
  none,  // it has not ended, or its log is cut off
  duration,
  interrupted,
  target_exited,
  first_thread_ended,  // while others went on, which is not supported
  budget,              // the target ran slower than the user allows
  certain,             // the effects are known as well as the user wants
  log_failed,          // the log could not be written
};
constexpr auto names_of(EndReason) {
  return std::array<std::string_view, 8>{
      "",       "duration", "interrupted", "target-exited", "first-thread-ended",
      "budget", "certain",  "log-failed"};
}

// The target's state after the run, compared with that of before. Of several runs the largest value
// counts.
enum class DigestResult : std::uint8_t { unknown, same, changed };
constexpr auto names_of(DigestResult) {
  return std::array<std::string_view, 3>{"unknown", "same", "changed"};
}

// What one pause costs its thread, besides the pause; counted as paid.
struct PauseCost {
  Nanoseconds cost_ns = 0;
  Nanoseconds error_ns = 0;   // standard error, for pauses of that length
  Nanoseconds length_ns = 0;  // mean length of the pauses it was measured with; 0: not known

  static constexpr auto fields() {
    return std::tuple{Field("pause_cost_ns", &PauseCost::cost_ns, kLargest),
                      Field("pause_cost_error_ns", &PauseCost::error_ns, kLargest),
                      Field("pause_cost_length_ns", &PauseCost::length_ns, kLargest | kLogOnly)};
  }
};

// Of several runs the largest counts.
struct Overhead {
  // By how much sampling slows down the target, and the ends of the 95 % interval; nullopt: not
  // known. It is the share of CPU time that samples take, unless progress with sampling and without
  // it in turn shows more.
  std::optional<double> slowdown, slowdown_low, slowdown_high;
  double slowdown_by_samples = 0;  // of it, what samples take at least, each where it is taken
  double sample_ns = 0;  // what one sample takes of its thread, measured on ours; 0: not known
  double controller_cpu_share = 0;  // of one core
  Nanoseconds attach_stop_ns = 0;
  // From a sample in the unit to the beginning of the pause that it makes necessary; 0: no pauses.
  Nanoseconds sample_to_pause_p50_ns = 0;
  Nanoseconds sample_to_pause_p99_ns = 0;
  Nanoseconds period_ns = 0;
  PauseCost pause_cost;

  static constexpr auto fields() {
    return std::tuple{Field("controller_cpu_share", &Overhead::controller_cpu_share, kLargest),
                      Field("attach_stop_ns", &Overhead::attach_stop_ns, kLargest),
                      Field("sample_to_pause_p50_ns", &Overhead::sample_to_pause_p50_ns, kLargest),
                      Field("sample_to_pause_p99_ns", &Overhead::sample_to_pause_p99_ns, kLargest),
                      Field("", &Overhead::pause_cost),
                      Field("period_ns", &Overhead::period_ns, kLargest),
                      Field("sample_ns", &Overhead::sample_ns, kLargest),
                      Field("slowdown", &Overhead::slowdown),
                      Field("slowdown_low", &Overhead::slowdown_low),
                      Field("slowdown_high", &Overhead::slowdown_high),
                      Field("slowdown_by_samples", &Overhead::slowdown_by_samples)};
  }
};

inline void merge(Overhead& all, const Overhead& one) {
  merge<Overhead>(all, one);
  if (!one.slowdown || one.slowdown < all.slowdown) return;
  all.slowdown = one.slowdown;  // with its own interval
  all.slowdown_low = one.slowdown_low;
  all.slowdown_high = one.slowdown_high;
  all.slowdown_by_samples = one.slowdown_by_samples;
}

struct Losses {
  std::uint64_t records_lost = 0;  // before and between the experiments, too
  // Samples without a unit whose call stack could not be followed to its end.
  std::uint64_t stacks_truncated = 0;
  std::uint64_t samples_unknown = 0;  // without a unit
  std::uint64_t samples_total = 0;
  std::uint64_t throttles = 0;  // samples after which the kernel took none for a while
  // Samples whose stack was deeper than what was copied of it, with a unit or without.
  std::uint64_t stacks_copied_in_part = 0;

  static constexpr auto fields() {
    return std::tuple{Field("records_lost", &Losses::records_lost),
                      Field("stacks_truncated", &Losses::stacks_truncated),
                      Field("samples_unknown", &Losses::samples_unknown),
                      Field("samples_total", &Losses::samples_total),
                      Field("throttles", &Losses::throttles),
                      Field("stacks_copied_in_part", &Losses::stacks_copied_in_part)};
  }
};

}  // namespace causalctl
