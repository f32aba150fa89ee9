// The order of A/B runs. Pure.
//
// Blocks of four runs, ABBA or its mirror BAAB, drawn at random (a randomised complete block design
// with two replicates: Fisher, The Design of Experiments (1935), §§ 20-27). Within a block a drift
// of the machine that is linear in time falls on both sides alike; which of the two orders is drawn
// is what makes the difference of a block symmetric about zero when the sides are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace causalctl::compare {

enum class Side : std::uint8_t { a, b };
// null: A against A, where the second A stands in the place of B.
enum class Phase : std::uint8_t { null, pairs };

inline constexpr std::size_t kRunsOfBlock = 4;
inline constexpr std::size_t kPairsOfBlock = 2;

struct ScheduledRun {
  Phase phase = Phase::pairs;
  std::size_t block = 0;                                               // within the phase
  Side role = Side::a;                                                 // in the comparison
  Side side() const { return phase == Phase::null ? Side::a : role; }  // what is run
};

// Block after block; an unlimited number.
class Schedule {
 public:
  explicit Schedule(std::uint64_t seed) : random_(seed) {}
  // Each phase counts its own blocks.
  std::vector<ScheduledRun> next(Phase phase);

 private:
  std::mt19937_64 random_;
  std::size_t blocks_[2] = {};
};

// Whole blocks that contain at least this number of pairs.
constexpr std::size_t blocks_for(std::size_t pairs) {
  return (pairs + kPairsOfBlock - 1) / kPairsOfBlock;
}

}  // namespace causalctl::compare
