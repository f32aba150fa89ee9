#include "unwind/names.h"

#include <cxxabi.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "controller/base/edit_distance.h"

namespace causalctl::unwind {
namespace {

constexpr std::array<std::string_view, 8> kCloneSuffixes = {
    ".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".llvm.", ".localalias", ".clone."};

// Returns the last position of `wanted` outside of <> and (), or npos if there is none. The
// brackets of "operator<" and similar names do not count.
std::size_t last_outside_brackets(std::string_view text, std::string_view wanted) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    const char c = text[i];
    if (c == '>' || c == ')') ++depth;
    if ((c == '<' || c == '(') && depth > 0) --depth;
    if (depth == 0 && text.substr(i).starts_with(wanted)) return i;
  }
  return std::string_view::npos;
}

std::size_t find_operator(std::string_view text) {
  const auto at = text.rfind("operator");
  if (at == std::string_view::npos || at + 8 >= text.size()) return std::string_view::npos;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  if (at > 0 && is_word(text[at - 1])) return std::string_view::npos;
  return is_word(text[at + 8]) ? std::string_view::npos : at;
}

// Returns where the parenthesis opens that closes at `close`.
std::size_t opening_parenthesis(std::string_view text, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

CloneName split_clone(std::string_view symbol) {
  std::size_t at = symbol.size();
  for (const auto suffix : kCloneSuffixes) {
    const auto found = symbol.find(suffix, 1);
    if (found != std::string_view::npos) at = std::min(at, found);
  }
  return {symbol.substr(0, at), symbol.substr(at)};
}

std::string demangle(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return text ? std::string(text.get()) : symbol;
}

std::string without_arguments(std::string_view demangled) {
  std::string_view name = demangled;
  const auto close = name.rfind(')');
  if (close != std::string_view::npos) {
    const auto open = opening_parenthesis(name, close);
    // "operator()" alone is a name; in "(anonymous namespace)::x" a name follows the parentheses.
    const bool is_call_operator = open >= 8 && open != std::string_view::npos &&
                                  close == open + 1 && name.substr(0, open).ends_with("operator");
    const auto behind = name.substr(close + 1);
    const bool is_arguments = open != std::string_view::npos && open > 0 &&
                              (behind.empty() || behind.front() == ' ' || behind.front() == '[');
    if (is_arguments && !is_call_operator) name = name.substr(0, open);
  }
  // The names of templates begin with their return type: "void f<int>".
  if (find_operator(name) == std::string_view::npos && name.ends_with('>')) {
    const auto blank = last_outside_brackets(name, " ");
    if (blank != std::string_view::npos) name = name.substr(blank + 1);
  }
  return std::string(name);
}

std::string plain_name(std::string_view name) {
  const auto at_operator = find_operator(name);
  if (at_operator != std::string_view::npos) return std::string(name.substr(at_operator));
  const auto colons = last_outside_brackets(name, "::");
  if (colons != std::string_view::npos) name = name.substr(colons + 2);
  if (name.ends_with('>')) {
    const auto angle = name.find('<');
    if (angle != std::string_view::npos && angle > 0) name = name.substr(0, angle);
  }
  return std::string(name);
}

std::string normal_path(std::string_view path, std::string_view directory) {
  namespace fs = std::filesystem;
  // A relative compilation directory (-fdebug-prefix-map) is part of the path already.
  const bool joins = !path.starts_with('/') && directory.starts_with('/');
  const fs::path whole = joins ? fs::path(directory) / path : fs::path(path);
  return whole.lexically_normal().string();
}

bool path_ends_with(std::string_view path, std::string_view wanted) {
  while (wanted.starts_with("./")) wanted.remove_prefix(2);
  if (wanted.empty() || !path.ends_with(wanted)) return false;
  const auto before = path.size() - wanted.size();
  return before == 0 || wanted.front() == '/' || path[before - 1] == '/';
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool path_matches(const std::string& path, const std::string& glob) {
  return path_ends_with(path, glob) || ::fnmatch(glob.c_str(), path.c_str(), 0) == 0 ||
         ::fnmatch(("*/" + glob).c_str(), path.c_str(), 0) == 0;
}

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates,
                                 std::size_t count) {
  const std::string wanted = plain_name(name);
  const std::size_t limit = std::max<std::size_t>(2, wanted.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const std::string& candidate : candidates) {
    const std::string plain = plain_name(candidate);
    std::size_t distance = edit_distance(wanted, plain, limit);
    if (distance > limit) {
      const bool contains = wanted.size() >= 3 && plain.find(wanted) != std::string::npos;
      const bool contained = plain.size() >= 4 && wanted.find(plain) != std::string::npos;
      if (!contains && !contained) continue;
    }
    ranked.emplace_back(distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  if (ranked.size() > count) ranked.resize(count);
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : ranked) names.emplace_back(candidate);
  return names;
}

}  // namespace causalctl::unwind
