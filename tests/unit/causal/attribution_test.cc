#include "controller/causal/engine/attribution.h"

#include <asm/perf_regs.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace causalctl::causal {
namespace {

// Answers each question at the next answers().
class Answering : public symbols::LocationSource {
 public:
  void ask(Address address) override { answers_.push_back(location_of(address)); }
  std::vector<symbols::Location> answers() override { return std::exchange(answers_, {}); }
  std::optional<symbols::LineInformation> lines() override { return symbols::LineInformation{}; }

 private:
  virtual symbols::Location location_of(Address address) const = 0;

  std::vector<symbols::Location> answers_;
};

// Two files of one name; the path of one is the end of the other's.
class TwoFiles final : public Answering {
  symbols::Location location_of(Address address) const override {
    const std::string file = address == 1 ? "/src/util.c" : "util.c";
    return {address, "", {{"f", file, 10}}, true};
  }
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

// Answers at once from the second call of answer_now() on: at first it is busy.
class AnsweringAtOnce final : public symbols::LocationSource {
 public:
  void ask(Address address) override { answers_.push_back(location_of(address)); }
  std::vector<symbols::Location> answers() override { return std::exchange(answers_, {}); }
  std::optional<symbols::Location> answer_now(Address address) override {
    if (std::exchange(busy_, false)) return std::nullopt;
    return location_of(address);
  }
  std::optional<symbols::LineInformation> lines() override { return symbols::LineInformation{}; }

 private:
  static symbols::Location location_of(Address address) {
    return {address, "", {{"f", "/src/a.c", static_cast<int>(address)}}, true};
  }

  bool busy_ = true;
  std::vector<symbols::Location> answers_;
};

TEST_CASE("the first sample at an address has its unit if that is looked up at once", "[causal]") {
  Attribution attribution(std::make_unique<AnsweringAtOnce>(), nullptr);
  attribution.look_up_at_once();
  const auto outcome_at = [&](Address address) {
    perf::SampleEvent sample;
    sample.callers = {address};
    return attribution.charge(sample).outcome;
  };
  CHECK(outcome_at(7) == Attribution::Outcome::pending);
  CHECK(outcome_at(7) == Attribution::Outcome::pending);  // it is asked only once
  CHECK(outcome_at(8) == Attribution::Outcome::unit);
  attribution.absorb();
  CHECK(outcome_at(7) == Attribution::Outcome::unit);
  CHECK(attribution.pending() == 0);
  CHECK(attribution.count(attribution.find("a.c:7").value()) == 3);
  CHECK(attribution.count(attribution.find("a.c:8").value()) == 1);
}

// Functions of one name: in two files of the executable, and in a library without lines.
class ThreeParsers final : public Answering {
  symbols::Location location_of(Address address) const override {
    const std::string file = address == 1 ? "/src/json.c" : "/src/xml.c";
    symbols::Location location{address, "/bin/server", {{"parse", file, 3}}};
    if (address >= 3) location = {address, "/lib/libx.so", {{"parse", "", 0}}};
    return location;
  }
};

// A line at 1, called by nobody; code of a library from 100 on, which a line at 50 may have called.
class ALibrary final : public Answering {
  symbols::Location location_of(Address address) const override {
    symbols::Location location{address, ""};
    if (address >= 100 && address < 1000) location.module = "/lib/libx.so";
    if (address < 100) {
      location.frames = {{"f", "/src/a.c", address == 1 ? 1 : 50}};
      location.has_lines = true;
    }
    return location;
  }
};

// The kernel's page for uprobes at 1, called by a line that is not its caller.
class UprobePage final : public Answering {
  symbols::Location location_of(Address address) const override {
    if (address == 1) return {address, "[uprobes]"};
    return {address, "/bin/server", {{"_start", "/src/a.c", 5}}, true};
  }
};

TEST_CASE("a sample in the page for uprobes goes to no unit", "[causal]") {
  Attribution attribution(std::make_unique<UprobePage>(), nullptr);
  perf::SampleEvent sample;
  sample.callers = {1, 50};
  for (int i = 0; i < 3; ++i) {
    attribution.charge(sample);
    attribution.absorb();
  }
  CHECK(attribution.units() == 0);
  CHECK(attribution.unknown() == 3);
  CHECK(attribution.elsewhere().at("[uprobes]") == 3);
}

// A library at 0x1000, then another one in its place; each knows its own function.
class Swapped final : public Answering {
 public:
  void mapped(const perf::MapEvent& event) override { path_ = event.path; }

 private:
  symbols::Location location_of(Address address) const override {
    return {address, path_, {{path_ == "/lib/a.so" ? "alpha" : "beta", "", 0}}};
  }
  std::string path_;
};

perf::MapEvent library(const std::string& path, std::uint64_t inode, Address start = 0x1000) {
  perf::MapEvent event;
  event.start = start;
  event.length = 0x1000;
  event.inode = inode;
  event.path = path;
  return event;
}

perf::SampleEvent at(Address address) {
  perf::SampleEvent sample;
  sample.callers = {address};
  return sample;
}

TEST_CASE("a sample is charged to what was mapped at its address then", "[causal]") {
  Attribution attribution(std::make_unique<Swapped>(), nullptr);
  attribution.pass(library("/lib/a.so", 1));
  attribution.charge(at(0x1100));
  // Its name is not known yet when another library takes the place.
  attribution.pass(library("/lib/b.so", 2));
  attribution.charge(at(0x1100));
  attribution.charge(at(0x1100));
  CHECK(attribution.pending() == 3);
  attribution.absorb();
  CHECK(attribution.pending() == 0);
  CHECK(attribution.count(attribution.find("alpha").value()) == 1);
  CHECK(attribution.count(attribution.find("beta").value()) == 2);
}

TEST_CASE("a library that comes back is known, wherever it is", "[causal]") {
  Attribution attribution(std::make_unique<Swapped>(), nullptr);
  attribution.pass(library("/lib/a.so", 1));
  attribution.charge(at(0x1100));
  attribution.absorb();
  attribution.pass(library("/lib/b.so", 2));
  attribution.pass(library("/lib/a.so", 1, 0x5000));
  attribution.charge(at(0x5100));
  CHECK(attribution.pending() == 0);
  CHECK(attribution.count(attribution.find("alpha").value()) == 2);
}

TEST_CASE("a new file that got the number of an old one is another file", "[causal]") {
  Attribution attribution(std::make_unique<Swapped>(), nullptr);
  auto event = library("/lib/a.so", 1);
  attribution.pass(event);
  attribution.charge(at(0x1100));
  attribution.absorb();
  event.generation = 7;
  attribution.pass(event);
  attribution.charge(at(0x1100));
  CHECK(attribution.pending() == 1);
}

TEST_CASE("code that is compiled over other code is looked up again", "[causal]") {
  Attribution attribution(std::make_unique<TwoFiles>(), nullptr);
  attribution.charge(at(1));
  attribution.absorb();
  attribution.charge(at(1));
  CHECK(attribution.pending() == 0);
  perf::MapEvent anonymous;
  anonymous.length = 0x1000;
  attribution.pass(anonymous);
  attribution.charge(at(1));
  CHECK(attribution.pending() == 1);
}

// A stack of which the unwinder finds no caller: the code is in no file of this process.
perf::SampleEvent without_caller(Address address) {
  perf::SampleEvent sample;
  sample.callers = {address};
  sample.user.mask = 1U << PERF_REG_X86_IP;
  sample.user.registers = {address};
  return sample;
}

// Otherwise only samples in the program itself decide, whose places are known first.
TEST_CASE("whether stacks are copied waits for the callers of all samples", "[causal]") {
  Attribution attribution(std::make_unique<ALibrary>(),
                          std::make_unique<unwind::Unwinder>(getpid()));
  const auto& check = attribution.caller_check();
  attribution.charge(without_caller(1));
  attribution.absorb();
  perf::SampleEvent in_library = without_caller(100);
  in_library.callers.push_back(2);
  attribution.charge(in_library);  // its places are not known
  for (std::uint64_t i = 2; i < Attribution::kCompared; ++i) {
    CHECK(check.samples == i);
    attribution.charge(without_caller(1));
  }
  CHECK(check.samples == Attribution::kCompared);
  CHECK(check.needed_caller == 0);
  CHECK(check.open == 1);
  CHECK_FALSE(check.decided());
  attribution.absorb();
  CHECK(check.decided());
  CHECK(check.needed_caller == 1);
  CHECK(check.disagreed == 1);
  attribution.charge(in_library);
  CHECK(check.samples == Attribution::kCompared);
}

// Code in scope, of which no function is known.
class Nameless final : public Answering {
  symbols::Location location_of(Address address) const override {
    return {address, "/bin/server", {unwind::Frame{}}};
  }
};

TEST_CASE("samples in code without a function are counted by binary", "[causal]") {
  Attribution attribution(std::make_unique<Nameless>(), nullptr);
  perf::SampleEvent sample;
  sample.callers = {1};
  for (int i = 0; i < 3; ++i) {
    attribution.charge(sample);
    attribution.absorb();
  }
  CHECK(attribution.units() == 0);
  const std::map<std::string, std::uint64_t> expected = {{"server", 3}};
  CHECK(attribution.nameless_in() == expected);
}

TEST_CASE("a sample whose caller no table tells is counted as that alone", "[causal]") {
  Attribution attribution(std::make_unique<ALibrary>(),
                          std::make_unique<unwind::Unwinder>(getpid()));
  attribution.charge(without_caller(100));
  attribution.absorb();
  for (int i = 0; i < 4; ++i) attribution.charge(without_caller(100));
  perf::SampleEvent whole;  // its chain ends where the thread began
  whole.callers = {100};
  attribution.charge(whole);
  REQUIRE(attribution.pending() == 0);
  CHECK(attribution.stacks_cut_off() == 5);
  const std::map<std::string, std::uint64_t> expected = {{"libx.so", 5}};
  CHECK(attribution.cut_off_in() == expected);
  const auto places = attribution.out_of_scope();
  REQUIRE(places.size() == 1);
  CHECK(places[0].unclaimed == 6);
  CHECK(places[0].cut_off == 5);
}

TEST_CASE("a sample in nameless code is not told of again for its caller", "[causal]") {
  Attribution attribution(std::make_unique<Nameless>(),
                          std::make_unique<unwind::Unwinder>(getpid()));
  for (int i = 0; i < 3; ++i) {
    attribution.charge(without_caller(100));
    attribution.absorb();
  }
  const std::map<std::string, std::uint64_t> expected = {{"server", 3}};
  CHECK(attribution.nameless_in() == expected);
  CHECK(attribution.cut_off_in().empty());
}

// The second and the third library frames are the calls of a program that was launched once; in the
// last chain its place in the library was another one.
TEST_CASE("the calls below a caller tell whether one of them never returns", "[causal]") {
  Attribution attribution(std::make_unique<ALibrary>(), nullptr);
  const std::vector<std::vector<Address>> launched = {
      {100, 200, 300, 51}, {101, 200, 300, 51}, {102, 201, 300, 51}, {103, 200, 300, 51}};
  const std::vector<std::vector<Address>> direct = {{100, 2}, {101, 300, 2}};
  for (int round = 0; round < 5; ++round) {  // the answers are there in the last rounds
    for (const auto& chains : {launched, direct}) {
      for (const auto& chain : chains) {
        perf::SampleEvent sample;
        sample.callers = chain;
        attribution.charge(sample);
        attribution.absorb();
      }
    }
  }
  REQUIRE(attribution.pending() == 0);
  const std::vector<UnitSamples> samples = attribution.samples();
  const auto of = [&](const char* name) { return samples.at(attribution.find(name).value()); };
  CHECK(of("a.c:50").inherited == 20);
  CHECK(of("a.c:50").by_one_call == 15);
  CHECK(of("a.c:1").inherited == 10);
  CHECK(of("a.c:1").by_one_call == 0);
  CHECK(of("a.c:1").in_own_code == 0);
}

TEST_CASE("samples in a unit's own user code are told from those in the kernel", "[causal]") {
  Attribution attribution(std::make_unique<ALibrary>(), nullptr);
  for (int round = 0; round < 6; ++round) {  // the answers are there in the last rounds
    perf::SampleEvent sample;
    sample.callers = round < 2 ? std::vector<Address>{100, 2} : std::vector<Address>{1};
    sample.in_kernel = round == 5;
    attribution.charge(sample);
    attribution.absorb();
  }
  for (int i = 0; i < 3; ++i) attribution.absorb();
  REQUIRE(attribution.pending() == 0);
  const UnitSamples samples = attribution.samples().at(attribution.find("a.c:1").value());
  CHECK(samples.count == 6);
  CHECK(samples.inherited == 2);
  CHECK(samples.in_own_code == 3);
}

TEST_CASE("samples out of scope are counted by binary, whoever is charged", "[causal]") {
  Attribution attribution(std::make_unique<ALibrary>(), nullptr);
  const std::vector<std::vector<Address>> chains = {{1}, {100, 51}, {100}, {1000}};
  for (int round = 0; round < 4; ++round) {  // the answers are there in the last rounds
    for (const auto& chain : chains) {
      perf::SampleEvent sample;
      sample.callers = chain;
      attribution.charge(sample);
      attribution.absorb();
    }
  }
  REQUIRE(attribution.pending() == 0);
  REQUIRE(attribution.units() == 2);
  CHECK(attribution.inherited(attribution.find("a.c:1").value()) == 0);
  CHECK(attribution.inherited(attribution.find("a.c:50").value()) == 4);
  const std::map<std::string, std::uint64_t> expected = {{"", 4}, {"libx.so", 8}};
  CHECK(attribution.elsewhere() == expected);
}

TEST_CASE("code that is watched is found anywhere on a chain", "[causal]") {
  Attribution attribution(std::make_unique<ALibrary>(), nullptr);
  attribution.watch({{{1, 2}}, {{50, 60}}, {}});
  for (const auto& chain : std::vector<std::vector<Address>>{{1}, {100, 60}, {100, 50}, {2}}) {
    perf::SampleEvent sample;
    sample.callers = chain;
    attribution.charge(sample);
  }
  CHECK(attribution.seen_in(0) == 1);
  CHECK(attribution.seen_in(1) == 1);  // by the call before 60; 50 returns to another function
  CHECK(attribution.seen_in(2) == 0);
}

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
