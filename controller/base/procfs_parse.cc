// The parsers of procfs.h. Pure.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "controller/base/number.h"
#include "controller/base/procfs.h"

namespace causalctl::procfs {
namespace {

template <typename T>
T number(std::string_view text, int base = 10) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return 0;
  T value = 0;
  std::from_chars(text.data() + first, text.data() + text.size(), value, base);
  return value;
}

// Takes the next line off `text`.
std::string_view next_line(std::string_view& text) {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// Takes the next word, separated by blanks, off `text`.
std::string_view next_word(std::string_view& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return text = {};
  text.remove_prefix(first);
  const auto word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

// Returns a field of /proc/PID/stat, numbered from 3 as in proc(5), or an empty text if it is not
// there. The second field, the program's name, stands in parentheses and may contain any text, even
// parentheses.
std::string_view field_of_stat(std::string_view stat, int field) {
  const auto name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return {};
  stat.remove_prefix(name_end + 1);
  for (int before = 3; before < field; ++before) next_word(stat);
  return next_word(stat);
}

// the value is "real effective saved filesystem", separated by tabs
uid_t effective_uid(std::string_view value) {
  const auto first = value.find_first_not_of('\t');
  if (first == std::string_view::npos) return 0;
  const auto second = value.find('\t', first);
  return second == std::string_view::npos ? 0 : number<uid_t>(value.substr(second));
}

// The kernel writes a newline in a path as "\\012", and every other byte as it is (seq_path()).
std::string with_newlines(std::string_view text) {
  constexpr std::string_view escape = "\\012";
  std::string path(text);
  for (auto at = path.find(escape); at != std::string::npos; at = path.find(escape, at + 1)) {
    path.replace(at, escape.size(), "\n");
  }
  return path;
}

std::optional<Map> parse_map(std::string_view line) {
  const auto range = next_word(line);
  const auto dash = range.find('-');
  const auto flags = next_word(line);
  if (dash == std::string_view::npos || flags.size() < 4) return std::nullopt;
  Map map;
  map.start = number<Address>(range.substr(0, dash), 16);
  map.end = number<Address>(range.substr(dash + 1), 16);
  map.readable = flags[0] == 'r';
  map.writable = flags[1] == 'w';
  map.executable = flags[2] == 'x';
  map.shared = flags[3] == 's';
  map.offset = number<std::uint64_t>(next_word(line), 16);
  const auto device = next_word(line);
  const auto colon = std::min(device.find(':'), device.size());
  map.device = number<std::uint64_t>(device.substr(0, colon), 16) << 32U;
  if (colon < device.size()) map.device |= number<std::uint64_t>(device.substr(colon + 1), 16);
  map.inode = number<std::uint64_t>(next_word(line));
  const auto path = line.find_first_not_of(' ');
  if (path != std::string_view::npos) map.path = with_newlines(line.substr(path));
  return map;
}

}  // namespace

std::optional<OffCore> parse_off_core(std::string_view syscall) {
  std::array<std::string_view, 9> words{};  // number, six arguments, stack pointer, instruction
  std::size_t count = 0;
  auto line = next_line(syscall);
  while (count < words.size()) {
    const auto word = next_word(line);
    if (word.empty()) break;
    words[count++] = word;
  }
  constexpr std::size_t in_no_call = 3;
  if (count != words.size() && count != in_no_call) return std::nullopt;
  const auto call = parse_number<long>(words[0]);
  if (!call) return std::nullopt;
  OffCore off;
  off.number = *call;
  std::array<std::uint64_t, 8> values{};
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const auto word = words[i + 1];
    if (!word.starts_with("0x")) return std::nullopt;
    values[i] = number<std::uint64_t>(word.substr(2), 16);
  }
  off.stack_pointer = values[count - 3];
  off.instruction = values[count - 2];
  if (count != in_no_call) std::copy_n(values.begin(), off.arguments.size(), off.arguments.begin());
  return off;
}

std::uint64_t parse_switches_out(std::string_view status) {
  std::uint64_t sum = 0;
  while (!status.empty()) {
    const auto line = next_line(status);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !line.substr(0, colon).ends_with("_ctxt_switches")) {
      continue;
    }
    sum += number<std::uint64_t>(line.substr(colon + 1));
  }
  return sum;
}

std::uint64_t parse_switches_in(std::string_view schedstat) {
  auto line = next_line(schedstat);
  next_word(line);
  next_word(line);
  return number<std::uint64_t>(next_word(line));
}

namespace {

// The kernel escapes these two characters of a name, and no others (proc_task_name() of
// fs/proc/array.c).
std::string unescaped(std::string_view name) {
  std::string text;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char next = at + 1 < name.size() ? name[at + 1] : '\0';
    const bool escaped = name[at] == '\\' && (next == 'n' || next == '\\');
    text += !escaped ? name[at] : next == 'n' ? '\n' : '\\';
    if (escaped) ++at;
  }
  return text;
}

}  // namespace

Status parse_status(std::string_view text) {
  static constexpr std::pair<std::string_view, int Status::*> kNumbers[] = {
      {"Tgid", &Status::tgid},
      {"TracerPid", &Status::tracer_pid},
      {"Seccomp", &Status::seccomp},
      {"Threads", &Status::threads}};
  static constexpr std::pair<std::string_view, std::uint64_t Status::*> kSets[] = {
      {"SigPnd", &Status::signals_pending}, {"ShdPnd", &Status::signals_pending_shared},
      {"SigBlk", &Status::signals_blocked}, {"SigIgn", &Status::signals_ignored},
      {"SigCgt", &Status::signals_caught},  {"CapEff", &Status::capabilities}};
  Status status;
  while (!text.empty()) {
    const auto line = next_line(text);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto key = line.substr(0, colon);
    const auto value = line.substr(colon + 1);
    if (key == "Name") {
      status.name = unescaped(value.substr(std::min<std::size_t>(1, value.size())));  // after a tab
    } else if (key == "State") {
      const auto letter = value.find_first_not_of("\t ");
      if (letter != std::string_view::npos) status.state = value[letter];
    } else if (key == "Uid") {
      status.uid = effective_uid(value);
    }
    for (const auto& [name, member] : kNumbers) {
      if (key == name) status.*member = number<int>(value);
    }
    for (const auto& [name, member] : kSets) {
      if (key == name) status.*member = number<std::uint64_t>(value, 16);
    }
  }
  return status;
}

// A line is "[<0>] ep_poll+0x2f4/0x3b0", behind which the name of a module may stand.
std::vector<std::string> parse_kernel_stack(std::string_view stack) {
  std::vector<std::string> functions;
  for (std::string_view line = next_line(stack); !line.empty(); line = next_line(stack)) {
    const auto begin = line.find("] ");
    if (begin == line.npos) continue;
    line.remove_prefix(begin + 2);
    const std::string_view name = line.substr(0, line.find_first_of("+ "));
    if (!name.empty() && !name.starts_with("0x")) functions.emplace_back(name);
  }
  return functions;
}

std::vector<Map> parse_maps(std::string_view text) {
  std::vector<Map> maps;
  while (!text.empty()) {
    if (auto map = parse_map(next_line(text))) maps.push_back(std::move(*map));
  }
  return maps;
}

Pid parse_flock_holder(std::string_view locks, std::string_view file) {
  while (!locks.empty()) {
    auto line = next_line(locks);  // "1: FLOCK  ADVISORY  WRITE 708 00:17:1234 0 EOF"
    next_word(line);
    if (next_word(line) != "FLOCK") continue;  // waiting processes have a "->" before it
    next_word(line);
    next_word(line);
    const auto holder = next_word(line);
    if (next_word(line) == file) return number<Pid>(holder);
  }
  return 0;
}

Pid parse_parent(std::string_view stat) { return number<Pid>(field_of_stat(stat, 4)); }

std::uint64_t parse_children_ticks(std::string_view stat) {
  return number<std::uint64_t>(field_of_stat(stat, 16)) +
         number<std::uint64_t>(field_of_stat(stat, 17));
}

std::uint64_t parse_user_ticks(std::string_view stat) {
  return number<std::uint64_t>(field_of_stat(stat, 14));
}

std::uint64_t parse_start_ticks(std::string_view stat) {
  return number<std::uint64_t>(field_of_stat(stat, 22));
}

Address parse_stack_begin(std::string_view stat) {
  return number<Address>(field_of_stat(stat, 28));
}

int parse_exit_code(std::string_view stat) { return number<int>(field_of_stat(stat, 52)); }

bool parse_is_kernel_worker(std::string_view stat, std::string_view stat_of_first) {
  constexpr std::uint64_t io_worker = 0x10;      // PF_IO_WORKER
  constexpr std::uint64_t user_worker = 0x4000;  // PF_USER_WORKER, Linux 6.4
  return (parse_flags(stat) & ~parse_flags(stat_of_first) & (io_worker | user_worker)) != 0;
}

std::uint64_t parse_flags(std::string_view stat) {
  return number<std::uint64_t>(field_of_stat(stat, 9));
}

bool parse_is_kernel_thread(std::string_view stat) {
  constexpr std::uint64_t kernel_thread = 0x00200000;  // PF_KTHREAD
  return (parse_flags(stat) & kernel_thread) != 0;
}

char parse_state(std::string_view stat) {
  const auto state = field_of_stat(stat, 3);
  return state.empty() ? '?' : state.front();
}

std::uint64_t parse_auxiliary(std::string_view auxv, std::uint64_t type) {
  struct Entry {
    std::uint64_t type = 0;
    std::uint64_t value = 0;
  } entry;
  for (; auxv.size() >= sizeof entry; auxv.remove_prefix(sizeof entry)) {
    std::memcpy(&entry, auxv.data(), sizeof entry);
    if (entry.type == type) return entry.value;
  }
  return 0;
}

}  // namespace causalctl::procfs
