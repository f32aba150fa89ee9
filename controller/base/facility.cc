#include "controller/base/facility.h"

#include <cstdlib>

#include "controller/base/cgroup.h"

namespace causalctl {

bool is_pretended_broken(Facility facility) {
  const char* value = std::getenv("CAUSALCTL_PRETEND_BROKEN");
  return value != nullptr && is_in_list(name_of(facility), value);
}

}  // namespace causalctl
