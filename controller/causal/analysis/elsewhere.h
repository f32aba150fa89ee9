// Where the time of a target is that no unit in scope has, and which option takes it in. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "config/config.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// A frame that is on everybody's stack: what a program is started by, or a `main` that was never
// seen to run itself and got nearly all samples for what it calls. Its effect says nothing new.
// `all`: samples of the whole run.
bool is_everybodys_caller(const UnitSamples& samples, std::uint64_t all);

struct Elsewhere {
  config::Scope scope;
  std::uint64_t samples = 0;                       // all
  std::uint64_t charged = 0;                       // that units got
  std::uint64_t had = 0;                           // … which are not everybody's callers
  std::map<std::string, std::uint64_t> by_binary;  // out of scope, by file name; empty: no file
  std::string unmatched_files;  // "no source file matches 'x.c'; nearest: …"; empty: not known
};

// nullopt: the scope has half of the samples, or was chosen and has some.
std::optional<std::string> describe(const Elsewhere& elsewhere);

// "libpython3.11.so.1.0" → "libpython3.11*": a pattern that other versions match, too.
std::string pattern_of(const std::string& binary);

}  // namespace causalctl::causal
