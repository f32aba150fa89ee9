#include "controller/session/sampled_chains.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "controller/perf/session.h"
#include "controller/session/watch.h"
#include "controller/symbols/call_chain.h"
#include "controller/symbols/mappings.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::session {
namespace {

constexpr Nanoseconds kDrainEvery = 20 * kMillisecond;

}  // namespace

void sample_chains(Pid target, const ChainSampling& sampling, const ChainHooks& hooks) {
  perf::SessionOptions options;
  options.wake_edges = false;
  options.peers = false;
  options.period_ns = sampling.period_ns;
  options.stack_bytes = symbols::kStackBytes;
  Watch watch(target);
  perf::Session& session = watch.open(options);
  unwind::Unwinder unwinder(target);
  symbols::Following following(unwinder);
  std::vector<symbols::MappingFollower*> followers = {&following};
  if (hooks.follower != nullptr) followers.push_back(hooks.follower);
  symbols::Mappings mappings(target, std::move(followers));
  session.start();
  mappings.read();
  const Nanoseconds end_ns = monotonic_now() + sampling.length_ns;
  std::size_t taken = 0;
  const auto enough = [&] { return sampling.most > 0 && taken >= sampling.most; };
  while (monotonic_now() < end_ns && !enough() && session.target_alive()) {
    hooks.waits();
    sleep_until(std::min(end_ns, monotonic_now() + kDrainEvery));
    for (const perf::Event& event : session.drain(monotonic_now())) {
      mappings.take(event);
      if (const auto* sample = std::get_if<perf::SampleEvent>(&event)) {
        if (enough()) break;
        ++taken;
        hooks.take(symbols::chain_of(*sample, unwinder));
      }
    }
    mappings.lost(session.losses().records_lost, monotonic_now());
  }
}

}  // namespace causalctl::session
