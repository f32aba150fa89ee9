// What `--event` and `--count` ask for, besides time on a core and waits (csprof §2.1). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace causalctl::callpath {

// A general register of the processor, or its lower half.
struct Register {
  unsigned bit = 0;  // in the order of asm/perf_regs.h
  unsigned bits = 64;
};

struct EventSpec {
  enum class Kind : std::uint8_t { page_faults, cycles, system_call, function };
  Kind kind = Kind::page_faults;
  std::string text;                    // as the user wrote it
  std::string name;                    // of the system call; of the function as a progress point's
  bool bytes = false;                  // what the system call returns is summed
  std::optional<Register> argument{};  // the register whose value at the call is summed
  bool counted = false;                // all calls of the function are counted

  // As it was asked for: "--event page-faults".
  std::string option() const { return (counted ? "--count " : "--event ") + text; }
};

// Throws UsageError, which lists the forms.
EventSpec parse_event(const std::string& text);
// Of `--count`. Throws UsageError if no function is named.
EventSpec parse_count(const std::string& function);

// Returns the register with this name ("rdi", "edi"), or nullopt.
std::optional<Register> register_named(const std::string& name);
std::vector<std::string> register_names();

}  // namespace causalctl::callpath
