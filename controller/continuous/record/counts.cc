#include "controller/continuous/record/counts.h"

#include <iterator>

namespace causalctl::continuous {

void add(Counts& to, const Counts& from) {
  for (const auto& [offset, count] : from) to[offset] += count;
}

Count sum_of(const Counts& counts) {
  Count sum;
  for (const auto& [offset, count] : counts) sum += count;
  return sum;
}

Profile with_label(Profile profile, const std::string& label) {
  if (!label.empty()) {
    std::erase_if(profile, [&](const auto& each) { return each.first.label != label; });
  }
  return profile;
}

std::string padded_build_id(std::string build_id) {
  constexpr std::size_t kDigits = 40;
  if (!build_id.empty() && build_id.size() < kDigits) build_id.resize(kDigits, '0');
  return build_id;
}

const Name* name_at(const Names& names, Address offset) {
  const auto after = names.upper_bound(offset);
  if (after == names.begin()) return nullptr;
  const auto& [begin, name] = *std::prev(after);
  return name.size == 0 || offset - begin < name.size ? &name : nullptr;
}

}  // namespace causalctl::continuous
