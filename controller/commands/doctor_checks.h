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

struct SignalFacts {  // about SIGTRAP in the target
  bool caught = false;
  bool ignored = false;
  int threads_blocking = 0;
  int seccomp = 0;
  bool sigtrap_events = true;  // the kernel has them and we may open them
};
// Why pauses must go by ptrace; empty: by sigtrap. (pause/pauser.h)
std::vector<std::string> reasons_for_ptrace(const SignalFacts& facts);

KernelVersion running_kernel();
bool sigtrap_events_work();

std::vector<Check> check_machine();
// nullopt: no such process.
std::optional<std::vector<Check>> check_target(Pid target);

}  // namespace causalctl::commands
