// Tells where the samples are that no unit in scope got, and which option brings them in. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// Returns whether the unit is everybody's caller: a function that starts the program or a thread, a
// `main` that never ran itself in a sample and got nearly all samples for what it calls, or any
// code that got nearly all of them in one call of code out of scope that does not return, such as a
// launcher or a main loop. Its effect says nothing new. `all` is the number of samples of the whole
// run.
bool is_everybodys_caller(const UnitSamples& samples, std::uint64_t all);

struct Elsewhere {
  config::Scope scope;
  std::uint64_t samples = 0;  // all samples
  std::uint64_t charged = 0;  // samples that units got
  std::uint64_t had = 0;      // samples that units got which are not everybody's callers
  std::map<std::string, std::uint64_t> by_place;   // samples out of scope (PlaceSamples)
  std::map<std::string, std::uint64_t> unclaimed;  // those that no unit got
  std::map<std::string, std::uint64_t> cut_off;    // of these, those whose caller no table tells
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

// Adds samples of the same places.
void add(std::vector<PlaceSamples>& all, const std::vector<PlaceSamples>& run);

// Returns what the runs have in their default scope and outside of it. No place is known of runs
// for which the user chose a scope.
Elsewhere elsewhere_of(const std::vector<Run>& runs);

report::InScope in_scope(const Elsewhere& elsewhere);

// Returns sentences about the places of which no caller is in scope, if they have a tenth of the
// samples or more. Samples that describe(WithoutTables) tells of do not count.
std::vector<std::string> unclaimed_places(const Elsewhere& elsewhere);

// Returns a pattern that other versions match, too: "libpython3.11*" for "libpython3.11.so.1.0".
std::string pattern_of(const std::string& binary);

}  // namespace causalctl::causal
