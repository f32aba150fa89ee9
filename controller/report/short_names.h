// Shortens names without making two of them look alike. Pure.
//
// A name that is too long loses what says least: the arguments of functions and templates, then its
// outer scopes. Where another name would look the same then, the part in which the two differ is
// kept, whatever else is left out: `process<…ShopA>(…)` and `process<…ShopB>(…)`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace causalctl::report {

// Cuts `name` to `width` columns, one for each code point. A C++ name loses its arguments and
// template arguments first, then its outer scopes, because the last words say most. REQUIRES: it is
// printable.
std::string shortened(std::string_view name, std::size_t width);

class ShortNames {
 public:
  // All names that are shown together, printable; each may occur several times. What tells them
  // apart is kept in at least `narrowest` columns.
  explicit ShortNames(std::vector<std::string> names, std::size_t narrowest = 12);

  // Cuts one of the names. It is wider than `width` only if what tells it apart is. REQUIRES:
  // `width` is not less than `narrowest`. Other names are shortened().
  std::string fit(const std::string& name, std::size_t width) const;

  // Code points of a name, by number.
  struct Part {
    std::size_t begin = 0;  // the word that is kept
    std::size_t end = 0;
    std::size_t core_begin = 0;  // what must be kept of it
    std::size_t core_end = 0;
  };

 private:
  void tell_apart(const std::vector<const std::string*>& alike);

  std::unordered_map<std::string, std::vector<Part>> kept_;  // of those that others look like
};

}  // namespace causalctl::report
