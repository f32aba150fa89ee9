#include "controller/inputs/run/run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/execute.h"
#include "controller/base/helper_process.h"
#include "controller/base/log.h"
#include "controller/base/regular_file.h"
#include "controller/base/signal_state.h"
#include "controller/base/whole_file.h"
#include "controller/inputs/record/log.h"
#include "controller/inputs/run/collect.h"
#include "controller/inputs/run/result.h"
#include "controller/session/identity.h"

namespace causalctl::inputs {
namespace {

constexpr Nanoseconds kPollEvery = 50 * kMillisecond;
constexpr Nanoseconds kWriteLogEvery = 10 * kSecond;
constexpr Nanoseconds kEndPatience = 2 * kSecond;  // from SIGTERM to SIGKILL
constexpr std::size_t kLargestResult = std::size_t{4} << 30U;
constexpr std::size_t kHeadBytes = 128;  // of a result, more than its first two lines
constexpr std::size_t kMostMessages = std::size_t{1} << 20U;

std::string text_of(const std::string& path, std::size_t most) {
  const Fd file = open_regular(path);
  return file ? read_whole(file, most).value_or("") : "";
}

std::string new_run() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

HelperProcess start(const Valgrind& valgrind, const RunSettings& settings,
                    const ScratchFolder& scratch) {
  const std::string parts = make_parts(valgrind, scratch);
  const std::vector<std::string> words = words_for(valgrind, settings, scratch);
  return {"the program", [&](Channel& to_parent, Pid parent) {
            SignalState::at_start().restore();
            end_with(parent, SIGTERM);
            execute_or_tell(to_parent, [&] { execute(words, {{"VALGRIND_LIB", parts}}, {}); });
          }};
}

std::string count_text(std::uint64_t count) {
  constexpr std::pair<double, const char*> kScales[] = {{1e9, "G "}, {1e6, "M "}, {1e3, "k "}};
  const auto value = static_cast<double>(count);
  for (const auto& [scale, letter] : kScales) {
    if (value >= scale) return fmt::format("{:.1f} {}", value / scale, letter);
  }
  return fmt::format("{} ", count);
}

// The program while it runs.
class Running {
 public:
  Running(const RunSettings& settings, Recording& recording, LogWriter& log)
      : recording_(recording),
        log_(log),
        collector_(recording),
        process_(start(find_valgrind(), settings, scratch_)) {
    SentError failure;
    if (process_.channel().receive(failure)) failure.rethrow();
  }
  ~Running() { (void)end(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Returns the status.
  int wait(const RunHooks& hooks) {
    Nanoseconds next_ns = begun_ns_ + kWriteLogEvery;
    for (;;) {
      if (const auto status = process_.ended_within(kPollEvery)) return *status;
      if (Interrupts::count() > 0) return end();
      const Nanoseconds now_ns = monotonic_now();
      if (hooks.due()) {
        if (const std::string far = text(now_ns); !far.empty()) hooks.show(far);
      }
      if (now_ns < next_ns) continue;
      if (take_result()) log_.update(recording_);
      // Reading a large result must not take all of a core.
      next_ns = monotonic_now() + kWriteLogEvery + 10 * (monotonic_now() - now_ns);
    }
  }

  // Returns false if there is no result yet.
  bool take_result() {
    const std::string result = text_of(scratch_.file(kResultFile), kLargestResult);
    if (result.empty()) return false;
    collector_.take(parse_result(result));
    return true;
  }

  std::string messages() const { return text_of(scratch_.file(kMessagesFile), kMostMessages); }

 private:
  int end() {
    if (const auto status = process_.ended_within(0)) return *status;
    kill(process_.pid(), SIGTERM);
    if (const auto status = process_.ended_within(kEndPatience)) return *status;
    log::note("the program has not ended after SIGTERM, so it was killed");
    kill(process_.pid(), SIGKILL);
    return process_.wait_for_end();
  }

  // Returns how far the program is; empty if there is no result yet.
  std::string text(Nanoseconds now_ns) const {
    const auto blocks = blocks_so_far();
    if (!blocks) return {};
    return fmt::format("{} s, {}basic blocks", (now_ns - begun_ns_) / kSecond, count_text(*blocks));
  }

  std::optional<std::uint64_t> blocks_so_far() const {
    std::string begin(kHeadBytes, '\0');
    const Fd file = open_regular(scratch_.file(kResultFile));
    const ssize_t size = file ? pread(file.get(), begin.data(), begin.size(), 0) : 0;
    begin.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return blocks_in_head(begin);
  }

  Recording& recording_;
  LogWriter& log_;
  Collector collector_;
  ScratchFolder scratch_{"the files of Valgrind"};
  Nanoseconds begun_ns_ = monotonic_now();
  HelperProcess process_;
};

// Throws Error if the messages tell that Valgrind could not run the program.
void check_messages(const std::string& messages, bool has_result, int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGILL &&
      messages.find("unhandled instruction bytes") != messages.npos) {
    throw Error(fmt::format("Valgrind does not know an instruction of the program:\n{}", messages),
                "Valgrind knows no AVX-512: build the program for x86-64-v3 or less");
  }
  if (has_result) return;
  throw Error(fmt::format("Valgrind has not run the program (it ended with {} {}){}{}",
                          WIFSIGNALED(status) ? "signal" : "exit status",
                          WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                          messages.empty() ? "" : ":\n", messages),
              "try: valgrind --tool=none and the program, which shows whether Valgrind can run it");
}

RunEnd end_of(int status) {
  if (Interrupts::count() > 0) {
    return {"interrupted", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)};
  }
  if (WIFSIGNALED(status)) return {"signal", WTERMSIG(status)};
  return {"exited", WEXITSTATUS(status)};
}

}  // namespace

RunOutcome run_program(const RunSettings& settings, const RunHooks& hooks) {
  check_log(settings.log);
  check_program(settings.command.front());
  RunOutcome outcome;
  Recording& recording = outcome.recording;
  recording.run = new_run();
  recording.host = session::host_name();
  recording.command = settings.command;
  recording.started_ns = realtime_now();
  recording.cell_bytes = settings.cell_bytes;
  recording.aprof_compatible = settings.aprof_compatible;
  (void)find_valgrind();  // so that a log is only begun where there can be a run
  const Interrupts interrupts;
  LogWriter log(settings.log);
  log.begin(recording);
  {
    Running running(settings, recording, log);
    outcome.status = running.wait(hooks);
    const bool has_result = running.take_result();
    check_messages(running.messages(), has_result, outcome.status);
  }
  recording.end = end_of(outcome.status);
  log.end(recording);
  log.finish();
  return outcome;
}

}  // namespace causalctl::inputs
