// Handles names of symbols, and finds similar ones. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace causalctl::unwind {

// Splits "foo.constprop.0" into {"foo", ".constprop.0"}, the part that compilers append to copies
// of a function. Only known suffixes are split off, because names in other languages contain dots.
struct CloneName {
  std::string_view base;
  std::string_view suffix;
};
CloneName split_clone(std::string_view symbol);

// The distance up to which a name is near another one.
struct Nearness {
  explicit Nearness(std::string_view wanted);
  // Returns nullopt if it is not near; otherwise its rank, the smaller the nearer.
  std::optional<std::size_t> of(std::string_view candidate) const;

  std::string_view wanted;
  std::size_t limit;
};

// Returns the candidates nearest to `name`, nearest first, each once, by edit distance; a name
// that contains the other one is near, too. Returns none if nothing is near.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates,
                                 std::size_t count);

}  // namespace causalctl::unwind
