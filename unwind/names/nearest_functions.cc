#include "unwind/names/nearest_functions.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <tuple>

#include "controller/base/brackets.h"
#include "controller/base/edit_distance.h"
#include "unwind/names/demangle.h"
#include "unwind/names/function_name.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostDemangled = 4000;
constexpr std::size_t kMostDifferent = 40;
constexpr std::size_t kNotNear = SIZE_MAX;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Calls visit(word) for each word of the symbol. In C++, Rust and D, its length precedes a word;
// elsewhere what stands between other characters is one.
template <typename Visit>
void for_each_word(std::string_view symbol, Visit visit) {
  const bool counted =
      symbol.starts_with("_Z") || symbol.starts_with("_R") || symbol.starts_with("_D");
  // The hash of a crate has digits that are no lengths, so that no word may be passed over.
  const bool hashed = symbol.starts_with("_R");
  for (std::size_t i = 0; i < symbol.size();) {
    if (counted) {
      if (!is_digit(symbol[i])) {
        ++i;
        continue;
      }
      std::size_t length = 0;
      while (i < symbol.size() && is_digit(symbol[i]) && length < symbol.size()) {
        length = length * 10 + static_cast<std::size_t>(symbol[i++] - '0');
      }
      if (length == 0 || length > symbol.size() - i) continue;
      visit(symbol.substr(i, length));
      if (!hashed) i += length;
    } else {
      std::size_t end = i;
      while (end < symbol.size() && is_word(symbol[end])) ++end;
      visit(symbol.substr(i, end - i));
      i = end + 1;
    }
  }
}

}  // namespace

NearestFunctions::NearestFunctions(const std::string& name)
    : name_(without_arguments(name)), simple_(simple_name(name)), nearness_(simple_) {}

std::optional<std::size_t> NearestFunctions::rank(std::string_view word) {
  if (word.size() < 2) return std::nullopt;
  if (word.size() > simple_.size() + nearness_.limit && word.find(simple_) == word.npos) {
    return std::nullopt;
  }
  const auto [known, is_new] = rank_.try_emplace(word, kNotNear);
  if (is_new) known->second = nearness_.of(word).value_or(kNotNear);
  return known->second == kNotNear ? std::nullopt : std::optional(known->second);
}

void NearestFunctions::consider(std::string_view symbol) {
  std::optional<std::size_t> best;
  const auto take = [&](std::optional<std::size_t> one) {
    if (one && (!best || *one < *best)) best = one;
  };
  const bool plain = is_fortran(symbol) || is_caml(symbol);
  if (plain) take(nearness_.of(known_as(symbol).simple));
  if (!plain) for_each_word(symbol, [&](std::string_view word) { take(rank(word)); });
  if (best) near_.emplace_back(*best, symbol);
}

NearestFunctions::Known NearestFunctions::known_as(std::string_view symbol) {
  const std::string display = demangle(std::string(symbol));
  const std::string simple = simple_name(display);
  return {without_arguments(display), is_caml(symbol) ? without_stamp(simple) : simple};
}

std::vector<std::string> NearestFunctions::names(std::size_t count) {
  std::sort(near_.begin(), near_.end());
  std::set<std::tuple<std::size_t, std::size_t, std::string>> ranked;
  std::size_t last_rank = 0;
  for (std::size_t i = 0; i < std::min(near_.size(), kMostDemangled); ++i) {
    const auto& [rank, symbol] = near_[i];
    if (ranked.size() >= count && rank > last_rank) break;
    last_rank = rank;
    Known known = known_as(symbol);
    // A near word may also be that of a namespace or of a parameter.
    const auto simple = nearness_.of(known.simple);
    if (!simple) continue;
    const std::size_t whole = edit_distance(name_, known.name, kMostDifferent);
    ranked.emplace(*simple, whole, std::move(known.name));
  }
  std::vector<std::string> names;
  for (const auto& [simple, whole, name] : ranked) {
    if (names.size() < count) names.push_back(name);
  }
  return names;
}

}  // namespace causalctl::unwind
