#include "controller/continuous/counts/callgrind_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"
#include "controller/base/take_word.h"

namespace causalctl::continuous {
namespace {

constexpr std::string_view kFirstLine = "# callgrind format";
constexpr std::size_t kMostObjects = 100'000;
constexpr std::size_t kMostPositions = 3;  // of a line: instr, bb and line
constexpr std::size_t kShownBytes = 60;    // of a line, in messages

using Positions = std::array<std::uint64_t, kMostPositions>;

std::optional<std::uint64_t> number_of(std::string_view text) {
  if (text.substr(0, 2) == "0x") return parse_number<std::uint64_t>(text.substr(2), 16);
  return parse_number<std::uint64_t>(text);
}

bool is_cost(std::string_view line) {
  const char first = line.front();
  return ('0' <= first && first <= '9') || first == '+' || first == '-' || first == '*';
}

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  void read(std::string_view line);
  CallgrindFile end();

 private:
  // Of a line that begins with positions.
  enum class Next { own_cost, inclusive_cost, source_of_jump };
  struct Pending {  // a jump or a call, until the line that says from where
    std::uint64_t count = 0;
    Address to = 0;
  };

  [[noreturn]] void fail(const std::string& what) const;
  void read_header(std::string_view key, std::string_view value);
  void read_positions_header(std::string_view value);
  void read_events_header(std::string_view value);
  void read_totals(std::string_view value);
  void read_specification(std::string_view key, std::string_view value);
  void read_cost(std::string_view line);
  void set_object(std::string_view value);
  std::string object_name(std::string_view value);
  void expect(Next next, std::uint64_t count, std::string_view target);
  std::uint64_t count_of(std::string_view word) const;
  Positions take_positions(std::string_view& line) const;
  std::uint64_t position_of(std::string_view word, std::uint64_t before) const;
  void count_instruction(Address address, std::uint64_t count);
  void count_jump(Address from, Jumps& jumps);
  void require_room();

  const std::string& name_;
  std::size_t line_ = 0;
  CallgrindFile file_;
  std::unordered_map<std::uint64_t, std::string> objects_;  // by number, where names have one
  std::size_t places_ = 0;

  // Of the part of the file.
  std::optional<std::size_t> instruction_column_;  // among positions
  std::size_t positions_ = 1;
  std::optional<std::size_t> event_column_;  // Ir, among events
  std::uint64_t own_cost_ = 0;
  bool has_costs_ = false;
  bool is_complete_ = false;  // its totals were read

  CallgrindObject* object_ = nullptr;  // of the lines that follow
  std::string object_name_;
  std::string called_;         // its name until the call's cost; empty: the same
  Positions last_{};           // of own cost
  Executions::iterator near_;  // where the next instruction probably belongs
  Next next_ = Next::own_cost;
  Pending pending_;
};

void Parser::fail(const std::string& what) const {
  throw Error(fmt::format("{}:{}: {}", printable(name_), line_, what), callgrind_command());
}

void Parser::read(std::string_view line) {
  ++line_;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line_ == 1 && line != kFirstLine && line.substr(0, 8) != "version:" &&
      line.substr(0, 8) != "creator:") {
    fail("this is no file of callgrind");
  }
  if (line.empty() || line.front() == '#') return;
  if (is_cost(line)) return read_cost(line);
  if (next_ != Next::own_cost) fail("a jump or call has no line that says from where");
  const std::size_t end = line.find_first_of(":=");
  if (end == std::string_view::npos) {
    fail(fmt::format("what is this: {}", printable(line.substr(0, kShownBytes))));
  }
  const std::string_view value = line.substr(end + 1);
  if (line[end] == ':') {
    read_header(line.substr(0, end),
                value.substr(std::min(value.find_first_not_of(' '), value.size())));
  } else {
    read_specification(line.substr(0, end), value);
  }
}

void Parser::read_header(std::string_view key, std::string_view value) {
  if (key == "totals") return read_totals(value);
  is_complete_ = false;
  if (key == "cmd" && file_.command.empty()) file_.command = value;
  if (key == "positions") read_positions_header(value);
  if (key == "events") read_events_header(value);
}

void Parser::read_positions_header(std::string_view value) {
  instruction_column_.reset();
  for (positions_ = 0; !value.empty(); ++positions_) {
    if (positions_ == kMostPositions) fail("there are too many positions");
    if (take_word(value) == "instr") instruction_column_ = positions_;
  }
  if (!instruction_column_) fail("it has counts of lines, and none of instructions");
}

void Parser::read_events_header(std::string_view value) {
  event_column_.reset();
  for (std::size_t i = 0; !value.empty(); ++i) {
    if (take_word(value) == "Ir") event_column_ = i;
  }
  if (!event_column_) fail("the event Ir, executions of instructions, is not counted in it");
}

void Parser::read_totals(std::string_view value) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= event_column_.value_or(0) && !value.empty(); ++i) {
    const std::uint64_t number = count_of(take_word(value));
    if (i == event_column_.value_or(0)) total = number;
  }
  if (total != own_cost_) {
    fail(fmt::format("its instructions were executed {} times, and it says {}: it is damaged",
                     own_cost_, total));
  }
  own_cost_ = 0;
  is_complete_ = true;
}

void Parser::read_specification(std::string_view key, std::string_view value) {
  is_complete_ = false;
  if (key == "ob") {
    set_object(value);
  } else if (key == "cob") {
    called_ = object_name(value);
  } else if (key == "calls") {
    std::string_view target = value;
    expect(Next::inclusive_cost, count_of(take_word(target)), target);
  } else if (key == "jump") {
    std::string_view target = value;
    expect(Next::source_of_jump, count_of(take_word(target)), target);
  } else if (key == "jcnd") {
    std::string_view target = value;
    const std::string_view counts = take_word(target);
    const std::size_t slash = counts.find('/');
    if (slash == std::string_view::npos) fail("a conditional jump has one count of two");
    const std::uint64_t taken = count_of(counts.substr(0, slash));
    if (taken > count_of(counts.substr(slash + 1))) {
      fail("a conditional jump was taken more often than it was executed");
    }
    expect(Next::source_of_jump, taken, target);
  }
  // Others name source files and functions.
}

void Parser::expect(Next next, std::uint64_t count, std::string_view target) {
  if (!instruction_column_) fail("it has counts of lines, and none of instructions");
  pending_ = {count, take_positions(target)[*instruction_column_]};
  next_ = next;
}

void Parser::set_object(std::string_view value) {
  object_name_ = object_name(value);
  object_ = &file_.objects[object_name_];
  near_ = object_->counts.instructions.begin();
  if (file_.objects.size() > kMostObjects) fail("it has too many objects");
}

// A name is "NAME", or "(NUMBER) NAME" where it comes first and "(NUMBER)" later.
std::string Parser::object_name(std::string_view value) {
  const std::size_t end = value.find(')');
  if (value.empty()) fail("an object has no name");
  if (value.front() != '(' || end == std::string_view::npos) return std::string(value);
  const auto number = parse_number<std::uint64_t>(value.substr(1, end - 1));
  if (!number) return std::string(value);
  const std::size_t begin = value.find_first_not_of(' ', end + 1);
  if (begin != std::string_view::npos) {
    if (objects_.size() == kMostObjects) fail("it has too many objects");
    return objects_[*number] = value.substr(begin);
  }
  const auto known = objects_.find(*number);
  if (known == objects_.end()) fail(fmt::format("object {} has no name", *number));
  return known->second;
}

std::uint64_t Parser::count_of(std::string_view word) const {
  const auto number = number_of(word);
  if (number && *number <= kMostExecutions) return *number;
  fail(fmt::format("{} is no count, or too large", printable(word.substr(0, kShownBytes))));
}

std::uint64_t Parser::position_of(std::string_view word, std::uint64_t before) const {
  if (word == "*") return before;
  if (word.empty()) fail("a position is missing");
  const char sign = word.front();
  const bool is_relative = sign == '+' || sign == '-';
  const auto number = number_of(is_relative ? word.substr(1) : word);
  std::uint64_t position = number.value_or(0);
  bool is_good = number.has_value();
  if (sign == '+') is_good = is_good && !__builtin_add_overflow(before, *number, &position);
  if (sign == '-') is_good = is_good && !__builtin_sub_overflow(before, *number, &position);
  if (is_good) return position;
  fail(fmt::format("{} is no position", printable(word.substr(0, kShownBytes))));
}

Positions Parser::take_positions(std::string_view& line) const {
  Positions positions{};
  for (std::size_t i = 0; i < positions_; ++i) {
    positions[i] = position_of(take_word(line), last_[i]);
  }
  return positions;
}

void Parser::read_cost(std::string_view line) {
  if (!instruction_column_) fail("it has counts of lines, and none of instructions");
  if (!event_column_) fail("the event Ir, executions of instructions, is not counted in it");
  if (object_ == nullptr) fail("it does not say of which object the counts are");
  is_complete_ = false;
  const Positions positions = take_positions(line);
  const Address address = positions[*instruction_column_];
  std::uint64_t cost = 0;
  for (std::size_t i = 0; !line.empty(); ++i) {
    const std::uint64_t count = count_of(take_word(line));
    if (i == *event_column_) cost = count;
  }
  switch (std::exchange(next_, Next::own_cost)) {
    case Next::own_cost:
      last_ = positions;
      if (cost > 0) count_instruction(address, cost);
      break;
    case Next::source_of_jump:
      if (pending_.count > 0) count_jump(address, object_->counts.jumps);
      break;
    case Next::inclusive_cost:
      if (called_ == kNoObject && object_name_ != kNoObject) {
        if (object_->calls_elsewhere.insert({address, pending_.to}).second) require_room();
      }
      if (called_.empty() || called_ == object_name_) count_jump(address, object_->calls);
      called_.clear();
      break;
  }
}

void Parser::require_room() {
  if (++places_ > kMostCallgrindPlaces) {
    fail(fmt::format("it has more than {} instructions, jumps and calls", kMostCallgrindPlaces));
  }
}

void Parser::count_instruction(Address address, std::uint64_t count) {
  has_costs_ = true;
  Executions& instructions = object_->counts.instructions;
  const std::size_t before = instructions.size();
  const auto at = instructions.try_emplace(near_, address, 0);
  near_ = std::next(at);
  if (instructions.size() > before) require_room();
  if (!add_within(at->second, count) || !add_within(own_cost_, count)) {
    fail("counts add up to more than 63 bits");
  }
}

void Parser::count_jump(Address from, Jumps& jumps) {
  const auto [at, is_new] = jumps.try_emplace({from, pending_.to}, 0);
  if (is_new) require_room();
  if (!add_within(at->second, pending_.count)) fail("counts add up to more than 63 bits");
}

CallgrindFile Parser::end() {
  if (line_ == 0) fail("it is empty");
  if (!is_complete_) {
    fail("it has no totals at its end: it is cut off, or the program still runs");
  }
  if (!has_costs_) fail("it has no counts");
  return std::move(file_);
}

}  // namespace

std::string callgrind_command() {
  return "write one by: valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes "
         "--skip-plt=no --callgrind-out-file=FILE PROGRAM";
}

CallgrindFile read_callgrind(std::string_view text, const std::string& name) {
  Parser parser(name);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.end();
}

}  // namespace causalctl::continuous
