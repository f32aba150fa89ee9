#include "controller/callpath/engine/table_gaps.h"

#include <catch2/catch.hpp>

namespace causalctl::callpath {

using unwind::ChainEnd;
using unwind::FrameHow;

namespace {

// The program is location 0, libspin.so 1, libother.so 2.
Recording recording_of(std::uint64_t chains) {
  Recording recording;
  recording.modules = {{"/bin/prog", ""}, {"/lib/libspin.so", ""}, {"/lib/libother.so", ""}};
  recording.locations.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) recording.locations[i].module = i;
  recording.chains.complete = chains;
  return recording;
}

unwind::Chain chain_found(const std::vector<FrameHow>& hows, ChainEnd end) {
  unwind::Chain chain;
  for (const FrameHow how : hows) chain.frames.push_back({0x1000, 0, how});
  chain.end = end;
  return chain;
}

constexpr auto kIp = FrameHow::instruction, kTable = FrameHow::table, kGuess = FrameHow::guess;

}  // namespace

TEST_CASE("a file whose code no unwind table describes is named with its share", "[callpath]") {
  TableGaps gaps;
  for (int i = 0; i < 30; ++i) {  // the caller of libspin.so's code is a guess
    gaps.take(chain_found({kIp, kTable, kGuess, kTable}, ChainEnd::outermost),
              std::vector<LocationId>{0, 0, 1, 2});
  }
  for (int i = 0; i < 10; ++i) {  // or missing
    gaps.take(chain_found({kIp, kTable}, ChainEnd::no_table), std::vector<LocationId>{1, 2});
  }
  gaps.take(chain_found({kIp}, ChainEnd::no_table), std::vector<LocationId>{2});
  gaps.take(chain_found({kIp, kTable}, ChainEnd::copy_short), std::vector<LocationId>{0, 2});
  gaps.take(chain_found({}, ChainEnd::no_table), {});
  const auto warnings = gaps.warnings(recording_of(200));
  REQUIRE(warnings.size() == 1);  // one chain in 200 is not worth a word
  CHECK(warnings[0].starts_with("/lib/libspin.so: no unwind table"));
  CHECK(warnings[0].find("which 20.0 % of the call chains meet") != std::string::npos);
  CHECK(TableGaps().warnings(recording_of(0)).empty());
}

}  // namespace causalctl::callpath
