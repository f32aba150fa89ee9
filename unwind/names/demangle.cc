#include "unwind/names/demangle.h"

#define HAVE_DECL_BASENAME 1  // otherwise libiberty.h declares it another way than <cstring>
#include <libiberty/demangle.h>

#include <algorithm>
#include <cctype>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "controller/base/number.h"

namespace causalctl::unwind {
namespace {

constexpr std::string_view kRustHash = "17h";  // the last identifier: "17h0123456789abcdefE"
constexpr std::size_t kRustHashLength = 20;
constexpr std::string_view kModule = "_MOD_";
constexpr std::string_view kCaml = "caml";
// Symbols are untrusted. The demanglers recur for each level of a type, which fills the stack for a
// longer symbol, and a symbol that refers back to its own parts can double its name with every few
// characters.
constexpr std::size_t kLongestSymbol = 32'768;
constexpr std::size_t kLongestSymbolOfD = 8'192;
constexpr std::size_t kLongestName = 65'536;
constexpr std::uint64_t kMostParsedOfD = 1U << 18;

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

struct Output {
  std::string text;
  std::jmp_buf full = {};
};

extern "C" void take_part(const char* part, std::size_t length, void* opaque) {
  Output& output = *static_cast<Output*>(opaque);
  // The demanglers are C, and know no other way to be stopped.
  if (output.text.size() + length > kLongestName) std::longjmp(output.full, 1);  // NOLINT
  output.text.append(part, length);
}

using Demangler = int (*)(const char* symbol, int options, demangle_callbackref part, void* opaque);

// Returns nullopt if the symbol has no name, or a very long one.
std::optional<std::string> bounded(Demangler demangler, const std::string& symbol, int options) {
  Output output;
  if (setjmp(output.full) != 0) return std::nullopt;  // NOLINT: nothing on the way has a destructor
  if (demangler(symbol.c_str(), options, take_part, &output) == 0) return std::nullopt;
  return std::move(output.text);
}

// Returns how far back the reference at `at` ("Qbc") leads: a number in base 26, whose last digit
// is in lower case; 0 if there is none.
std::size_t distance_back(std::string_view symbol, std::size_t at) {
  std::size_t distance = 0;
  for (std::size_t i = at + 1; i < symbol.size() && distance <= at; ++i) {
    if (symbol[i] >= 'a' && symbol[i] <= 'z') {
      return distance * 26 + static_cast<std::size_t>(symbol[i] - 'a');
    }
    if (!is_upper(symbol[i])) return 0;
    distance = distance * 26 + static_cast<std::size_t>(symbol[i] - 'A');
  }
  return 0;
}

// Returns a bound of how many characters the demangler of D parses. It cannot be stopped, but what
// a reference leads to ends before the reference, or is an identifier of known length.
std::uint64_t most_parsed(std::string_view symbol) {
  std::vector<std::uint64_t> before = {0};  // of the characters before each index
  for (std::size_t i = 0; i < symbol.size(); ++i) {
    std::uint64_t parsed = 1;
    const std::size_t distance = symbol[i] == 'Q' ? distance_back(symbol, i) : 0;
    if (distance > 0 && distance <= i) {
      const std::string_view there = symbol.substr(i - distance, distance);
      const auto length = std::min(there.find_first_not_of("0123456789"), there.size());
      const auto number = parse_number<std::uint64_t>(there.substr(0, length));
      parsed += length == 0
                    ? before[i] - before[i - distance]
                    : std::min<std::uint64_t>(number.value_or(symbol.size()), symbol.size());
    }
    before.push_back(before.back() + parsed);
    if (before.back() > kMostParsedOfD) break;
  }
  return before.back();
}

std::optional<std::string> d_name(const std::string& symbol) {
  if (symbol.size() > kLongestSymbolOfD || most_parsed(symbol) > kMostParsedOfD) {
    return std::nullopt;
  }
  auto name = taken(dlang_demangle(symbol.c_str(), DMGL_NO_OPTS));
  return name && name->size() <= kLongestName ? name : std::nullopt;
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
    if (auto name = bounded(rust_demangle_callback, symbol, DMGL_NO_OPTS)) return *name;
  }
  if (symbol.starts_with("_Z")) {
    return bounded(cplus_demangle_v3_callback, symbol, DMGL_PARAMS | DMGL_TYPES).value_or(symbol);
  }
  if (is_d(symbol)) return d_name(symbol).value_or(symbol);
  if (is_fortran(symbol)) return fortran_name(symbol);
  if (is_caml(symbol)) return caml_name(symbol);
  return symbol;
}

}  // namespace causalctl::unwind
