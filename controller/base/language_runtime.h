// Which files are the runtime of a language rather than a program's own code. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "controller/base/base_name.h"

namespace causalctl {

// Whether the file is a C or C++ library, its loader, or one that starts threads for others.
inline bool is_language_runtime(std::string_view path) {
  // Beginnings of the names of files.
  constexpr std::array<std::string_view, 9> kRuntimes = {"libc.so",   "libc-",   "libpthread",
                                                         "libstdc++", "libc++",  "ld-linux",
                                                         "ld-musl",   "libgomp", "libomp"};
  const std::string_view name = base_name(path);
  return std::any_of(kRuntimes.begin(), kRuntimes.end(),
                     [&](std::string_view each) { return name.starts_with(each); });
}

}  // namespace causalctl
