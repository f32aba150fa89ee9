// Names of functions and files, and how near one is to another. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace causalctl::unwind {

// "foo.constprop.0" → {"foo", ".constprop.0"}: what compilers append to copies of a function. Only
// the known suffixes: dots belong to names in other languages.
struct CloneName {
  std::string_view base;
  std::string_view suffix;
};
CloneName split_clone(std::string_view symbol);

std::string demangle(const std::string& symbol);  // itself where it is not mangled
// "void ns::f<int>(char) const" → "ns::f<int>"
std::string without_arguments(std::string_view demangled);
// "ns::f<int>" → "f"; what a programmer calls it for short.
std::string plain_name(std::string_view without_arguments);

// Absolute where `directory` is, without "." and "..": one spelling for one file.
std::string normal_path(std::string_view path, std::string_view directory);
// Trailing components: "b/c.c" fits "/x/b/c.c" and not "/xb/c.c".
bool path_ends_with(std::string_view path, std::string_view wanted);

std::string_view base_name(std::string_view path);  // what follows the last '/'
// Whether `glob` is the end of the path, by whole components, or matches it or such an end
// (fnmatch). What is the text of a name or a path, brackets and all, is not taken for a pattern.
bool path_matches(const std::string& path, const std::string& glob);

// Levenshtein; more than `limit` is limit + 1, at cost O(limit * length).
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);
// The candidates nearest to `name`, nearest first, without repetition: by edit distance of the
// plain names, those that contain it (or are contained) included; none where nothing is near.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates,
                                 std::size_t count);

}  // namespace causalctl::unwind
