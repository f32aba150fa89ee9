#include "controller/callpath/run/event_cost.h"

#include <algorithm>
#include <cmath>

namespace causalctl::callpath {
namespace {

// While costs are repaid, at least this part of what is allowed may be spent.
constexpr double kLeastPart = 0.25;
// Of a shorter time it is not known yet how dense events are.
constexpr Nanoseconds kShortTime = kSecond / 2;

double as_part(Nanoseconds time_ns, Nanoseconds of_ns) {
  return static_cast<double>(time_ns) / static_cast<double>(of_ns);
}

// How much a time so long weighs in what is remembered.
double remembered(Nanoseconds time_ns) {
  return 1 - std::exp(-as_part(time_ns, Thinning::kMemory));
}

}  // namespace

Thinning::Step Thinning::step(std::uint64_t hits, Nanoseconds time_ns, bool may_open) {
  Step step;
  const auto fresh = static_cast<double>(hits);
  hits_ += fresh;
  if (open_) open_ns_ += time_ns - last_ns_;
  if (in_piece_) piece_hits_ += fresh;
  last_ns_ = time_ns;
  if (in_piece_ && time_ns - piece_ns_ >= kPiece) end_piece(time_ns, step);
  if (!in_piece_ && time_ns >= piece_ns_ && (open_ || may_open)) {
    step.began = open_ = in_piece_ = true;
    piece_ns_ = time_ns;
    piece_hits_ = 0;
  }
  step.is_open = open_;
  return step;
}

void Thinning::begin_piece(Nanoseconds time_ns) { last_ns_ = piece_ns_ = time_ns; }

void Thinning::end_piece(Nanoseconds time_ns, Step& step) {
  const Nanoseconds piece_ns = time_ns - piece_ns_;
  // It is late if it is as long as its stratum, or was delayed.
  const Nanoseconds end_ns =
      length_ns_ > kPiece ? std::max(stratum_ns_ + length_ns_, time_ns) : time_ns;
  const Nanoseconds stratum_ns = end_ns - stratum_ns_;
  step.ended = true;
  step.rest_ns = end_ns - time_ns;
  step.cost_share = piece_hits_ * cost_ns_ / static_cast<double>(piece_ns);
  estimated_hits_ += piece_hits_ * as_part(stratum_ns, piece_ns);
  recent_share_ += remembered(stratum_ns) * (step.cost_share - recent_share_);
  in_piece_ = false;
  stratum_ns_ = end_ns;
  length_ns_ = next_length(time_ns);
  // Clamped, so that the ends of the stratum are seen as often as the rest of it: what is dense may
  // go on beyond the piece that made the stratum long.
  const double place = std::uniform_real_distribution<double>(0, 1)(random_);
  const auto offset_ns = static_cast<Nanoseconds>(place * static_cast<double>(length_ns_));
  piece_ns_ = stratum_ns_ + std::clamp<Nanoseconds>(offset_ns - kPiece / 2, 0, length_ns_ - kPiece);
  open_ = piece_ns_ - time_ns < kClosing;
  interrupted_ = interrupted_ || length_ns_ > kPiece;
}

Nanoseconds Thinning::next_length(Nanoseconds time_ns) const {
  const double debt_ns = hits_ * cost_ns_ - most_ * static_cast<double>(time_ns);
  if (debt_ns <= static_cast<double>(kSlack)) return kPiece;
  const double part = std::max(most_ - debt_ns / static_cast<double>(kRepay), most_ * kLeastPart);
  const double dense = recent_share_ / remembered(std::max(time_ns, kShortTime));
  const double length_ns = static_cast<double>(kPiece) * dense / part;
  if (length_ns <= static_cast<double>(kPiece)) return kPiece;
  // What is owed may take longer to repay.
  const double longest_ns = std::max(static_cast<double>(kLongest), debt_ns / most_);
  return static_cast<Nanoseconds>(
      std::clamp(length_ns, static_cast<double>(kPiece + kClosing), longest_ns));
}

Nanoseconds Thinning::next_ns() const {
  if (length_ns_ <= kPiece) return kNever;
  return in_piece_ ? piece_ns_ + kPiece : piece_ns_;
}

double Thinning::open_share() const { return last_ns_ > 0 ? as_part(open_ns_, last_ns_) : 1; }

double Thinning::hits_per_second() const {
  return open_ns_ > 0 ? hits_ / as_part(open_ns_, kSecond) : 0;
}

double Thinning::estimated_per_second() const {
  return stratum_ns_ > 0 ? estimated_hits_ / as_part(stratum_ns_, kSecond) : hits_per_second();
}

}  // namespace causalctl::callpath
