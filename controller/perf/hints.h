// Tells what to do about a failed perf call. Pure.
#pragma once

#include <linux/perf_event.h>

#include <string>

namespace causalctl::perf {

enum class Call { open, map, control };

struct SystemFacts {
  int paranoid = 2;       // /proc/sys/kernel/perf_event_paranoid
  long mlock_kb = 516;    // /proc/sys/kernel/perf_event_mlock_kb
  long descriptors = -1;  // soft RLIMIT_NOFILE; negative if unknown
};

// Returns "" if no hint would help.
std::string hint_for(Call call, int error_number, const perf_event_attr& attr,
                     const SystemFacts& facts);

}  // namespace causalctl::perf
