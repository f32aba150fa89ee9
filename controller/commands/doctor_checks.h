// The findings of `causalctl doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::commands {

enum class Verdict { ok, limited, missing };

struct Check {
  std::string name;
  Verdict verdict = Verdict::ok;
  std::string finding;
  std::string remedy;     // what to do about it, empty where ok
  bool required = false;  // missing: no profile is possible
};

struct KernelVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const KernelVersion&) const = default;
};

inline constexpr KernelVersion kSigtrapKernel{5, 13};

// Pure.
KernelVersion parse_kernel_version(const std::string& release);  // "6.18.5" → 6.18
std::string render_checks(const std::vector<Check>& checks);
bool profile_possible(const std::vector<Check>& checks);

KernelVersion running_kernel();
bool sigtrap_events_work();

std::vector<Check> check_machine();
// nullopt: no such process.
std::optional<std::vector<Check>> check_target(Pid target);

}  // namespace causalctl::commands
