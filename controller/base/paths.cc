#include "controller/base/paths.h"

#include <fnmatch.h>

#include <filesystem>

namespace causalctl {

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

namespace {

// Takes off what the file of a library has behind the name by which programs ask for it (its
// soname), as long as it is not shorter than `wanted`: "/lib/libz.so.1.2.13" for "libz.so.1".
std::string_view without_version(std::string_view path, std::string_view wanted) {
  const std::size_t library = wanted.rfind(".so");
  const std::size_t at = library == wanted.npos ? path.npos : path.rfind(wanted.substr(library));
  if (at == path.npos) return path;
  const std::size_t end = at + wanted.size() - library;
  const std::string_view rest = path.substr(end);
  const bool is_version =
      rest.starts_with('.') && rest.find_first_not_of(".0123456789") == rest.npos;
  return is_version ? path.substr(0, end) : path;
}

}  // namespace

bool path_matches(const std::string& path, const std::string& glob) {
  return path_ends_with(path, glob) || path_ends_with(without_version(path, glob), glob) ||
         ::fnmatch(glob.c_str(), path.c_str(), 0) == 0 ||
         ::fnmatch(("*/" + glob).c_str(), path.c_str(), 0) == 0;
}

}  // namespace causalctl
