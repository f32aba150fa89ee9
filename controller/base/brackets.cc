#include "controller/base/brackets.h"

#include <algorithm>

namespace causalctl {
namespace {

constexpr std::string_view kOperator = "operator";
// Ordered so that no entry is the beginning of a later one.
constexpr std::string_view kSymbols[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "<<",
                                         ">>",  "<=",  ">=",  "->",  "<",  ">",  ","};

}  // namespace

std::size_t operator_length(std::string_view text, std::size_t at) {
  if (text.substr(at, kOperator.size()) != kOperator) return 0;
  if (at > 0 && is_word(text[at - 1])) return 0;
  const std::string_view rest = text.substr(at + kOperator.size());
  if (rest.empty() || is_word(rest.front())) return 0;
  for (const std::string_view symbol : kSymbols) {
    if (rest.substr(0, symbol.size()) == symbol) return kOperator.size() + symbol.size();
  }
  return kOperator.size();
}

std::size_t single_colon(std::string_view text) {
  std::size_t next = 0;
  return find_outside_brackets(text, 0, [&](std::size_t i) {
    if (i < next || text[i] != ':') return false;
    next = std::min(text.find_first_not_of(':', i), text.size());
    return (next - i) % 2 == 1;
  });
}

}  // namespace causalctl
