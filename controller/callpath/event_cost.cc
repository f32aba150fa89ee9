#include "controller/callpath/event_cost.h"

namespace causalctl::callpath {

bool CostBudget::may_go_on(std::uint64_t hits, Nanoseconds time_ns, bool may_begin) {
  hits_ += hits;
  if (open_) open_ns_ += time_ns - last_ns_;
  last_ns_ = time_ns;
  const double spent_ns = static_cast<double>(hits_) * static_cast<double>(cost_ns_);
  const double over_ns = spent_ns - most_ * static_cast<double>(time_ns);
  if (open_ && over_ns > static_cast<double>(kBurst)) {
    open_ = false;
    interrupted_ = true;
  } else if (!open_ && may_begin && over_ns <= 0) {
    open_ = true;
  }
  return open_;
}

double CostBudget::open_share() const {
  return last_ns_ > 0 ? static_cast<double>(open_ns_) / static_cast<double>(last_ns_) : 1;
}

double CostBudget::hits_per_second() const {
  return open_ns_ > 0 ? static_cast<double>(hits_) * kSecond / static_cast<double>(open_ns_) : 0;
}

}  // namespace causalctl::callpath
