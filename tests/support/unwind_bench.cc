// Samples a process for some seconds, unwinds each sample by rules and, afterwards, all of them
// anew by rules and by libunwind, and prints the figures as JSON (scripts/bench_unwinder).
//
// Usage: unwind_bench PID SECONDS STACK_BYTES
#include <asm/perf_regs.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/perf/session.h"
#include "controller/symbols/call_chain.h"
#include "unwind/stack/libunwind_steps.h"
#include "unwind/stack/sampled_stack.h"
#include "unwind/stack/target_images.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kDepth = 2048;
constexpr std::size_t kKept = 2000;  // samples that are unwound anew
constexpr Nanoseconds kDrainEvery = 8 * kMillisecond;

struct Kept {
  Registers registers;
  std::vector<std::byte> stack;
  bool complete = false;
};

struct Figures {
  std::size_t samples = 0;
  std::size_t frames = 0;
  std::size_t not_from_copy = 0;
  std::array<std::size_t, names_of(ChainEnd()).size()> ends{};
  std::array<std::size_t, names_of(FrameHow()).size()> found{};
  std::set<Address> outermost;  // where complete chains end
  Nanoseconds live_ns = 0;  // CPU time of unwinding while sampling, first meetings of code included
  std::vector<Kept> kept;

  void add(const Chain& chain) {
    ++samples;
    frames += chain.frames.size();
    not_from_copy += chain.from_copy ? 0 : 1;
    ++ends[static_cast<std::size_t>(chain.end)];
    if (chain.complete()) outermost.insert(chain.frames.back().ip);
    for (const UnwoundFrame& frame : chain.frames) ++found[static_cast<std::size_t>(frame.how)];
  }
};

Figures sample(Pid pid, Nanoseconds length_ns, unsigned stack_bytes, Unwinder& unwinder) {
  perf::SessionOptions options;
  options.wake_edges = false;
  options.peers = false;
  options.period_ns = kMillisecond;
  options.stack_bytes = stack_bytes;
  options.call_chain_depth = 127;
  perf::Session session(pid, options);
  session.start();
  Figures figures;
  const Nanoseconds end_ns = monotonic_now() + length_ns;
  while (monotonic_now() < end_ns && session.target_alive()) {
    sleep_until(monotonic_now() + kDrainEvery);
    for (const perf::Event& event : session.drain(monotonic_now())) {
      if (std::holds_alternative<perf::MapEvent>(event)) unwinder.refresh();
      const auto* sample = std::get_if<perf::SampleEvent>(&event);
      if (sample == nullptr || sample->user.registers.empty()) continue;
      const Nanoseconds begin_ns = process_cpu_now();
      const Chain& chain = symbols::unwound_chain(*sample, unwinder, kDepth);
      figures.live_ns += process_cpu_now() - begin_ns;
      figures.add(chain);
      // What was read from outside cannot be read again.
      if (chain.from_copy && figures.kept.size() < kKept) {
        figures.kept.push_back(
            {symbols::registers_of(sample->user), sample->user.stack, chain.complete()});
      }
    }
  }
  return figures;
}

double by_rules(Unwinder& unwinder, const std::vector<Kept>& kept) {
  std::size_t frames = 0;
  const Nanoseconds begin_ns = process_cpu_now();
  for (const Kept& each : kept) {
    frames += unwinder.unwind_chain(each.registers, each.stack, kDepth).frames.size();
  }
  return static_cast<double>(process_cpu_now() - begin_ns) / static_cast<double>(frames);
}

struct Reference {
  double ns_per_frame = 0;
  std::size_t both = 0;  // chains that are complete by both
  std::size_t equal = 0;
};

Reference by_libunwind(Pid pid, Unwinder& unwinder, const std::vector<Kept>& kept) {
  TargetImages images(pid);
  SampledStack stack(pid);
  LibunwindSteps libunwind(images, [&](Address address, std::span<std::byte> bytes) {
    return images.read_constant(address, bytes) || stack.read(address, bytes);
  });
  Reference reference;
  std::size_t frames = 0;
  Nanoseconds spent_ns = 0;
  for (int round = 0; round < 2; ++round) {  // the first one fills libunwind's cache
    frames = reference.both = reference.equal = 0;
    spent_ns = 0;
    for (const Kept& each : kept) {
      stack.start(each.registers.values[PERF_REG_X86_SP], each.stack);
      const Nanoseconds begin_ns = process_cpu_now();
      const auto steps = libunwind.follow(each.registers, kDepth);
      spent_ns += process_cpu_now() - begin_ns;
      frames += steps.size();
      const bool outermost =
          !steps.empty() && steps.back().outcome == LibunwindSteps::Outcome::outermost;
      if (!outermost || !each.complete) continue;
      const Chain& chain = unwinder.unwind_chain(each.registers, each.stack, kDepth);
      ++reference.both;
      bool equal = chain.frames.size() == steps.size();
      for (std::size_t i = 1; equal && i < steps.size(); ++i) {
        equal = chain.frames[i].ip == steps[i - 1].ip;
      }
      reference.equal += equal ? 1 : 0;
    }
  }
  reference.ns_per_frame = static_cast<double>(spent_ns) / static_cast<double>(frames);
  return reference;
}

void run(Pid pid, double seconds, unsigned stack_bytes) {
  Unwinder unwinder(pid);
  unwinder.mend_stacks();
  const auto length_ns = static_cast<Nanoseconds>(seconds * kSecond);
  const Figures figures = sample(pid, length_ns, stack_bytes, unwinder);
  if (figures.samples == 0) throw Error("no sample came with a stack");
  nlohmann::json json = {{"samples", figures.samples},
                         {"frames", figures.frames},
                         {"not_from_copy", figures.not_from_copy},
                         {"live_ns", figures.live_ns},
                         {"outermost", figures.outermost}};
  for (std::size_t i = 0; i < figures.ends.size(); ++i) {
    json["ends"][std::string(names_of(ChainEnd())[i])] = figures.ends[i];
  }
  for (std::size_t i = 0; i < figures.found.size(); ++i) {
    json["found"][std::string(names_of(FrameHow())[i])] = figures.found[i];
  }
  if (!figures.kept.empty()) {
    json["rules_ns_per_frame"] = by_rules(unwinder, figures.kept);
    const Reference reference = by_libunwind(pid, unwinder, figures.kept);
    json["libunwind_ns_per_frame"] = reference.ns_per_frame;
    json["both"] = reference.both;
    json["equal"] = reference.equal;
  }
  fmt::print("{}\n", json.dump());
}

}  // namespace
}  // namespace causalctl::unwind

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "Usage: unwind_bench PID SECONDS STACK_BYTES\n");
    return 2;
  }
  try {
    causalctl::unwind::run(std::atoi(argv[1]), std::atof(argv[2]),
                           static_cast<unsigned>(std::atoi(argv[3])));
  } catch (const std::exception& error) {
    fmt::print(stderr, "unwind_bench: {}\n", error.what());
    return 1;
  }
}
