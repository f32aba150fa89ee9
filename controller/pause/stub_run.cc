#include "controller/pause/stub_run.h"

#include "controller/base/error.h"

namespace causalctl::pause {
namespace {

constexpr Nanoseconds kCentury = Nanoseconds{100} * 366 * 24 * 3600 * kSecond;
constexpr Nanoseconds kStall = 60 * kSecond;  // from the clock to the read, on a bad machine

}  // namespace

bool is_plausible_total(Nanoseconds paid_total_ns) {
  return paid_total_ns >= 0 && paid_total_ns <= kCentury;
}

// A run may have any length, because the target may be stopped in it. That paid_total grows by just
// that length is the stub's invariant (stub.S).
std::optional<StubRun> last_run(const tracee::Slot& slot, Nanoseconds paid_before_ns,
                                Nanoseconds now_ns) {
  INVARIANT(is_plausible_total(paid_before_ns));
  const bool ordered = slot.entered_at_ns >= 0 && slot.left_at_ns >= slot.entered_at_ns &&
                       slot.left_at_ns <= now_ns + kStall;
  if (!ordered || !is_plausible_total(slot.paid_total_ns)) return std::nullopt;
  const Nanoseconds paid_ns = slot.paid_total_ns - paid_before_ns;
  if (paid_ns != slot.left_at_ns - slot.entered_at_ns) return std::nullopt;
  return StubRun{slot.entered_at_ns, slot.left_at_ns, slot.paid_total_ns, slot.left};
}

}  // namespace causalctl::pause
