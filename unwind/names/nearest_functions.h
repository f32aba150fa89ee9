// Finds the functions whose names are nearest to one that was typed wrong. Pure.
//
// To demangle each symbol of a large program takes seconds. The words of a name stand in its symbol
// as they are, so the words are compared, each once, and only symbols that have a near one are
// demangled.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "unwind/names/names.h"

namespace causalctl::unwind {

class NearestFunctions {
 public:
  explicit NearestFunctions(const std::string& name);

  // The text of `symbol` must outlive this object.
  void consider(std::string_view symbol);

  // Returns at most `count` names without arguments, nearest first, each once.
  std::vector<std::string> names(std::size_t count);

 private:
  struct Known {
    std::string name;  // without arguments
    std::string simple;
  };
  static Known known_as(std::string_view symbol);
  std::optional<std::size_t> rank(std::string_view word);

  std::string name_;
  std::string simple_;
  Nearness nearness_;                                           // to simple_
  std::unordered_map<std::string_view, std::size_t> rank_;      // by word
  std::vector<std::pair<std::size_t, std::string_view>> near_;  // the rank of the best word; symbol
};

}  // namespace causalctl::unwind
