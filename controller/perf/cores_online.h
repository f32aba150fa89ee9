// The cores that are online, as the kernel lists them when this is made. Events of a core end when
// it goes offline.
#pragma once

#include <string>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"

namespace causalctl::perf {

class CoresOnline {
 public:
  // Returns whether other cores are online now, or the machine was suspended meanwhile, which takes
  // cores offline and back. A single core that went offline and came back is not noticed.
  bool changed() const {
    const std::string now = list();
    const bool are_others = !now.empty() && now != list_;  // it is empty if it cannot be read
    return are_others || suspended() - suspended_ns_ > kLeastSuspend;
  }

 private:
  static std::string list() {
    return procfs::read_text("/sys/devices/system/cpu/online").value_or("");
  }

  // Of all time since the boot; the two clocks are not read at one moment.
  static Nanoseconds suspended() { return boottime_now() - monotonic_now(); }
  static constexpr Nanoseconds kLeastSuspend = kSecond / 2;

  std::string list_ = list();
  Nanoseconds suspended_ns_ = suspended();
};

}  // namespace causalctl::perf
