#include "controller/inputs/run/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"

namespace causalctl::inputs {
namespace {

constexpr std::string_view kFirstLine = "causalctl-inputs 1";

// The words of a line.
class Words {
 public:
  explicit Words(std::string_view line) : line_(line), rest_(line) {}

  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }
  template <class Number = std::uint64_t>
  Number number() {
    const std::string_view text = word();
    if (const auto value = parse_number<Number>(text)) return *value;
    refuse();
  }
  // What is left, in which the tool has written a line feed as \n and a backslash as two.
  std::string rest() {
    std::string text;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const bool escaped = rest_[i] == '\\' && i + 1 < rest_.size();
      if (escaped) ++i;
      text += escaped && rest_[i] == 'n' ? '\n' : rest_[i];
    }
    return text;
  }

  [[noreturn]] void refuse() const {
    throw Error(fmt::format("the result of the Valgrind tool has a line that cannot be read: {}",
                            printable(std::string(line_.substr(0, 80)))),
                "is the tool of another version than causalctl? Install both anew");
  }

 private:
  std::string_view line_;
  std::string_view rest_;
};

Cost result_cost_of(Words& words) {
  Cost cost;
  cost.min = words.number();
  cost.max = words.number();
  cost.sum = words.number();
  cost.sum_of_squares = std::bit_cast<double>(words.number());
  return cost;
}

ResultRow result_row_of(Words& words) {
  ResultRow result;
  result.routine = words.number<std::uint32_t>();
  result.thread = words.number<std::uint32_t>();
  result.rms = words.number();
  result.trms = words.number();
  SizeRow& row = result.row;
  row.calls = words.number();
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    row.cost[unit] = result_cost_of(words);
    row.own[unit] = result_cost_of(words);
  }
  for (std::uint64_t& outermost : row.outermost) outermost = words.number();
  row.external = words.number();
  row.thread = words.number();
  return result;
}

void take_line(std::string_view line, Result& result) {
  Words words(line);
  const std::string_view kind = words.word();
  if (kind == "row") {
    result.rows.push_back(result_row_of(words));
  } else if (kind == "total") {
    for (std::uint64_t& total : result.total) total = words.number();
  } else if (kind == "lost") {
    result.lost = words.number();
  } else if (kind == "module") {
    if (words.number<std::size_t>() != result.modules.size()) words.refuse();
    result.modules.push_back(words.rest());
  } else if (kind == "routine") {
    ResultRoutine& routine = result.routines.emplace_back();
    routine.number = words.number<std::uint32_t>();
    routine.module = words.number<std::uint32_t>();
    routine.offset = words.number();
    if (routine.module >= result.modules.size()) words.refuse();
  } else if (kind == "thread") {
    result.threads.push_back(words.number<std::uint32_t>());
  } else {
    words.refuse();
  }
}

constexpr std::string_view kTotal = "total ";

}  // namespace

std::optional<std::uint64_t> blocks_in_head(std::string_view begin) {
  const std::size_t end = begin.find('\n');
  if (end == begin.npos || begin.substr(0, end) != kFirstLine) return std::nullopt;
  begin.remove_prefix(end + 1);
  if (!begin.starts_with(kTotal) || begin.find('\n') == begin.npos) return std::nullopt;
  begin.remove_prefix(kTotal.size());
  return parse_number<std::uint64_t>(begin.substr(0, begin.find(' ')));
}

Result parse_result(std::string_view text) {
  Result result;
  bool is_first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (is_first != (line == kFirstLine)) Words(line).refuse();
    if (!is_first && (line == "end 0" || line == "end 1")) {
      result.final = line == "end 1";
      if (!text.empty()) Words(text).refuse();
      return result;
    }
    if (!is_first) take_line(line, result);
    is_first = false;
  }
  throw Error("the result of the Valgrind tool has no end",
              "is the disk full on which it was written? TMPDIR names another one");
}

}  // namespace causalctl::inputs
