// Picks the shortest names that tell things apart. Pure.
//
// A thing can be called by several names, such as the endings of the path of its file. It is shown
// by the shortest of them that nothing else can be called.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace causalctl {

// Returns what a path can be called, shortest first: "b.c" and "a/b.c" for "a/b.c". None for "".
std::vector<std::string> path_endings(const std::string& path);

class TellingNames {
 public:
  // Adds one thing, with all that it can be called, each name once.
  void add(const std::vector<std::string>& names);
  // Returns whether at most one thing can be called so.
  bool fits_one(const std::string& name) const;
  // Returns the first of the names that fits only one thing; the last one if all fit several.
  // REQUIRES: there are names.
  std::string best_of(const std::vector<std::string>& names) const;

 private:
  std::unordered_map<std::string, std::size_t> things_;  // how many each name fits
};

// The shortest endings of paths that tell these apart.
class ShortPaths {
 public:
  explicit ShortPaths(const std::set<std::string>& paths);
  // REQUIRES: it is one of the paths, or empty.
  const std::string& of(const std::string& path) const { return names_.at(path); }

 private:
  std::unordered_map<std::string, std::string> names_{{"", ""}};
};

}  // namespace causalctl
