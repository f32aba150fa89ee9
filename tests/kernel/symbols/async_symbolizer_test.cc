// The thread that reads debug information: what it answers, and that it leaves the cores to others.
#include "controller/symbols/async_symbolizer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <stdexcept>

#include "controller/base/base_name.h"
#include "controller/base/clock.h"
#include "controller/base/procfs.h"

namespace causalctl::symbols {
namespace {

volatile int sink;

constexpr int kLineOfSymbolized = __LINE__ + 1;
__attribute__((noinline)) void symbolized_function() { sink = sink + 1; }

bool only_main(const unwind::Module& module) { return module.main; }

template <typename Condition>
void wait_until(Condition condition) {
  const Nanoseconds deadline_ns = monotonic_now() + 60 * kSecond;
  while (!condition() && monotonic_now() < deadline_ns) sleep_until(monotonic_now() + kMillisecond);
  REQUIRE(condition());
}

Location answer_for(LocationSource& source, Address address) {
  std::vector<Location> answers;
  source.ask(address);
  wait_until([&] {
    if (answers.empty()) answers = source.answers();
    return !answers.empty();
  });
  REQUIRE(answers.size() == 1);
  CHECK(answers.front().address == address);
  return answers.front();
}

int threads_behind_others() {
  const auto tids = procfs::threads(getpid());
  return static_cast<int>(std::count_if(tids.begin(), tids.end(), [](Tid tid) {
    return getpriority(PRIO_PROCESS, static_cast<id_t>(tid)) > getpriority(PRIO_PROCESS, 0);
  }));
}

// Once it has read what there is.
int threads_behind_while_symbolizing(Haste haste) {
  AsyncSymbolizer thread(std::make_unique<unwind::Symbolizer>(getpid()), only_main, haste);
  wait_until([&] { return thread.lines().has_value(); });
  return threads_behind_others();
}

}  // namespace

TEST_CASE("an answer has the frames, and where the function begins", "[symbols]") {
  symbolized_function();
  AsyncSymbolizer symbolizer(std::make_unique<unwind::Symbolizer>(getpid()), only_main);
  const auto entry = reinterpret_cast<Address>(&symbolized_function);
  const Location inside = answer_for(symbolizer, entry + 4);
  CHECK(base_name(inside.module) == "kernel_tests");
  REQUIRE(inside.frames.size() == 1);
  CHECK(inside.frames.front().line == kLineOfSymbolized);
  CHECK(inside.frames.front().entry == entry);
  REQUIRE(inside.entry);
  CHECK(inside.entry->function == inside.frames.front().function);
  CHECK(inside.has_lines);
}

TEST_CASE("an answer at once is the same, and waits for what was asked before", "[symbols]") {
  symbolized_function();
  std::atomic<bool> begun = false;  // they outlive the symbolizer's thread
  std::atomic<bool> go_on = false;
  AsyncSymbolizer symbolizer(std::make_unique<unwind::Symbolizer>(getpid()), only_main);
  const Address inside = reinterpret_cast<Address>(&symbolized_function) + 4;
  std::optional<Location> now;
  wait_until([&] { return (now = symbolizer.answer_now(inside)).has_value(); });
  CHECK(symbolizer.lines().has_value());  // which is read first
  const Location asked = answer_for(symbolizer, inside);
  REQUIRE(now->frames.size() == 1);
  CHECK(now->address == inside);
  CHECK(now->frames.front().line == kLineOfSymbolized);
  CHECK(now->frames.front().function == asked.frames.front().function);
  CHECK(now->has_lines);
  CHECK(symbolizer.answers().empty());

  symbolizer.ask_later([&](unwind::Symbolizer&) {
    begun = true;
    while (!go_on) sleep_until(monotonic_now() + kMillisecond);
  });
  wait_until([&] { return begun.load(); });
  const bool refused = !symbolizer.answer_now(inside).has_value();
  symbolizer.ask(inside);
  go_on = true;
  CHECK(refused);
}

TEST_CASE("of a module that is not wanted only the file is answered", "[symbols]") {
  AsyncSymbolizer symbolizer(std::make_unique<unwind::Symbolizer>(getpid()), only_main);
  const Location unwanted = answer_for(symbolizer, reinterpret_cast<Address>(&::getppid));
  CHECK(base_name(unwanted.module).starts_with("lib"));
  CHECK(unwanted.frames.empty());
  CHECK(answer_for(symbolizer, 16).module.empty());
}

TEST_CASE("a job that fails ends neither the thread nor what is asked after it", "[symbols]") {
  AsyncSymbolizer symbolizer(std::make_unique<unwind::Symbolizer>(getpid()), only_main);
  symbolizer.ask_later([](unwind::Symbolizer&) { throw std::runtime_error("a broken file"); });
  const auto entry = reinterpret_cast<Address>(&symbolized_function);
  CHECK(answer_for(symbolizer, entry + 4).frames.size() == 1);
}

TEST_CASE("debug information is read behind a target, but not where its run may be short",
          "[symbols]") {
  REQUIRE(threads_behind_others() == 0);
  CHECK(threads_behind_while_symbolizing(Haste::low_priority) == 1);
  CHECK(threads_behind_while_symbolizing(Haste::ordinary) == 0);
}

}  // namespace causalctl::symbols
