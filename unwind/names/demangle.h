// Turns symbols into the names that programmers know, for the languages that mangle them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace causalctl::unwind {

// Returns the name for a symbol of C++, Rust (both manglings, without hashes), D, Fortran (of a
// module's procedure: "mod::proc") or OCaml ("Module.f_123", whose number tells functions of one
// name apart), and the symbol itself if it is of another kind, or if it or its name is very long.
// The time and the memory that it takes are bounded for any symbol. REQUIRES: split_clone() has
// taken suffixes off.
std::string demangle(const std::string& symbol);

// Returns whether the symbol has one of these manglings, so that its name says more than a plain
// one does.
bool is_mangled(std::string_view symbol);

// Returns whether gfortran mangled it from the name of a module's procedure. Fortran knows no
// difference between upper and lower case; the symbol is in lower case.
bool is_fortran(std::string_view symbol);

bool is_caml(std::string_view symbol);  // mangled by OCaml's compiler

}  // namespace causalctl::unwind
