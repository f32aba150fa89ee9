// Compares chains by rules with those of libunwind, which reads the same tables with other code, on
// samples of programs as they are installed.
#include <asm/perf_regs.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <variant>

#include "controller/base/clock.h"
#include "controller/perf/session.h"
#include "controller/symbols/call_chain.h"
#include "tests/kernel/unwind/target_program.h"
#include "unwind/modules/target_memory.h"
#include "unwind/stack/libunwind_steps.h"
#include "unwind/stack/sampled_stack.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kDepth = 512;
constexpr std::size_t kSamples = 200;

class Child {
 public:
  explicit Child(const std::string& command) : pid_(fork()) {
    if (pid_ != 0) return;
    execl("/bin/sh", "sh", "-c", ("exec " + command + " > /dev/null 2>&1").c_str(), nullptr);
    _exit(127);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Pid pid() const { return pid_; }

 private:
  Pid pid_;
};

struct Tally {
  std::size_t samples = 0;
  std::size_t complete = 0;  // by rules
  std::size_t both = 0;
  std::size_t equal = 0;  // of both
};

bool is_equal(const Chain& chain, const std::vector<LibunwindSteps::Step>& steps) {
  if (chain.frames.size() != steps.size()) return false;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const auto& step = steps[i - 1];
    if (chain.frames[i].ip != step.ip || chain.frames[i - 1].cfa != step.sp) return false;
  }
  return true;
}

Tally compare(Pid pid) {
  perf::SessionOptions options;
  options.wake_edges = false;
  options.peers = false;
  options.period_ns = kMillisecond;
  options.stack_bytes = 32768;
  perf::Session session(pid, options);
  Unwinder unwinder(pid);
  TargetImages images(pid);
  SampledStack stack(pid);
  LibunwindSteps libunwind(images, [&](Address address, std::span<std::byte> bytes) {
    return images.read_constant(address, bytes) || stack.read(address, bytes);
  });
  session.start();
  Tally tally;
  const Nanoseconds end_ns = monotonic_now() + 20 * kSecond;
  while (tally.samples < kSamples && monotonic_now() < end_ns) {
    sleep_until(monotonic_now() + 8 * kMillisecond);
    for (const perf::Event& event : session.drain(monotonic_now())) {
      if (std::holds_alternative<perf::MapEvent>(event)) {
        unwinder.refresh();
        images.load();
        libunwind.mappings_changed();
      }
      const auto* sample = std::get_if<perf::SampleEvent>(&event);
      if (sample == nullptr || sample->user.registers.empty()) continue;
      const Registers registers = symbols::registers_of(sample->user);
      stack.start(registers.values[PERF_REG_X86_SP], sample->user.stack);
      const auto steps = libunwind.follow(registers, kDepth);
      const Chain& chain = unwinder.unwind_chain(registers, sample->user.stack, kDepth);
      ++tally.samples;
      if (chain.complete()) ++tally.complete;
      const bool both = chain.complete() && !steps.empty() &&
                        steps.back().outcome == LibunwindSteps::Outcome::outermost;
      if (both) ++tally.both;
      if (both && is_equal(chain, steps)) ++tally.equal;
    }
  }
  return tally;
}

}  // namespace

TEST_CASE("Rules and libunwind find the same chains in real code", "[unwind]") {
  const std::string command = GENERATE(
      "/usr/bin/python3 -c 'while True: sorted(map(str, range(3000)))'",
      "/usr/bin/sqlite3 :memory: 'with recursive r(x) as (select 1 union all select x % 5000 + 1 "
      "from r limit 1000000000) select count(distinct x * 7 || x) from r'",
      "/usr/bin/perl -e 'while (1) { my %h; $h{$_ % 97} .= sprintf(\"%d\", $_) for 1..2000; }'");
  const std::string program = command.substr(0, command.find(' '));
  if (access(program.c_str(), X_OK) != 0) {
    WARN(program << " not tested: it is not installed");
    return;
  }
  INFO(program);
  const Child child(command);
  // Its first instructions are those of the dynamic loader.
  sleep_until(monotonic_now() + 100 * kMillisecond);
  const Tally tally = compare(child.pid());
  CHECK(tally.samples >= kSamples);
  CHECK(tally.equal == tally.both);
  CHECK(tally.complete * 1000 >= tally.samples * 995);
  CHECK(tally.both * 1000 >= tally.samples * 990);
}

}  // namespace causalctl::unwind
