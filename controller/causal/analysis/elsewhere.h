// Tells where the samples are that no unit in scope got, and which option brings them in. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns whether the unit is everybody's caller: a function that starts the program, or a `main`
// that never ran itself in a sample and got nearly all samples for what it calls. Its effect says
// nothing new. `all` is the number of samples of the whole run.
bool is_everybodys_caller(const UnitSamples& samples, std::uint64_t all);

struct Elsewhere {
  config::Scope scope;
  std::uint64_t samples = 0;  // all samples
  std::uint64_t charged = 0;  // samples that units got
  std::uint64_t had = 0;      // samples that units got which are not everybody's callers
  // Samples out of scope, by the file name of the binary; the name is empty for code without a
  // file.
  std::map<std::string, std::uint64_t> by_binary;
  std::string unmatched_files;  // "no source file matches 'x.c'; nearest: …"; empty if not known
};

// Returns nullopt if the scope has half of the samples, or if the user chose it and it has some.
std::optional<std::string> describe(const Elsewhere& elsewhere);

// Samples that cannot be charged for want of tables, by the file name of the binary, as in
// Elsewhere.
struct WithoutTables {
  std::uint64_t samples = 0;  // all samples
  // The call stack ends before a frame in scope, because nothing tells who called the code.
  std::map<std::string, std::uint64_t> cut_off;
  // The code is in scope, but nothing tells which function has it.
  std::map<std::string, std::uint64_t> nameless;
};

// Returns a sentence for each binary that has a tenth of the samples or more.
std::vector<std::string> describe(const WithoutTables& found);

// Returns a pattern that other versions match, too: "libpython3.11*" for "libpython3.11.so.1.0".
std::string pattern_of(const std::string& binary);

}  // namespace causalctl::causal
