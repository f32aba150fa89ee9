// How often calls are made, from samples of calls that are under way and the time until each of
// them returned. Pure.
//
// The *residual life* of a sampled call is the time from the sample to its return. Samples find
// long calls more often than short ones, and at any moment of theirs with equal chance. So if calls
// of one place in the program are made λ times a second, and S(t) is the share of those that last
// longer than t, then the probability that a sample finds such a call under way that will return
// between t and t + dt from then is λ S(t) dt (the renewal theorem; Cox, "Renewal Theory", 1962,
// §5). It does not matter how often or how long the calls are otherwise, nor that samples see them
// in part only.
//
// So the density of residual lives, over all samples, is at t the rate of the calls that last
// longer than t; it never rises with t, and its value at 0 is the rate of all calls. Lives shorter
// than what sentinel and trap need cannot be measured, so that what can be told is the rate of the
// calls that last longer than that: a lower bound of the rate of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::callpath {

inline constexpr std::size_t kFewestLives = 64;  // that tell a rate

struct ResidualLives {
  // Of the samples that found a call of the place under way, those that were seen to end. Those
  // that go on for longer than `watched_ns` are left out. Any may be left out that are shorter than
  // `precision_ns`, which is what the beginning and the end of a measurement may be late, together.
  std::vector<Nanoseconds> lives_ns;
  std::uint64_t samples = 0;  // moments, whatever was found then: in each thread one call, or none
  Nanoseconds watched_ns = 0;
  Nanoseconds precision_ns = 0;
};

// The 95 % interval, in calls a second of the time that samples and lives are measured in. It is of
// the calls that last longer than some time from `from_ns` to `to_ns`.
struct LongerCalls {  // calls a second that last longer than a time
  Nanoseconds than_ns = 0;
  double low = 0;
  double high = 0;
};
struct CallRate {
  double per_second = 0;
  double low = 0;
  double high = 0;
  Nanoseconds from_ns = 0;
  Nanoseconds to_ns = 0;
  std::vector<LongerCalls> longer{};  // how the durations are distributed
};

// Returns nullopt if there are too few lives to tell. The rate is the mean density over the first
// lives above the precision: an eighth of those over which it is not seen to fall, over which it
// cannot have fallen far. The time up to the k-th of them has a gamma distribution, from which the
// interval follows. Calls of which hardly any was seen, being short and few among long ones, are
// not in it.
//
// The calls that last longer than t are told for t of 1, 2 and 5 times powers of ten. As the
// density never rises, it is at t not more than its mean from the t before it to t, and not less
// than its mean from t to the next t; the number of lives there has a Poisson distribution.
std::optional<CallRate> calls_of(const ResidualLives& residuals);

}  // namespace causalctl::callpath
