#include "controller/compare/schedule.h"

namespace causalctl::compare {

std::vector<ScheduledRun> Schedule::next(Phase phase) {
  const std::size_t block = blocks_[static_cast<std::size_t>(phase)]++;
  const bool mirrored = (random_() >> 63) != 0;
  const Side outer = mirrored ? Side::b : Side::a;
  const Side inner = mirrored ? Side::a : Side::b;
  std::vector<ScheduledRun> scheduled;
  for (const Side role : {outer, inner, inner, outer}) scheduled.push_back({phase, block, role});
  return scheduled;
}

}  // namespace causalctl::compare
