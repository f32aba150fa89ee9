// Checks sampled chains against the one path that leads to each leaf of tests/targets/paths.cc.
//
// CAUSALCTL_PATH_SAMPLES sets how many samples in leaves are checked (2,000); more are taken
// faster.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/fd.h"
#include "controller/perf/core_sampling.h"
#include "controller/perf/session.h"
#include "controller/symbols/call_chain.h"
#include "tests/kernel/unwind/target_program.h"
#include "unwind/names/symbolizer.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kUsual = 2000;  // samples
constexpr std::size_t kPathDepth = 256;
constexpr Address kLeaves = 10000;
constexpr Address kLeafBytes = 64;

class Paths {
 public:
  Paths() {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    REQUIRE((pipe(to.data()) == 0 && pipe(from.data()) == 0));
    pid_ = fork();
    if (pid_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      for (const int each : {to[0], to[1], from[0], from[1]}) close(each);
      const std::string path = target_path("paths");
      execl(path.c_str(), path.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    input_ = Fd(to[1]);
    std::FILE* output = fdopen(from[0], "r");
    int pid = 0;
    const int read = std::fscanf(output, "ready %d %lx", &pid, &leaves_);
    std::fclose(output);
    REQUIRE(read == 2);
  }
  ~Paths() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Paths(const Paths&) = delete;
  Paths& operator=(const Paths&) = delete;

  Pid pid() const { return pid_; }
  Address leaves() const { return leaves_; }

 private:
  Pid pid_ = 0;
  Fd input_;
  Address leaves_ = 0;
};

// Returns the functions of the program on the path to a leaf, innermost first.
std::vector<std::string> truth(Address leaf) {
  const std::array<Address, 4> digits = {leaf / 1000, leaf / 100 % 10, leaf / 10 % 10, leaf % 10};
  std::vector<std::string> names;
  const auto recurse = [&](Address times) { names.insert(names.end(), times, "recurse"); };
  switch (digits[3]) {
    case 3:
      recurse(digits[1] + 1);
      break;
    case 6:
      names.emplace_back("on_signal");
      [[fallthrough]];
    case 4:
    case 5:
      recurse(1);
      break;
    case 7:
      return {"in_context"};
    default:
      break;
  }
  names.emplace_back("enter");
  for (std::size_t level = 4; level-- > 0;) {
    names.push_back(fmt::format("step<{}, {}>", level, digits[level]));
  }
  names.emplace_back("path");
  names.emplace_back("walk");
  return names;
}

class Names {
 public:
  explicit Names(Pid pid) : symbolizer_(pid) {}

  // Returns the name of the function, or an empty one for code of a library.
  const std::string& of(Address address) {
    const auto [place, is_new] = known_.try_emplace(address);
    if (!is_new) return place->second;
    const auto frames = symbolizer_.frames(address);
    const std::string name = frames.empty() ? "" : frames.back().function;
    constexpr std::array<std::string_view, 7> kOwn = {
        "recurse", "on_signal", "in_context", "switch_context", "enter", "path", "walk"};
    const bool own =
        name.starts_with("step<") || std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
    if (own) place->second = name;
    return place->second;
  }

 private:
  Symbolizer symbolizer_;
  std::unordered_map<Address, std::string> known_;
};

struct PathTally {
  std::size_t checked = 0;
  std::size_t right = 0;
  std::size_t incomplete = 0;    // but right as far as it goes
  std::size_t below_signal = 0;  // of these: in a handler on an alternate stack
  std::size_t wrong = 0;
  std::string first_wrong;
};

void check(const Chain& chain, Address leaf, Names& names, PathTally& tally) {
  std::vector<std::string> found;
  for (std::size_t i = 1; i < chain.frames.size(); ++i) {
    const std::string& name = names.of(code_at(chain.frames[i]));
    if (!name.empty()) found.push_back(name);
  }
  ++tally.checked;
  const auto expected = truth(leaf);
  if (chain.complete() && found == expected) {
    ++tally.right;
    return;
  }
  const bool is_begin =
      found.size() <= expected.size() && std::equal(found.begin(), found.end(), expected.begin());
  if (!chain.complete() && is_begin) {
    ++tally.incomplete;
    if (!found.empty() && found[0] == "on_signal") ++tally.below_signal;
    return;
  }
  ++tally.wrong;
  if (!tally.first_wrong.empty()) return;
  tally.first_wrong = fmt::format("leaf {} at {:#x}: {}; it should be {}", leaf, chain.frames[0].ip,
                                  fmt::join(found, " < "), fmt::join(expected, " < "));
}

PathTally check_samples(const Paths& paths, std::size_t wanted, perf::Clocks clocks) {
  perf::SessionOptions options;
  options.wake_edges = false;
  options.peers = false;
  options.period_ns = wanted > kUsual ? kMillisecond / 5 : kMillisecond;
  options.stack_bytes = 32768;
  options.clocks = clocks;
  perf::Session session(paths.pid(), options);
  Unwinder unwinder(paths.pid());
  unwinder.mend_stacks();
  Names names(paths.pid());
  session.start();
  PathTally tally;
  while (tally.checked < wanted && session.target_alive()) {
    sleep_until(monotonic_now() + 8 * kMillisecond);
    for (const perf::Event& event : session.drain(monotonic_now())) {
      const auto* sample = std::get_if<perf::SampleEvent>(&event);
      if (sample == nullptr || sample->user.registers.empty()) continue;
      const Chain& chain = symbols::unwound_chain(*sample, unwinder, kPathDepth);
      const Address offset = chain.frames[0].ip - paths.leaves();
      if (offset < kLeaves * kLeafBytes) check(chain, offset / kLeafBytes, names, tally);
    }
  }
  return tally;
}

}  // namespace

TEST_CASE("Each sampled chain is the one path to its leaf", "[unwind]") {
  if (access(target_path("paths").c_str(), X_OK) != 0) {
    WARN("not tested: tests/targets/paths was not built");
    return;
  }
  const char* words = std::getenv("CAUSALCTL_PATH_SAMPLES");
  const Paths paths;
  const perf::Clocks clocks = GENERATE(perf::Clocks::threads, perf::Clocks::cores);
  const PathTally tally =
      check_samples(paths, words != nullptr ? std::strtoul(words, nullptr, 10) : kUsual, clocks);
  fmt::print("paths: {} samples, {} right, {} incomplete, {} of them below a signal, {} wrong\n",
             tally.checked, tally.right, tally.incomplete, tally.below_signal, tally.wrong);
  INFO(tally.first_wrong);
  CHECK(tally.wrong == 0);
  // What a handler on an alternate stack has interrupted is copied by a BPF program.
  const std::size_t known = perf::why_no_core_sampling() ? tally.below_signal : 0;
  CHECK(tally.right * 1000 >= (tally.checked - known) * 999);
}

}  // namespace causalctl::unwind
