// What to do about a failed perf call (pure).
#pragma once

#include <linux/perf_event.h>

#include <string>

namespace causalctl::perf {

enum class Call { open, map, control };

struct SystemFacts {
  int paranoid = 2;       // /proc/sys/kernel/perf_event_paranoid
  long mlock_kb = 516;    // /proc/sys/kernel/perf_event_mlock_kb
  long descriptors = -1;  // RLIMIT_NOFILE, soft; < 0: unknown
};

// "" where there is nothing sensible to say.
std::string hint_for(Call call, int error_number, const perf_event_attr& attr,
                     const SystemFacts& facts);

}  // namespace causalctl::perf
