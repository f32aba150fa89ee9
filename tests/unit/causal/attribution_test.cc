#include "controller/causal/attribution.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace causalctl::causal {
namespace {

// Two files of one name; the path of one is the end of the other's.
class TwoFiles final : public Resolver {
 public:
  void ask(Address address) override {
    const std::string file = address == 1 ? "/src/util.c" : "util.c";
    answers_.emplace_back(address, Unit{"util.c:10", true, "f", file, 10});
  }
  void refresh() override {}
  std::vector<Answer> answers() override { return std::exchange(answers_, {}); }
  std::optional<LineInformation> lines() override { return LineInformation{}; }

 private:
  std::vector<Answer> answers_;
};

TEST_CASE("a unit is found by its whole path before any shorter name", "[causal]") {
  Attribution attribution(std::make_unique<TwoFiles>(), nullptr);
  for (const Address address : {1, 2}) {
    perf::SampleEvent sample;
    sample.callers = {address};
    attribution.charge(sample);
    attribution.absorb();
  }
  REQUIRE(attribution.units() == 2);
  const auto file_of = [&](const char* name) {
    return attribution.unit(attribution.find(name).value()).file;
  };
  CHECK(file_of("util.c:10") == "util.c");
  CHECK(file_of("src/util.c:10") == "/src/util.c");
  CHECK_FALSE(attribution.find("til.c:10").has_value());
}

}  // namespace
}  // namespace causalctl::causal
