// The cores that are online, as the kernel lists them when this is made.
#pragma once

#include <string>

#include "controller/base/procfs.h"

namespace causalctl::perf {

class CoresOnline {
 public:
  // Returns whether other cores are online now. A core that went offline and came back meanwhile is
  // not noticed.
  bool changed() const {
    const std::string now = list();
    return !now.empty() && now != list_;  // it is empty if it cannot be read
  }

 private:
  static std::string list() {
    return procfs::read_text("/sys/devices/system/cpu/online").value_or("");
  }

  std::string list_ = list();
};

}  // namespace causalctl::perf
