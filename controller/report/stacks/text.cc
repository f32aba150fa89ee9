// Renders stacks as text. Threads that stand in the same place are shown together, because a
// server's idle workers would hide the one that matters. Words repeat everything that colour says.
#include "controller/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "controller/base/fields.h"
#include "controller/base/interpreter.h"
#include "controller/base/telling_names.h"
#include "controller/report/stacks/model.h"

namespace causalctl::report::stacks {
namespace {

constexpr std::size_t kMostTids = 12;
constexpr std::size_t kMostNames = 3;
constexpr std::size_t kMostFrames = 256;  // in the text; deeper stacks lose frames in the middle

auto key_of(const Frame& frame) {
  return std::tie(frame.function, frame.file, frame.line, frame.module, frame.offset,
                  frame.inlined);
}

bool same_place(const Thread& a, const Thread& b) {
  return a.state == b.state && a.complete == b.complete && a.searched == b.searched &&
         a.remark == b.remark &&
         std::equal(a.frames.begin(), a.frames.end(), b.frames.begin(), b.frames.end(),
                    [](const Frame& x, const Frame& y) { return key_of(x) == key_of(y); });
}

// How the files of all frames are called.
struct Names {
  explicit Names(const Process& process)
      : files(all_of(process, &Frame::file)), modules(all_of(process, &Frame::module)) {}
  static std::set<std::string> all_of(const Process& process, std::string Frame::*member) {
    std::set<std::string> all;
    for (const Thread& thread : process.threads) {
      for (const Frame& frame : thread.frames) all.insert(frame.*member);
    }
    return all;
  }

  ShortPaths files;
  ShortPaths modules;
};

std::string frame_text(const Frame& frame, const Names& names, bool color) {
  std::string text = printable(frame.function);
  if (frame.line > 0) {
    text += fmt::format(" at {}:{}", printable(names.files.of(frame.file)), frame.line);
  }
  // A function that is named by its place has the module's name already, if that says all.
  const std::string& module = names.modules.of(frame.module);
  if (!module.empty() && !frame.kernel && !frame.function.starts_with(module + "+0x")) {
    text += fmt::format(" {}({}){}", color ? kDim : "", printable(module), color ? kReset : "");
  }
  if (frame.inlined) text += " [inlined]";
  return text;
}

std::string frames_text(const std::vector<Frame>& frames, const Names& names, bool color) {
  const bool long_one = frames.size() > kMostFrames;
  const std::size_t shown = kMostFrames / 2;
  const auto digits =
      static_cast<int>(fmt::formatted_size("{}", frames.empty() ? 0 : frames.size() - 1));
  std::string text;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (long_one && i == shown) {
      const std::size_t next = frames.size() - shown;
      text += fmt::format("  … {} frames; --format json has them\n", next - i);
      i = next;
    }
    text += fmt::format("  #{:<{}} {}\n", i, digits, frame_text(frames[i], names, color));
  }
  return text;
}

// Returns "thread 5" or "3 threads 5, 6, 7".
std::string tids_text(const std::vector<Thread>& threads, const std::vector<std::size_t>& group) {
  if (group.size() == 1) return fmt::format("thread {}", threads[group.front()].tid);
  std::string text = fmt::format("{} threads ", group.size());
  for (std::size_t i = 0; i < std::min(group.size(), kMostTids); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", threads[group[i]].tid);
  }
  if (group.size() > kMostTids) text += fmt::format(" and {} more", group.size() - kMostTids);
  return text;
}

std::string names_text(const std::vector<Thread>& threads, const std::vector<std::size_t>& group) {
  std::vector<std::string> names;
  for (const std::size_t i : group) {
    if (std::find(names.begin(), names.end(), threads[i].name) == names.end()) {
      names.push_back(threads[i].name);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += fmt::format("{}\"{}\"", i > 0 ? ", " : "", printable(names[i]));
  }
  return names.size() > kMostNames ? text + ", …" : text;
}

// Returns what all threads of the group wait in: with the arguments if those are the same.
std::string waits_text(const std::vector<Thread>& threads, const std::vector<std::size_t>& group) {
  const std::string& first = threads[group.front()].waits_in;
  const auto call_of = [](const std::string& text) { return text.substr(0, text.find('(')); };
  bool same = true;
  for (const std::size_t i : group) {
    if (call_of(threads[i].waits_in) != call_of(first)) return "";
    same = same && threads[i].waits_in == first;
  }
  return printable(same ? first : call_of(first));
}

std::string state_text(State state, const std::string& waits) {
  const std::string in = waits.empty() ? "" : " in " + waits;
  switch (state) {
    case State::running:
      return "running";
    case State::blocked:
      return "blocked" + in;
    case State::uninterruptible:
      return fmt::format("blocked{} (uninterruptible)", in);
    case State::stopped:
      return "stopped by a signal" + in;
    case State::traced:
      return "stopped by its tracer" + in;
    case State::ended:
      return "ended";
    case State::unknown:
      break;
  }
  return "in an unknown state";
}

std::string cpu_text(const std::vector<Thread>& threads, const std::vector<std::size_t>& group) {
  const auto less = [&](std::size_t a, std::size_t b) {
    return threads[a].cpu_ns < threads[b].cpu_ns;
  };
  const auto [low, high] = std::minmax_element(group.begin(), group.end(), less);
  const std::string least = duration(threads[*low].cpu_ns), most = duration(threads[*high].cpu_ns);
  return least == most ? most : fmt::format("{} to {}", least, most);
}

// Returns how the stacks of the group were taken.
std::string times_text(const std::vector<Thread>& threads, const std::vector<std::size_t>& group) {
  std::size_t without = 0, stopped = 0;
  Nanoseconds held_ns = 0, at_most_ns = 0;
  for (const std::size_t i : group) {
    const Thread& thread = threads[i];
    without += thread.taken == Taken::without_stop ? 1 : 0;
    stopped += thread.taken == Taken::in_a_stop ? 1 : 0;
    held_ns = std::max(held_ns, thread.held_ns);
    at_most_ns = std::max(at_most_ns, thread.at_most_ns);
  }
  std::string text;
  if (without > 0) text = "read without a stop";
  if (stopped > 0) {
    text += fmt::format("{}stopped for {}, {} at most", text.empty() ? "" : ", or ",
                        duration(held_ns), duration(at_most_ns));
  }
  return text.empty() ? "" : fmt::format("  {}\n", text);
}

std::string group_text(const std::vector<Thread>& threads, const std::vector<std::size_t>& group,
                       const Names& names, const TextOptions& options) {
  const Thread& first = threads[group.front()];
  const std::string_view mark = !options.color                  ? ""
                                : first.state == State::running ? kGreen
                                                                : kBold;
  std::string text =
      fmt::format("\n{}{} {}: {}{}, CPU {}\n", mark, tids_text(threads, group),
                  names_text(threads, group), state_text(first.state, waits_text(threads, group)),
                  mark.empty() ? "" : kReset, cpu_text(threads, group));
  if (options.times) text += times_text(threads, group);
  text += frames_text(first.frames, names, options.color);
  if (first.taken == Taken::not_read) {
    text += fmt::format("  no stack: {}\n", printable(first.remark));
  } else if (!first.complete) {
    text += fmt::format("  incomplete: {}\n", printable(first.remark));
  }
  if (first.searched) text += "  some callers were searched for on the stack, and may be wrong\n";
  return text;
}

// Says whose functions these are, if the program runs code of another language.
std::string interpreter_text(const Process& process) {
  InterpreterRemark remark(process.program);
  for (const Thread& thread : process.threads) {
    for (const Frame& frame : thread.frames) remark.see(frame.module, frame.function);
  }
  const std::string words = remark.words();
  return words.empty() ? words : words + "\n";
}

}  // namespace

std::vector<std::vector<std::size_t>> groups_of(const std::vector<Thread>& threads) {
  std::vector<std::vector<std::size_t>> groups;
  std::multimap<std::tuple<State, std::size_t, Address>, std::size_t> known;  // to groups
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const Thread& thread = threads[i];
    const std::tuple about(thread.state, thread.frames.size(),
                           thread.frames.empty() ? 0 : thread.frames.front().offset);
    const auto [begin, end] = known.equal_range(about);
    const auto found = std::find_if(begin, end, [&](const auto& each) {
      return same_place(threads[groups[each.second].front()], thread);
    });
    if (found != end) {
      groups[found->second].push_back(i);
    } else {
      known.emplace(about, groups.size());
      groups.push_back({i});
    }
  }
  return groups;
}

std::string render_text(const Process& process, const TextOptions& options) {
  const auto running = static_cast<std::size_t>(
      std::count_if(process.threads.begin(), process.threads.end(),
                    [](const Thread& each) { return each.state == State::running; }));
  const std::size_t count = process.threads.size();
  std::string text = fmt::format("process {} ({}), {}: {} thread{}, {} running\n", process.pid,
                                 printable(process.name), printable(process.program), count,
                                 count == 1 ? "" : "s", running);
  text += interpreter_text(process);
  for (const std::string& warning : process.warnings) {
    text += fmt::format("warning: {}\n", printable(warning));
  }
  std::vector<std::vector<std::size_t>> groups;
  if (options.each) {
    for (std::size_t i = 0; i < count; ++i) groups.push_back({i});
  } else {
    groups = groups_of(process.threads);
  }
  const Names names(process);
  for (const auto& group : groups) text += group_text(process.threads, group, names, options);
  return text;
}

std::string render_text(const NotRead& process) {
  return fmt::format("process {} ({}): no stacks: {}\n", process.pid, printable(process.name),
                     process.ended ? "it has ended" : printable(process.reason));
}

}  // namespace causalctl::report::stacks
