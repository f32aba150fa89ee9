#include "controller/symbols/library_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "unwind/names/function_name.h"

namespace causalctl::symbols {
namespace {

// Whatever is below is a library's. A '*' stands for the rest of a directory's name.
constexpr std::array<std::string_view, 9> kLibraryRoots = {
    "/usr/include/", "/usr/lib/",         "/usr/local/include/", "/usr/local/lib/",
    "/rust/deps/",   "/usr/src/rustc-*/", "/usr/share/gocode/",  "/usr/share/cargo/registry/",
    "/gnu/store/"};

// The packages at the top of Go's standard library. A user's package has another name at the top,
// because only these have no dot in it and are not the name of a module.
constexpr std::array<std::string_view, 53> kGoPackages = {
    "archive", "arena",   "bufio",    "builtin", "bytes",   "cmp",      "compress", "container",
    "context", "crypto",  "database", "debug",   "embed",   "encoding", "errors",   "expvar",
    "flag",    "fmt",     "go",       "hash",    "html",    "image",    "index",    "internal",
    "io",      "iter",    "log",      "maps",    "math",    "mime",     "net",      "os",
    "path",    "plugin",  "reflect",  "regexp",  "runtime", "slices",   "sort",     "strconv",
    "strings", "structs", "sync",     "syscall", "testing", "text",     "time",     "unicode",
    "unique",  "unsafe",  "vendor",   "weak",    "simd"};

bool is_go_package(std::string_view name) {
  return std::find(kGoPackages.begin(), kGoPackages.end(), name) != kGoPackages.end();
}

// A path and where its directories end, each behind its '/'.
class Directories {
 public:
  explicit Directories(std::string_view path) : path_(path) {
    for (std::size_t at = 0; at < path.size(); ++at) {
      if (path[at] != '/') continue;
      if (at > 0) ends_.push_back(at + 1);
    }
  }

  std::size_t count() const { return ends_.size(); }
  std::string_view name(std::size_t index) const {
    const bool absolute = path_.starts_with('/');
    const std::size_t begin = index == 0 ? (absolute ? 1 : 0) : ends_[index - 1];
    return path_.substr(begin, ends_[index] - 1 - begin);
  }
  std::string_view up_to(std::size_t index) const { return path_.substr(0, ends_[index]); }
  std::string_view path() const { return path_; }

  // Returns the first directory from `from` on with this name.
  std::optional<std::size_t> find(std::string_view wanted, std::size_t from = 0) const {
    for (std::size_t i = from; i < count(); ++i) {
      if (name(i) == wanted) return i;
    }
    return std::nullopt;
  }

 private:
  std::string_view path_;
  std::vector<std::size_t> ends_;
};

// Returns how long the part of the path is that `root` describes; 0 if it is not below that.
std::size_t length_below(std::string_view path, std::string_view root) {
  const auto star = root.find('*');
  if (star == std::string_view::npos) return path.starts_with(root) ? root.size() : 0;
  if (!path.starts_with(root.substr(0, star))) return 0;
  const auto slash = path.find('/', star);
  return slash == std::string_view::npos ? 0 : slash + 1;
}

std::string_view system_library(std::string_view path) {
  for (const std::string_view root : kLibraryRoots) {
    if (const std::size_t length = length_below(path, root)) return path.substr(0, length);
  }
  return {};
}

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// "index.crates.io-6f17d22bba15001f", below which cargo keeps its crates
bool is_cargo_index(std::string_view name) {
  constexpr std::size_t kHash = 16;
  return name.size() > kHash + 1 && name[name.size() - kHash - 1] == '-' &&
         is_hexadecimal(name.substr(name.size() - kHash));
}

std::string_view rust_library(const Directories& path) {
  if (path.path().starts_with("/rustc/") && path.count() > 2 && path.name(2) == "library") {
    return path.up_to(2);
  }
  for (std::size_t i = 0; i + 1 < path.count(); ++i) {
    const std::string_view name = path.name(i), next = path.name(i + 1);
    if (name == "rustlib" && next == "src") return path.up_to(i + 1);
    if (i + 3 < path.count() && name == "registry" && next == "src" &&
        is_cargo_index(path.name(i + 2))) {
      return path.up_to(i + 3);  // the crate
    }
    if (name == ".cargo" && next == "git") return path.up_to(std::min(i + 3, path.count() - 1));
  }
  return {};
}

bool has_version(std::string_view name) {
  const auto at = name.rfind("@v");
  return at != std::string_view::npos && at + 2 < name.size() &&
         std::isdigit(static_cast<unsigned char>(name[at + 2])) != 0;
}

std::string_view go_library(const Directories& path) {
  const bool is_go = path.path().ends_with(".go") || path.path().ends_with(".s");
  if (!is_go || path.count() == 0) return {};
  for (std::size_t i = 0; i < path.count(); ++i) {
    const std::string_view name = path.name(i);
    if (has_version(name)) return path.up_to(i);  // a module, in the cache or trimmed of it
    const bool root = name.starts_with("go") || name == "goroot";
    if (root && i + 2 < path.count() && path.name(i + 1) == "src" &&
        is_go_package(path.name(i + 2))) {
      return path.up_to(i + 2);
    }
  }
  // With -trimpath the files of the standard library are "sort/sort.go".
  const bool trimmed = !path.path().starts_with('/') && is_go_package(path.name(0));
  return trimmed ? path.up_to(0) : std::string_view{};
}

// Where package managers for C and C++ put what they install or build.
std::string_view package_of_cpp(const Directories& path) {
  for (std::size_t i = 0; i < path.count(); ++i) {
    const std::string_view name = path.name(i);
    const bool whole = name == ".conan" || name == ".conan2" || name == "vcpkg_installed" ||
                       name == ".linuxbrew" || name == "libstdc++-v3";
    if (whole) return path.up_to(i);
    if (i + 1 == path.count()) break;
    const std::string_view next = path.name(i + 1);
    const bool pair =
        (name == "vcpkg" && (next == "installed" || next == "packages" || next == "buildtrees")) ||
        (name == "opt" && next == "spack") || (name == "include" && next == "c++") ||
        ((name == "lib" || name == "lib64") && (next == "gcc" || next == "clang")) ||
        (name == "_deps" && next.ends_with("-src")) ||  // fetched by CMake
        (name == "external" && i > 0 && (path.name(i - 1) == "cwd" || path.find("execroot")));
    if (pair) return path.up_to(i + 1);
  }
  return {};
}

bool is_conda(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"anaconda", "miniconda",  "miniforge",
                                                      "conda",    "mambaforge", "micromamba"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view each) { return name.starts_with(each); });
}

// Headers that are installed below a prefix: /opt/acc/include, /nix/store/…/include and that of a
// conda environment. What is below src/ is somebody's own, and so is the prefix of the program.
std::string_view installed_header(const Directories& path, std::string_view module) {
  const auto include = path.find("include");
  if (!include || *include == 0) return {};
  for (std::size_t i = 0; i < *include; ++i) {
    const std::string_view name = path.name(i);
    if (name == "src" || name == "source" || name.ends_with("-source")) return {};
  }
  const bool opt = path.name(0) == "opt" && *include >= 2;
  const bool nix = path.path().starts_with("/nix/store/");
  bool conda = *include >= 2 && path.name(*include - 2) == "envs";
  for (std::size_t i = 0; i < *include; ++i) conda = conda || is_conda(path.name(i));
  if (!opt && !nix && !conda) return {};
  // "/opt/acc/" for /opt/acc/include/acc.h and /opt/acc/2.1/include/acc.h
  const std::string_view prefix = path.up_to(opt ? 1 : *include - 1);
  return module.starts_with(prefix) ? std::string_view{} : path.up_to(*include);
}

}  // namespace

std::string_view library_of(std::string_view path, std::string_view module) {
  if (const auto found = system_library(path); !found.empty() && !path.ends_with(".go")) {
    return found;
  }
  const Directories directories(path);
  if (const auto found = rust_library(directories); !found.empty()) return found;
  if (const auto found = go_library(directories); !found.empty()) return found;
  if (const auto found = package_of_cpp(directories); !found.empty()) return found;
  if (const auto found = installed_header(directories, module); !found.empty()) return found;
  return system_library(path);
}

bool is_generated(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.starts_with('<') && path.ends_with('>');
}

bool is_library_function(std::string_view function) {
  constexpr std::array<std::string_view, 4> kScopes = {
      "std::", "__gnu_cxx::", "__cxxabiv1::", "runtime."};
  const std::string name = unwind::without_arguments(function);
  return std::any_of(kScopes.begin(), kScopes.end(),
                     [&](std::string_view scope) { return name.starts_with(scope); });
}

}  // namespace causalctl::symbols
