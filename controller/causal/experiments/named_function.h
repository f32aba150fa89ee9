// Finds the function that a user names for --fixed, by its short name, or with its parameters, its
// file or its binary, or by a place in it, as a progress point is named.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "controller/causal/record/experiment.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::causal {

// What the user asked for, and where it can be.
struct Question {
  const std::string& asked;  // the whole argument of --fixed
  const std::string& name;   // of the function or line in question
  const config::Scope& scope;
  unwind::Symbolizer& symbolizer;
};

struct NamedFunction {
  Unit unit;
  Address address = 0;
  // Another function has the name of this one, in another file or binary.
  bool has_namesake = false;
};

// Throws the UsageError that this cannot be a unit.
[[noreturn]] void refuse(const Question& question, std::string_view why, std::string hint);

struct NamedLine {
  std::string file;
  int number = 0;  // from 1 on
};
// Returns nullopt if this is no FILE:LINE.
std::optional<NamedLine> named_line(const std::string& name);

std::string scope_text(const config::Scope& scope);  // "--scope-binary MAIN"
bool is_in_scope(Address address, const Question& question);

// Returns the one function in scope that is meant; nullopt if none is there. Throws UsageError if
// several are meant, or if there is none in the file or binary that the user names.
std::optional<NamedFunction> find_named(const Question& question);

// Returns whether a library of the scope that is not loaded yet may bring the function.
bool may_come(const Question& question);

// Returns whether a function in scope has this very name.
bool is_whole_name(const Question& question);

// Throws the UsageError that there is no such function in scope.
[[noreturn]] void refuse_unknown(const Question& question);

}  // namespace causalctl::causal
