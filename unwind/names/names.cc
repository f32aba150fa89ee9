#include "unwind/names/names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "controller/base/edit_distance.h"

namespace causalctl::unwind {
namespace {

constexpr std::array<std::string_view, 8> kCloneSuffixes = {
    ".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".llvm.", ".localalias", ".clone."};

}  // namespace

CloneName split_clone(std::string_view symbol) {
  std::size_t at = symbol.size();
  for (const auto suffix : kCloneSuffixes) {
    const auto found = symbol.find(suffix, 1);
    if (found != std::string_view::npos) at = std::min(at, found);
  }
  return {symbol.substr(0, at), symbol.substr(at)};
}

Nearness::Nearness(std::string_view name)
    : wanted(name), limit(std::max<std::size_t>(2, name.size() / 3)) {}

std::optional<std::size_t> Nearness::of(std::string_view candidate) const {
  const std::size_t distance = edit_distance(wanted, candidate, limit);
  if (distance <= limit) return distance;
  const bool contains = wanted.size() >= 3 && candidate.find(wanted) != std::string_view::npos;
  const bool contained = candidate.size() >= 4 && wanted.find(candidate) != std::string_view::npos;
  return contains || contained ? std::optional(distance) : std::nullopt;
}

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates,
                                 std::size_t count) {
  const Nearness nearness(name);
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const std::string& candidate : candidates) {
    if (const auto rank = nearness.of(candidate)) ranked.emplace_back(*rank, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  if (ranked.size() > count) ranked.resize(count);
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : ranked) names.emplace_back(candidate);
  return names;
}

}  // namespace causalctl::unwind
