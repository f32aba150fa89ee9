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
Check check_sample_rate(long most);  // kernel.perf_event_max_sample_rate

// What the tries have shown, and what follows from it (pure).
struct Counting {  // of points in code
  Trial breakpoint;
  int free_registers = 0;
  Trial uprobe;
  bool system_calls = false;  // can be counted at least
};
std::vector<Check> check_counting(const Counting& counting);
Check check_trial(const Trial& trial);  // any other facility

std::vector<Check> check_machine();
// All facilities, tried on ourselves.
std::vector<Check> check_facilities(bool system_calls_can_be_counted);
// nullopt: no such process.
std::optional<std::vector<Check>> check_target(Pid target);

// Where the samples of half a second fall; there are none where the process does not run.
struct Activity {
  std::uint64_t samples = 0;
  std::uint64_t in_scope = 0;                        // of the default scope
  std::map<std::string, std::uint64_t> elsewhere{};  // file names; "": code in no file
  // Of those in scope: what one and the same place of the executable calls, as a launcher does.
  std::uint64_t called_from_one_place = 0;
  std::map<std::string, std::uint64_t> called{};
};
Activity sample_activity(Pid target);  // throws Error, TargetGone
// Pure. `option`: without which every sample would be unknown.
Check check_activity(const Activity& activity, std::string& option);

// Prints a table. Returns `ok` if a profile is possible, `target_gone` if there is no such process.
ExitCode run_doctor(std::optional<Pid> target);

inline constexpr const char* kRunAsRoot =
    "run as root, or with capabilities: docs/security.md says which, and how to grant just those";

}  // namespace causalctl::commands
