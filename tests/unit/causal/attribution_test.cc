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
  attribution.call("/src/util.c:10", "util.c:10");
  CHECK(file_of("util.c:10") == "/src/util.c");
  attribution.call("/not/yet/util.c:10", "util.c:10");
  CHECK_FALSE(attribution.find("util.c:10").has_value());
}

// What decides whether stacks are copied must not be decided by samples of which nothing is known,
// while debug information is being read.
TEST_CASE("a copied stack tells something once its place is known", "[causal]") {
  Attribution attribution(std::make_unique<TwoFiles>(), nullptr);
  perf::SampleEvent sample;
  sample.callers = {1};
  sample.user.mask = 1;
  sample.user.registers = {0};
  attribution.charge(sample);
  CHECK(attribution.caller_check().samples == 0);
  attribution.absorb();
  attribution.charge(sample);
  CHECK(attribution.caller_check().samples == 1);
  CHECK(attribution.caller_check().needed_caller == 0);
}

// Functions of one name: in two files of the executable, and in a library without lines.
class ThreeParsers final : public Resolver {
 public:
  void ask(Address address) override {
    Unit unit{"parse", false, "parse", "/src/json.c", 3, "server"};
    if (address == 2) unit.file = "/src/xml.c";
    if (address >= 3) unit = {"parse", false, "parse", "", 0, "libx.so"};
    answers_.emplace_back(address, unit);
  }
  void refresh() override {}
  std::vector<Answer> answers() override { return std::exchange(answers_, {}); }
  std::optional<LineInformation> lines() override { return LineInformation{}; }

 private:
  std::vector<Answer> answers_;
};

TEST_CASE("different functions of one name have samples of their own", "[causal]") {
  Attribution attribution(std::make_unique<ThreeParsers>(), nullptr);
  for (const Address address : {1, 2, 2, 3, 4, 3}) {
    perf::SampleEvent sample;
    sample.callers = {address};
    attribution.charge(sample);
    attribution.absorb();
  }
  REQUIRE(attribution.units() == 3);
  CHECK(attribution.counts() == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(attribution.unit(0).name == "parse");
  CHECK(attribution.unit(1).name == "xml.c:parse");
  CHECK(attribution.unit(2).name == "libx.so:parse");
  CHECK(attribution.find("json.c:parse") == 0);
  CHECK(attribution.find("xml.c:parse") == 1);
  CHECK(attribution.find("/src/xml.c:parse") == 1);
  CHECK(attribution.find("libx.so:parse") == 2);
  CHECK_FALSE(attribution.find("l.c:parse").has_value());
}

}  // namespace
}  // namespace causalctl::causal
