// Symbols as binaries hold them: their names, in every language that we demangle, and the names
// that people write for them. The first line is the symbol, the second one what is written; without
// a second line it is the symbol's own name.
#include <algorithm>
#include <string>

#include "controller/base/error.h"
#include "tests/fuzz/targets.h"
#include "unwind/names/demangle.h"
#include "unwind/names/function_name.h"
#include "unwind/names/names.h"
#include "unwind/names/nearest_functions.h"

namespace causalctl::fuzz {
namespace {

constexpr std::size_t kLongestName = 65'536;

}  // namespace

void read_symbol(Bytes bytes) {
  const std::string text = as_text(bytes);
  const auto end = std::min(text.find('\n'), text.size());
  const std::string symbol = text.substr(0, end);
  const std::string name = unwind::demangle(symbol);
  INVARIANT(name == symbol || name.size() <= std::max(kLongestName, symbol.size()));
  unwind::split_clone(symbol);
  unwind::is_mangled(symbol);
  INVARIANT(unwind::without_arguments(name).size() <= name.size());
  unwind::simple_name(name);
  unwind::without_stamp(name);
  const std::string written = end < text.size() ? text.substr(end + 1) : name;
  const unwind::WrittenName wanted(written);
  wanted.may_fit(symbol);
  const auto fit = wanted.fit(symbol, name);
  INVARIANT(written.empty() || written != name || fit == unwind::Fit::exact);
}

}  // namespace causalctl::fuzz
