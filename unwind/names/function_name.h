// Compares names that people write with the names of functions. Pure.
//
// A name is a list of components ("ns", "S", "f"), each perhaps with template arguments, and
// perhaps parameters. People leave out what they do not know or need. What is left out on both
// sides does not matter: ABI tags, anonymous namespaces, the library's inline namespaces, blanks,
// and whether const is written before or after the type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace causalctl::unwind {

// Returns "ns::f<int>" for "void ns::f<int>(char) const".
std::string without_arguments(std::string_view demangled);

// Returns "f" for "ns::f<int>(char)", "main.(*T).f" and "mod::f": what a programmer calls it.
std::string simple_name(std::string_view demangled);

// Returns the name of an OCaml function without the number that the compiler appends: "f" for
// "f_12".
std::string without_stamp(const std::string& name);

// How near a function's name is to the one that was written, nearest first.
enum class Fit {
  exact,      // letter by letter, with or without parameters
  same,       // all components and template arguments are there
  shortened,  // enclosing components, or template arguments, are left out
  abridged,   // components between others are left out, as of inline namespaces
  none,
};

// A name, taken apart.
struct NameParts {
  struct Component {
    std::string name;
    std::string arguments;  // of a template or generic, with their brackets
  };
  std::vector<Component> components;
  std::string parameters;  // with parentheses, and what follows them (" const"); empty if unknown
};

class WrittenName {
 public:
  explicit WrittenName(const std::string& text);

  // Tells how near a function is to this name; `display` is its symbol, demangled.
  Fit fit(const std::string& symbol, const std::string& display) const;

  // Returns false for most symbols that do not fit, without demangling them.
  bool may_fit(std::string_view symbol) const;

 private:
  std::string text_;
  NameParts parts_;
  NameParts in_lower_case_;
  std::string word_;  // is in the symbol of each function that fits; empty if none is known
  std::string word_in_lower_case_;
};

}  // namespace causalctl::unwind
