// Calls that are certain to be new: the rules one by one, and programs that call at random, of
// which the true number of calls that the samples have seen is known.
#include "controller/callpath/engine/edges.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace causalctl {

using callpath::Edges;
using unwind::Chain;
using unwind::ChainEnd;
using unwind::FrameHow;

namespace {

constexpr Address kTop = 0x7000'0000;
constexpr std::size_t kAll = 1U << 20U;

// A frame of a chain, outermost first: where it is, and its canonical address below kTop.
struct At {
  Address ip;
  Address below_top;
};

Chain chain_of(const std::vector<At>& frames) {
  Chain chain;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const bool has_cfa = frame + 1 != frames.rend();  // nothing tells that of the outermost
    chain.frames.push_back({frame->ip, has_cfa ? kTop - frame->below_top : 0,
                            chain.frames.empty() ? FrameHow::instruction : FrameHow::table});
  }
  chain.end = ChainEnd::outermost;
  return chain;
}

// Returns which frames are new, outermost first, as "01".
std::string news(Edges& edges, const Chain& chain, std::size_t copied = kAll) {
  const Address sp = chain.frames.front().cfa - 32;
  std::string text;
  const std::vector<bool>& is_new = edges.take(chain, sp, copied);
  for (std::size_t i = is_new.size(); i-- > 0;) text += is_new[i] ? '1' : '0';
  return text;
}

std::string news(Edges& edges, const std::vector<At>& frames) {
  return news(edges, chain_of(frames));
}

}  // namespace

TEST_CASE("calls are new until they are seen", "[callpath]") {
  Edges edges;
  CHECK(news(edges, {{1, 0}, {20, 16}, {30, 64}}) == "111");
  // The last one may be the same, wherever it is.
  CHECK(news(edges, {{1, 0}, {20, 16}, {31, 64}}) == "000");
  CHECK(news(edges, {{1, 0}, {20, 16}, {31, 64}, {40, 128}}) == "0001");
}

TEST_CASE("a caller that has gone on may be the same, what it calls then is new", "[callpath]") {
  Edges edges;
  news(edges, {{1, 0}, {20, 16}, {30, 64}, {40, 128}});
  CHECK(news(edges, {{1, 0}, {21, 16}, {30, 64}, {40, 128}}) == "0011");
}

TEST_CASE("a call that was left is over", "[callpath]") {
  Edges edges;
  news(edges, {{1, 0}, {20, 16}, {30, 64}, {40, 128}});
  CHECK(news(edges, {{1, 0}, {25, 16}}) == "00");
  CHECK(news(edges, {{1, 0}, {20, 16}, {30, 64}, {40, 128}}) == "0011");
}

TEST_CASE("a frame elsewhere on the stack is new", "[callpath]") {
  Edges edges;
  news(edges, {{1, 0}, {20, 16}, {30, 64}, {40, 128}});
  CHECK(news(edges, {{1, 0}, {20, 16}, {30, 96}, {40, 160}}) == "0011");
}

TEST_CASE("only what is known for sure is new", "[callpath]") {
  const std::vector<At> frames = {{1, 0}, {20, 16}, {30, 64}, {40, 128}};
  Edges edges;
  Chain chain = chain_of(frames);
  SECTION("not the last frame of an incomplete chain") {
    chain.frames.pop_back();
    chain.end = ChainEnd::copy_short;
    CHECK(news(edges, chain) == "011");
    CHECK(news(edges, frames) == "1100");
  }
  SECTION("not what was read while the thread ran on") { CHECK(news(edges, chain, 100) == "0011"); }
  SECTION("not what was guessed") {
    chain.frames[2].how = FrameHow::guess;
    CHECK(news(edges, chain) == "0001");
  }
  SECTION("not on a stack that moves") {
    chain.moves = true;
    CHECK(news(edges, chain) == "0000");
  }
}

TEST_CASE("another program has calls of its own", "[callpath]") {
  Edges edges;
  news(edges, {{1, 0}, {20, 16}});
  edges.clear();
  CHECK(news(edges, {{1, 0}, {20, 16}}) == "11");
}

namespace {

using Random = std::mt19937_64;

int pick(Random& random, int most) { return std::uniform_int_distribution<int>(0, most)(random); }

// A program of threads and coroutines that call, return, jump, and take signals at random.
class RandomProgram {
 public:
  explicit RandomProgram(Random& random) : random_(random) {
    for (Address stack = 0; stack < kStacks; ++stack) {
      stacks_.emplace_back();
      begin(stack);
    }
  }

  void step();
  void sample();
  // The truth is within the bounds on all paths.
  void check() const;
  int certain() const { return certain_; }

 private:
  static constexpr Address kStacks = 4;
  static constexpr Address kStackBytes = 0x10000;
  static constexpr Address kFar = 0x4000'0000;  // from here to the alternate stacks

  struct Frame {
    int call = 0;     // number of the call
    Address ip = 0;   // where it is
    Address cfa = 0;  // 0: the outermost
    Address size = 0;
    bool interrupted = false;
    bool alternate = false;
  };
  struct Sums {
    std::set<int> calls;
    std::uint64_t min = 0, max = 0;
  };

  void begin(Address stack) {
    std::vector<Frame>& frames = stacks_[stack];
    const Address top = kTop + stack * kStackBytes;
    // A stack that is used again may begin a little elsewhere.
    frames = {{next_++, 1, 0, 0, false, false}};
    push(frames, top - Address(pick(random_, 1)) * 16);
  }
  void push(std::vector<Frame>& frames, Address cfa) {
    const Address size = Address(pick(random_, 2)) * 16 + 16;
    frames.push_back(
        {next_++, Address(pick(random_, 3)) + 100, cfa, size, false, frames.back().alternate});
  }
  void call(std::vector<Frame>& frames) {
    Frame& caller = frames.back();
    if (frames.size() > 1) caller.ip = Address(pick(random_, 2)) + 200;
    const Address cfa = caller.cfa - 8 - caller.size;
    push(frames, cfa);
  }
  void interrupt(std::vector<Frame>& frames);
  Chain chain_of(const std::vector<Frame>& frames) const;

  Random& random_;
  std::vector<std::vector<Frame>> stacks_;
  int next_ = 0;
  int certain_ = 0;
  Edges edges_;
  std::map<std::vector<Address>, Sums> sums_;  // by path
};

void RandomProgram::interrupt(std::vector<Frame>& frames) {
  if (frames.size() < 2 || frames.back().alternate) return;
  Frame& interrupted = frames.back();
  interrupted.interrupted = true;
  const Address sp = interrupted.cfa - 8 - interrupted.size;
  const bool alternate = pick(random_, 1) == 0;
  // What the handler returns to, whose canonical address is the interrupted stack pointer.
  frames.push_back({next_++, 900, sp, 128, true, false});
  const Address handler = alternate ? sp - sp % kStackBytes + kFar + kStackBytes / 2 : sp - 128;
  push(frames, handler);
  frames.back().alternate = alternate;
}

void RandomProgram::step() {
  const Address stack = Address(pick(random_, kStacks - 1));
  std::vector<Frame>& frames = stacks_[stack];
  switch (pick(random_, 20)) {
    case 0:
      if (pick(random_, 9) == 0) begin(stack);
      return;
    case 1:
      return interrupt(frames);
    case 2:  // a jump out of several calls
      while (frames.size() > 2 && pick(random_, 2) != 0) frames.pop_back();
      while (frames.back().interrupted) frames.pop_back();
      if (frames.size() < 2) begin(stack);
      return;
    case 3:  // a tail call
      frames.back().ip = Address(pick(random_, 3)) + 500;
      return;
    default:
      break;
  }
  if (frames.size() < 3 || (frames.size() < 12 && pick(random_, 1) == 0)) return call(frames);
  frames.pop_back();
  if (frames.back().interrupted && frames.back().ip == 900) {
    frames.pop_back();
    frames.back().interrupted = false;
  }
}

Chain RandomProgram::chain_of(const std::vector<Frame>& frames) const {
  Chain chain;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const FrameHow how = chain.frames.empty() ? FrameHow::instruction
                         : frame->interrupted ? FrameHow::signal
                                              : FrameHow::table;
    chain.frames.push_back({frame->ip, frame->cfa, how});
  }
  chain.end = ChainEnd::outermost;
  return chain;
}

void RandomProgram::sample() {
  const std::vector<Frame>& frames = stacks_[Address(pick(random_, kStacks - 1))];
  Chain chain = chain_of(frames);
  const Address sp = frames.back().cfa - 8 - frames.back().size;
  std::size_t copied = kAll * kAll;
  const int fault = pick(random_, 9);
  if (fault == 0 && chain.frames.size() > 2) {
    chain.frames.resize(chain.frames.size() - std::size_t(pick(random_, 1)) - 1);
    chain.end = ChainEnd::no_table;
    if (pick(random_, 1) == 0) chain.frames.back().cfa = 0;
  } else if (fault == 1) {
    copied = std::size_t(pick(random_, 200));
  } else if (fault == 2) {
    const auto guessed = std::size_t(pick(random_, int(chain.frames.size()) - 1));
    if (guessed > 0) {
      chain.frames[guessed].how = FrameHow::guess;
      for (std::size_t i = guessed - 1; i < chain.frames.size(); ++i) chain.frames[i].cfa += 16;
    }
  }
  const std::vector<bool>& is_new = edges_.take(chain, sp, copied);
  std::vector<Address> path;
  for (std::size_t i = chain.frames.size(); i-- > 0;) {
    path.push_back(chain.frames[i].ip);
    Sums& sums = sums_[path];
    sums.calls.insert(frames[frames.size() - 1 - i].call);
    ++sums.max;
    if (is_new[i]) ++sums.min;
    certain_ += is_new[i] ? 1 : 0;
  }
}

void RandomProgram::check() const {
  std::uint64_t min = 0;
  std::set<int> calls;
  for (const auto& [path, sums] : sums_) {
    REQUIRE(sums.min <= sums.calls.size());
    REQUIRE(sums.max >= sums.calls.size());
    min += sums.min;
    calls.insert(sums.calls.begin(), sums.calls.end());
  }
  REQUIRE(min <= calls.size());  // of all paths together, too
}

}  // namespace

TEST_CASE("bounds of calls contain the truth", "[callpath]") {
  int certain = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    RandomProgram program(random);
    const int steps = 1 + pick(random, 30);  // between samples
    for (int samples = 0; samples < 60; ++samples) {
      for (int step = pick(random, steps); step-- > 0;) program.step();
      program.sample();
      if (samples % 10 == 9) program.check();
    }
    certain += program.certain();
  }
  CHECK(certain > 100'000);  // the bounds are not without use
}

}  // namespace causalctl
