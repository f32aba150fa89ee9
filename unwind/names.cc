#include "unwind/names.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
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

bool path_matches(const std::string& path, const std::string& glob) {
  return path_ends_with(path, glob) || ::fnmatch(glob.c_str(), path.c_str(), 0) == 0 ||
         ::fnmatch(("*/" + glob).c_str(), path.c_str(), 0) == 0;
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
