#include "unwind/demangle.h"

#include <cxxabi.h>
#define HAVE_DECL_BASENAME 1  // otherwise libiberty.h declares it another way than <cstring>
#include <libiberty/demangle.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>

namespace causalctl::unwind {
namespace {

constexpr std::string_view kRustHash = "17h";  // the last identifier: "17h0123456789abcdefE"
constexpr std::size_t kRustHashLength = 20;
constexpr std::string_view kModule = "_MOD_";
constexpr std::string_view kCaml = "caml";
// The demanglers recur for each level of a type, which fills the stack for a longer symbol.
constexpr std::size_t kLongestSymbol = 32'768;

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

// Rust's legacy mangling is that of C++ with a hash as the last component.
bool is_rust_legacy(std::string_view symbol) {
  if (!symbol.starts_with("_ZN") || symbol.size() < kRustHashLength) return false;
  const auto hash = symbol.substr(symbol.size() - kRustHashLength);
  return hash.starts_with(kRustHash) && hash.ends_with('E') &&
         std::all_of(hash.begin() + kRustHash.size(), hash.end() - 1, is_hex);
}

bool is_rust(std::string_view symbol) {
  return is_rust_legacy(symbol) ||
         (symbol.size() > 2 && symbol.starts_with("_R") && is_upper(symbol[2]));
}

bool is_d(std::string_view symbol) {
  return symbol.size() > 2 && symbol.starts_with("_D") &&
         std::isdigit(static_cast<unsigned char>(symbol[2])) != 0;
}

std::optional<std::string> taken(char* text) {
  const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
  return owned ? std::optional<std::string>(text) : std::nullopt;
}

// Returns "mod::proc" for "__mod_MOD_proc" (gfortran).
std::string fortran_name(std::string_view symbol) {
  const auto at = symbol.find(kModule);
  return std::string(symbol.substr(2, at - 2)) +
         "::" + std::string(symbol.substr(at + kModule.size()));
}

// Returns where the name of the function begins, after "__" ("." from OCaml 5.1 on). Names of
// modules may contain "__", too: "Dune__exe__Main".
std::size_t caml_function(std::string_view path) {
  if (const auto dot = path.rfind('.'); dot != path.npos) return dot + 1;
  std::size_t last_module = 0;
  for (std::size_t i = 0; i + 2 < path.size(); ++i) {
    if (path.substr(i, 2) == "__" && is_upper(path[i + 2])) last_module = i + 2;
  }
  const auto end = path.find("__", last_module);
  return end == path.npos ? path.npos : end + 2;
}

// Returns "Module.f_12" for "camlModule__f_12"; "$2b" stands for '+'.
std::string caml_name(std::string_view symbol) {
  const std::string_view path = symbol.substr(kCaml.size());
  const auto at = caml_function(path);
  if (at == path.npos || at >= path.size()) return std::string(symbol);
  const std::size_t separator = path[at - 1] == '.' ? 1 : 2;
  std::string name = std::string(path.substr(0, at - separator)) + ".";
  for (std::size_t i = at; i < path.size(); ++i) {
    const bool coded =
        path[i] == '$' && i + 2 < path.size() && is_hex(path[i + 1]) && is_hex(path[i + 2]);
    const long code =
        coded ? std::strtol(std::string(path.substr(i + 1, 2)).c_str(), nullptr, 16) : 0;
    const bool shown = code > ' ' && code < 0x7f;
    name += shown ? static_cast<char>(code) : path[i];
    if (shown) i += 2;
  }
  return name;
}

}  // namespace

bool is_fortran(std::string_view symbol) {
  const auto at = symbol.find(kModule);
  return symbol.starts_with("__") && at != symbol.npos && at > 2 &&
         at + kModule.size() < symbol.size();
}

bool is_caml(std::string_view symbol) {
  return symbol.starts_with(kCaml) && symbol.size() > kCaml.size() && is_upper(symbol[4]) &&
         (symbol.find("__") != symbol.npos || symbol.find('.') != symbol.npos);
}

bool is_mangled(std::string_view symbol) {
  return symbol.starts_with("_Z") || is_rust(symbol) || is_d(symbol) || is_fortran(symbol) ||
         is_caml(symbol);
}

std::string demangle(const std::string& symbol) {
  if (symbol.size() > kLongestSymbol) return symbol;
  if (is_rust(symbol)) {
    if (auto name = taken(rust_demangle(symbol.c_str(), DMGL_NO_OPTS))) return *name;
  }
  if (symbol.starts_with("_Z")) {
    int status = 0;
    return taken(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status)).value_or(symbol);
  }
  if (is_d(symbol)) return taken(dlang_demangle(symbol.c_str(), DMGL_NO_OPTS)).value_or(symbol);
  if (is_fortran(symbol)) return fortran_name(symbol);
  if (is_caml(symbol)) return caml_name(symbol);
  return symbol;
}

}  // namespace causalctl::unwind
