#include "controller/commands/recorded_stacks.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "config/text.h"
#include "controller/base/error.h"
#include "controller/base/execute.h"
#include "controller/base/log.h"
#include "controller/base/regular_file.h"
#include "controller/continuous/record/kept_file.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kPatienceWithLog = 10 * kSecond;  // until it is written

std::vector<std::string> words_for(const SetChoice& choice) {
  using session::SetKind;
  const session::SetDescription& set = choice.description;
  switch (set.kind) {
    case SetKind::all:
      return {"--all"};
    case SetKind::children:
      return {"--children", std::to_string(set.pids.front())};
    case SetKind::match:
      return {"--match", set.text};
    case SetKind::cgroup:
      return {"--cgroup", set.text};
    case SetKind::service:
      return {"--service", set.text};
    case SetKind::processes:
      break;
  }
  std::vector<std::string> words;
  for (const Pid pid : set.pids) words.push_back(std::to_string(pid));
  return words;
}

}  // namespace

RecordedStacks::RecordedStacks(const SetChoice& choice, Nanoseconds period_ns, std::string file)
    : words_{"/proc/self/exe", "callpath"}, file_(std::move(file)) {
  for (std::string& word : words_for(choice)) words_.push_back(std::move(word));
  for (const char* word : {"--event", "cpu", "--quiet", "--format", "folded", "--period"}) {
    words_.emplace_back(word);
  }
  words_.push_back(config::duration_text(period_ns));
  words_.insert(words_.end(), {"--output", file_});
}

std::string RecordedStacks::take_file() const {
  if (access(file_.c_str(), F_OK) != 0) return {};
  std::string text = read_input(file_, continuous::kLargestLog, "");
  unlink(file_.c_str());
  return text;
}

std::string RecordedStacks::left_behind() { return take_file(); }

void RecordedStacks::begin() {
  process_.emplace("the recorder of call paths", [this](Channel& to_parent, Pid parent) {
    execute_or_tell(to_parent, [&] {
      settle({.name = "record-stacks", .kept = {to_parent.descriptor()}});
      end_with(parent, SIGINT);
      causalctl::execute(words_, {}, {});
    });
  });
}

std::string RecordedStacks::end() {
  if (!process_) return {};
  kill(process_->pid(), SIGINT);
  const auto status = process_->ended_within(kPatienceWithLog);
  if (!status) {
    kill(process_->pid(), SIGKILL);
    process_->wait_for_end();
  }
  process_.reset();
  if (!status || *status != 0) {
    log::note(
        "call paths were not recorded to the end of the epoch; causalctl callpath may say why");
  }
  return take_file();
}

}  // namespace causalctl::commands
