#include "controller/commands/recorded_stacks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "config/text.h"
#include "controller/base/execute.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/base/whole_file.h"
#include "controller/callpath/record/log.h"
#include "controller/continuous/record/kept_file.h"

namespace causalctl::commands {
namespace {

// Returns the words for those processes of the set that are there; none if all have ended.
std::vector<std::string> words_for(const SetChoice& choice) {
  using session::SetKind;
  const session::SetDescription& set = choice.description;
  std::vector<std::string> there;
  for (const Pid pid : set.pids) {
    if (!procfs::has_ended(pid)) there.push_back(std::to_string(pid));
  }
  switch (set.kind) {
    case SetKind::all:
      return {"--all"};
    case SetKind::match:
      return {"--match", set.text};
    case SetKind::cgroup:
      return {"--cgroup", set.text};
    case SetKind::service:
      return {"--service", set.text};
    case SetKind::children:
      if (!there.empty()) there.insert(there.begin(), "--children");
      break;
    case SetKind::processes:
      break;
  }
  return there;
}

// Returns what is in the file, which is removed; nullopt if there is none, or if it is no log,
// which is told.
std::optional<std::string> take_log(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return std::nullopt;
  unlink(path.c_str());
  auto text = read_whole(file, continuous::kLargestLog);
  if (text && begins_as(callpath::kLogKind, *text)) return text;
  log::note("{}: no log of call paths, or too long; it is dropped", path);
  return std::nullopt;
}

}  // namespace

RecordedStacks::RecordedStacks(const SetChoice& choice, Nanoseconds period_ns,
                               Nanoseconds longest_ns, std::string file)
    : choice_(choice),
      options_{"--event", "cpu", "--quiet", "--format", "folded"},
      file_(std::move(file)) {
  for (const auto& [name, time_ns] :
       {std::pair("--period", period_ns), {"--duration", longest_ns}}) {
    options_.emplace_back(name);
    options_.push_back(config::duration_text(time_ns));
  }
  for (int i = 0; i < 2; ++i) left_behind_.push_back(next_file());
}

RecordedStacks::~RecordedStacks() {
  for (auto* child : {&running_, &ending_}) {
    if (*child) kill((*child)->process.pid(), SIGKILL);
    if (*child) (*child)->process.wait_for_end();
  }
}

std::string RecordedStacks::next_file() {
  turn_ = 1 - turn_;
  return fmt::format("{}{}", file_, turn_);
}

void RecordedStacks::begin() {
  std::vector<std::string> words = {"/proc/self/exe", "callpath"};
  const std::vector<std::string> set = words_for(choice_);
  if (set.empty()) return;
  words.insert(words.end(), set.begin(), set.end());
  words.insert(words.end(), options_.begin(), options_.end());
  const std::string file = next_file();
  words.insert(words.end(), {"--output", file});
  // Its messages go where ours do.
  HelperProcess process("the recorder of call paths", [&](Channel& to_parent, Pid parent) {
    execute_or_tell(to_parent, [&] {
      settle({.name = "record-stacks",
              .kept = {STDERR_FILENO, to_parent.descriptor()},
              .in_our_session = true});
      end_with(parent, SIGINT);
      causalctl::execute(words, {}, {});
    });
  });
  running_.emplace(Child{std::move(process), file});
}

void RecordedStacks::end() {
  if (!running_) return;
  kill(running_->process.pid(), SIGINT);
  ending_ = std::exchange(running_, std::nullopt);
}

std::optional<std::string> RecordedStacks::take(Nanoseconds patience_ns) {
  while (!left_behind_.empty()) {
    const std::string file = left_behind_.back();
    left_behind_.pop_back();
    if (auto log = take_log(file)) return log;
  }
  if (!ending_) return std::nullopt;
  if (!ending_->process.ended_within(patience_ns)) {
    if (patience_ns == 0) return std::nullopt;
    kill(ending_->process.pid(), SIGKILL);  // what is written can be read
    ending_->process.wait_for_end();
  }
  const std::string file = ending_->file;
  ending_.reset();
  return take_log(file);
}

}  // namespace causalctl::commands
