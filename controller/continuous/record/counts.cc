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

const Name* name_at(const Names& names, Address offset) {
  const auto after = names.upper_bound(offset);
  if (after == names.begin()) return nullptr;
  const auto& [begin, name] = *std::prev(after);
  return name.size == 0 || offset - begin < name.size ? &name : nullptr;
}

}  // namespace causalctl::continuous
