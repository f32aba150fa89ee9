// Compares and tidies paths of files, as text. Pure.
#pragma once

#include <string>
#include <string_view>

namespace causalctl {

// Removes "." and "..", so that a file has one spelling. The result is absolute if `directory` is.
std::string normal_path(std::string_view path, std::string_view directory);
// Compares trailing components: "b/c.c" fits "/x/b/c.c" but not "/xb/c.c".
bool path_ends_with(std::string_view path, std::string_view wanted);
// Whether `glob` is the end of the path, by whole components, or matches it or such an end
// (fnmatch). What is the text of a name or a path, brackets and all, is not taken for a pattern.
// The version at the end of a library's file name may be left out: "libz.so.1" and "libz.so" fit
// "/lib/libz.so.1.2.13".
bool path_matches(const std::string& path, const std::string& glob);

}  // namespace causalctl
