// The findings of `causalctl doctor`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/trial.h"
#include "controller/base/types.h"

namespace causalctl::commands {

enum class Verdict { ok, limited, missing };

struct Check {
  std::string name;
  Verdict verdict = Verdict::ok;
  std::string finding;
  std::string remedy;     // what to do about it; empty if all is well
  bool required = false;  // no profile is possible without it
};

struct KernelVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const KernelVersion&) const = default;
};

inline constexpr KernelVersion kSigtrapKernel{5, 13};

// These are pure. The first one returns 6.18 for "6.18.5".
KernelVersion parse_kernel_version(const std::string& release);
std::string render_checks(const std::vector<Check>& checks);
bool profile_possible(const std::vector<Check>& checks);
Check check_sample_rate(long most);  // kernel.perf_event_max_sample_rate

// What the trials show, and what follows from it (pure).
struct Counting {  // ways to count points in code
  Trial breakpoint;
  int free_registers = 0;
  Trial uprobe;
  bool system_calls = false;  // whether at least system calls can be counted
};
std::vector<Check> check_counting(const Counting& counting);
Check check_trial(const Trial& trial);  // any other facility

std::vector<Check> check_machine();
// Tries all facilities on causalctl itself.
std::vector<Check> check_facilities(bool system_calls_can_be_counted);
// Returns nullopt if there is no such process.
std::optional<std::vector<Check>> check_target(Pid target);

// Where the samples of half a second fall. There are none if the process does not run.
struct Activity {
  std::uint64_t samples = 0;
  std::uint64_t in_scope = 0;                        // samples in the default scope
  std::map<std::string, std::uint64_t> elsewhere{};  // by file name; "" for code in no file
  // Samples in scope that a single place of the executable calls, as in a launcher.
  std::uint64_t called_from_one_place = 0;
  std::map<std::string, std::uint64_t> called{};
};
Activity sample_activity(Pid target);  // throws Error, TargetGone
// Pure. Sets `option` to the one without which every sample would be unknown.
Check check_activity(const Activity& activity, std::string& option);

// Prints a table. Returns `ok` if a profile is possible, `target_gone` if there is no such process.
ExitCode run_doctor(std::optional<Pid> target);

inline constexpr const char* kRunAsRoot =
    "run as root, or with capabilities: docs/security.md says which, and how to grant just those";

}  // namespace causalctl::commands
