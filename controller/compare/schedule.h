// The order of A/B runs. Pure.
//
// Runs come in blocks of four, ABBA or its mirror BAAB, drawn at random (a randomised complete
// block design with two replicates: Fisher, The Design of Experiments (1935), §§ 20-27). Within a
// block, a drift of the machine that is linear in time affects both sides alike. If the sides are
// the same, the random order makes the difference of a block symmetric about zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace causalctl::compare {

enum class Side : std::uint8_t { a, b };
// In the phase `null` A runs against A, and the second A takes the place of B.
enum class Phase : std::uint8_t { null, pairs };

inline constexpr std::size_t kRunsOfBlock = 4;
inline constexpr std::size_t kPairsOfBlock = 2;

struct ScheduledRun {
  Phase phase = Phase::pairs;
  std::size_t block = 0;                                               // number within the phase
  Side role = Side::a;                                                 // its part in the comparison
  Side side() const { return phase == Phase::null ? Side::a : role; }  // the program that runs
};

// Yields an unlimited number of blocks.
class Schedule {
 public:
  explicit Schedule(std::uint64_t seed) : random_(seed) {}
  // Returns the next block; each phase counts its own.
  std::vector<ScheduledRun> next(Phase phase);

 private:
  std::mt19937_64 random_;
  std::size_t blocks_[2] = {};
};

// Returns the number of blocks that contain at least this number of pairs.
constexpr std::size_t blocks_for(std::size_t pairs) {
  return (pairs + kPairsOfBlock - 1) / kPairsOfBlock;
}

}  // namespace causalctl::compare
