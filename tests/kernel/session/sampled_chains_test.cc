// The call chains of a program that sorts for ever.
#include "controller/session/sampled_chains.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "controller/symbols/call_chain.h"
#include "tests/kernel/unwind/target_program.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::session {
namespace {

TEST_CASE("chains lead from the sampled code to the program's start", "[session]") {
  unwind::TargetProgram target(unwind::target_path("symbols_dwarf5"));
  target.send("sort");
  REQUIRE(target.receive() == "sorting");
  std::vector<std::vector<Address>> chains;
  ChainHooks hooks;
  hooks.take = [&chains](std::vector<Address> chain) { chains.push_back(std::move(chain)); };
  sample_chains(target.pid(), {20 * kSecond, kMillisecond, 10}, hooks);
  REQUIRE(chains.size() == 10);  // as many as were wanted, long before the time is over
  unwind::Symbolizer symbolizer(target.pid());
  const auto outermost = [&symbolizer](const std::vector<Address>& chain) {
    const auto frames = symbolizer.frames(symbols::code_at(chain, chain.size() - 1));
    return frames.empty() ? "" : frames.back().function;
  };
  CHECK(std::all_of(chains.begin(), chains.end(),
                    [&](const auto& chain) { return outermost(chain) == "_start"; }));
}

}  // namespace
}  // namespace causalctl::session
