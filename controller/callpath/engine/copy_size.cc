#include "controller/callpath/engine/copy_size.h"

#include <utility>

namespace causalctl::callpath {
namespace {

constexpr std::uint64_t kFewestChains = 500;
constexpr std::uint64_t kMayBeCut = 400;  // one chain in so many may end where the copy does
constexpr std::uint64_t kMayBeLost = 20;  // for so many chains one record may be lost

}  // namespace

void CopySize::take(const unwind::Chain& chain, std::size_t bytes) {
  ++sampled_;
  if (bytes >= kUsual && chain.end == unwind::ChainEnd::copy_short) ++cut_;
}

std::optional<unsigned> CopySize::choose(std::uint64_t lost, bool has_room) {
  if (!may_grow_ || sampled_ < kFewestChains) return std::nullopt;
  const std::uint64_t sampled = std::exchange(sampled_, 0);
  const std::uint64_t cut = std::exchange(cut_, 0);
  const std::uint64_t newly_lost = lost - std::exchange(lost_before_, lost);
  if (is_deep_ && newly_lost * kMayBeLost > sampled) {  // the rings hold fewer samples now
    may_grow_ = false;
    return kUsual;
  }
  if (is_deep_ || cut * kMayBeCut <= sampled || !has_room) return std::nullopt;
  is_deep_ = true;
  return kDeep;
}

}  // namespace causalctl::callpath
