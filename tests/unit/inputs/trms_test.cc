// The core against the naive sets on random traces, and the paper's examples.
#include "controller/inputs/core/trms.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "tests/unit/inputs/trms_oracle.h"

namespace causalctl::inputs {
namespace {

struct HeapMemory {
  static void* allocate(std::size_t bytes) { return std::calloc(1, bytes); }
  static void release(void* pointer, std::size_t) { std::free(pointer); }
};

using Tracker = core::Tracker<HeapMemory>;
using TrackedThread = core::Thread<HeapMemory>;

struct TraceShape {
  std::uint64_t seed = 0;
  std::size_t events = 0;
  unsigned cell_bits = 2;
  core::Stamp last_stamp = core::kLastStamp;
  bool early_writes = false;
  bool own_routines = true;  // each activation is a routine of its own
  std::size_t most_depth = 12;
};

// What a row must have, by thread, routine, rms and trms.
using RowKey = std::array<std::uint64_t, 4>;
struct ExpectedRow {
  std::uint64_t calls = 0, external = 0, thread = 0, outermost = 0;
  std::uint64_t min = ~std::uint64_t{0}, max = 0, sum = 0, own = 0;
  double squares = 0;
  bool operator==(const ExpectedRow&) const = default;
};

// The same events go to both. The memory is two pieces, each across the border of two chunks.
class Trace {
 public:
  explicit Trace(const TraceShape& shape)
      : shape_(shape),
        random_(shape.seed),
        tracker_({shape.cell_bits, shape.early_writes, shape.last_stamp}),
        oracle_(2 * kPiece >> shape.cell_bits, shape.early_writes) {
    for (int i = 0; i < 3; ++i) begin_thread();
    tracker_.switch_to(*current().tracked);
  }

  void run() {
    for (std::size_t i = 0; i < shape_.events; ++i) step();
    while (!live_.empty()) end_thread(0);
  }

  std::uint64_t renumberings() const { return tracker_.renumberings(); }
  std::uint64_t lost() const { return tracker_.lost(); }

  std::map<RowKey, ExpectedRow> expected() const {
    std::map<RowKey, ExpectedRow> rows;
    for (const auto& [thread, list] : oracle_.finished()) {
      for (const oracle::Activation& each : list) {
        ExpectedRow& row = rows[{thread, each.routine, each.rms, each.trms}];
        ++row.calls;
        row.external += each.external;
        row.thread += each.thread;
        row.outermost += each.outermost ? each.cost : 0;
        row.min = std::min(row.min, each.cost);
        row.max = std::max(row.max, each.cost);
        row.sum += each.cost;
        row.own += each.own;
        row.squares += static_cast<double>(each.cost) * static_cast<double>(each.cost);
      }
    }
    return rows;
  }

  std::map<RowKey, ExpectedRow> got() const {
    std::map<RowKey, ExpectedRow> rows;
    for (std::size_t t = 0; t < tracker_.threads().size(); ++t) {
      const TrackedThread& thread = *tracker_.threads()[t];
      for (std::size_t i = 0; i < thread.rows.all().size(); ++i) {
        const core::Row& row = thread.rows.all()[i];
        const core::RowCost& cost = row.cost[0];
        rows[{thread.number, row.routine, row.rms, row.trms}] = {
            row.calls, row.external, row.thread,     row.outermost[0],   cost.min,
            cost.max,  cost.sum,     row.own[0].sum, cost.sum_of_squares};
      }
    }
    return rows;
  }

 private:
  static constexpr std::uint64_t kPiece = 256;  // bytes
  static constexpr std::uint64_t kPlaces[] = {0x7ffe'ffff'ff80, 0x40'ff80};

  struct Live {
    std::uint32_t number;
    TrackedThread* tracked;
  };

  Live& current() { return live_[current_]; }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void begin_thread() {
    const std::uint32_t number = ++threads_;
    oracle_.begin_thread(number);
    live_.push_back({number, tracker_.begin_thread(number)});
    REQUIRE(live_.back().tracked != nullptr);
  }

  void end_thread(std::size_t at) {
    oracle_.end_thread(live_[at].number);
    tracker_.end_thread(*live_[at].tracked);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
    current_ = 0;
    if (!live_.empty()) tracker_.switch_to(*current().tracked);
  }

  void step() {
    const std::uint64_t kind = below(100);
    if (kind < 12) return call();
    if (kind < 23) return give_back();
    if (kind < 26) return switch_thread();
    if (kind < 27 && below(20) == 0) return begin_or_end();
    const std::uint64_t cost = below(9);
    tracker_.cost[0] += cost;
    oracle_.spend(current().number, cost);
    access(kind);
  }

  void call() {
    if (tracker_.depth() >= shape_.most_depth) return;
    const auto routine = shape_.own_routines ? ++routines_ : static_cast<std::uint32_t>(below(5));
    // An address of its own for each depth, as the return addresses of a stack that grows down.
    tracker_.call(routine, 1'000'000 - 8 * tracker_.depth());
    oracle_.call(current().number, routine);
  }

  // Sometimes several activations end at once, as with longjmp.
  void give_back() {
    const std::size_t depth = tracker_.depth();
    if (depth == 0) return;
    const std::size_t left = below(10) == 0 ? below(depth) : depth - 1;
    tracker_.return_to(1'000'000 - 8 * left + 8);
    REQUIRE(tracker_.depth() == left);
    while (oracle_.depth(current().number) > left) oracle_.give_back(current().number);
  }

  void switch_thread() {
    current_ = below(live_.size());
    tracker_.switch_to(*current().tracked);
  }

  void begin_or_end() {
    if (live_.size() < 4) return begin_thread();
    end_thread(below(live_.size()));
  }

  void access(std::uint64_t kind) {
    const std::size_t piece = below(2);
    const std::uint64_t size = 1 + below(kind % 8 == 0 ? 60 : 9);
    const std::uint64_t offset = below(kPiece - size);
    const std::uint64_t address = kPlaces[piece] + offset;
    const std::size_t base = piece * (kPiece >> shape_.cell_bits);
    const std::size_t first = base + (offset >> shape_.cell_bits);
    const std::size_t last = base + ((offset + size - 1) >> shape_.cell_bits);
    const std::uint32_t thread = current().number;
    if (kind < 66) {
      if (!access_quickly(address, size, false)) tracker_.read(address, size);
      for (std::size_t cell = first; cell <= last; ++cell) oracle_.read(thread, cell);
    } else if (kind < 92) {
      if (!access_quickly(address, size, true)) tracker_.write(address, size);
      for (std::size_t cell = first; cell <= last; ++cell) oracle_.write(thread, cell);
    } else {
      tracker_.kernel_write(address, size);
      for (std::size_t cell = first; cell <= last; ++cell) oracle_.kernel_write(cell);
    }
  }

  bool access_quickly(std::uint64_t address, std::uint64_t size, bool is_write) {
    return shape_.cell_bits == 2 && below(4) > 0 &&
           tracker_.access_quickly<2>(address, size, is_write);
  }

  TraceShape shape_;
  std::mt19937_64 random_;
  Tracker tracker_;
  oracle::Oracle oracle_;
  std::vector<Live> live_;
  std::size_t current_ = 0;
  std::uint32_t threads_ = 0;
  std::uint32_t routines_ = 0;
};

void check_trace(const TraceShape& shape) {
  CAPTURE(shape.seed, shape.cell_bits, shape.last_stamp, shape.early_writes, shape.own_routines);
  Trace trace(shape);
  trace.run();
  CHECK(trace.lost() == 0);
  CHECK((trace.renumberings() > 0) == (shape.last_stamp != core::kLastStamp));
  CHECK(trace.expected().size() > shape.events / 1000);
  CHECK((trace.expected() == trace.got()));
}

void check_traces(std::size_t traces, std::size_t events, core::Stamp last_stamp) {
  for (std::uint64_t seed = 0; seed < traces; ++seed) {
    check_trace(
        {seed, events, static_cast<unsigned>(seed % 5), last_stamp, seed % 2 == 1, seed % 3 != 0});
  }
}

TEST_CASE("input sizes are those of the naive sets") { check_traces(10, 10'000, core::kLastStamp); }

TEST_CASE("input sizes stay the same when stamps are numbered anew") {
  check_traces(10, 10'000, 200);
}

TEST_CASE("input sizes are those of the naive sets, 10^7 events", "[.million]") {
  check_traces(50, 100'000, core::kLastStamp);
  check_traces(50, 100'000, 200);
}

// Two threads of the paper's examples; the first one is the current one.
struct TwoThreads {
  Tracker tracker{{}};
  TrackedThread* first = tracker.begin_thread(1);
  TrackedThread* second = tracker.begin_thread(2);
  TwoThreads() { tracker.switch_to(*first); }

  void write_by_second(std::uint64_t address) {
    tracker.switch_to(*second);
    tracker.write(address, 4);
    tracker.switch_to(*first);
  }
  // The row of the routine, which has one, of the first thread.
  core::Row row(std::uint32_t routine) {
    tracker.end_thread(*first);
    for (std::size_t i = 0; i < first->rows.all().size(); ++i) {
      if (first->rows.all()[i].routine == routine) return first->rows.all()[i];
    }
    FAIL("no row");
    return {};
  }
};

constexpr std::uint64_t kX = 0x1000;
constexpr std::uint32_t kF = 1, kH = 2;

TEST_CASE("Figure 1a: a cell that another thread writes between two reads is input twice") {
  TwoThreads threads;
  threads.tracker.call(kF, 800);
  threads.tracker.read(kX, 4);
  threads.write_by_second(kX);
  threads.tracker.read(kX, 4);
  const core::Row row = threads.row(kF);
  CHECK(row.rms == 1);
  CHECK(row.trms == 2);
  CHECK(row.thread == 1);
}

TEST_CASE("Figure 1b: what a callee has read again is not input once more") {
  TwoThreads threads;
  threads.tracker.call(kF, 800);
  threads.tracker.read(kX, 4);
  threads.write_by_second(kX);
  threads.tracker.call(kH, 700);
  threads.tracker.read(kX, 4);
  threads.tracker.return_to(701);
  threads.tracker.read(kX, 4);
  const core::Row of_f = threads.row(kF);
  const core::Row of_h = threads.row(kH);
  CHECK(of_f.rms == 1);
  CHECK(of_f.trms == 2);
  CHECK(of_h.rms == 1);
  CHECK(of_h.trms == 1);
  CHECK(of_h.thread == 1);
}

TEST_CASE("Figure 3: of what the kernel writes only what is read is input") {
  TwoThreads threads;
  threads.tracker.call(kF, 800);
  for (int i = 0; i < 7; ++i) {
    threads.tracker.kernel_write(kX, 8);
    threads.tracker.read(kX, 4);
  }
  const core::Row row = threads.row(kF);
  CHECK(row.rms == 1);
  CHECK(row.trms == 7);
  CHECK(row.external == 7);
}

TEST_CASE("what was written before a thread began is its thread input only by option") {
  for (const bool early : {false, true}) {
    Tracker tracker({2, early, core::kLastStamp});
    tracker.switch_to(*tracker.begin_thread(1));
    tracker.write(kX, 4);
    TrackedThread* worker = tracker.begin_thread(2);
    tracker.switch_to(*worker);
    tracker.call(kF, 800);
    tracker.read(kX, 4);
    tracker.end_thread(*worker);
    REQUIRE(worker->rows.all().size() == 1);
    CHECK(worker->rows.all()[0].trms == 1);
    CHECK(worker->rows.all()[0].thread == (early ? 1 : 0));
  }
}

// Memory of which there is none after some allocations.
struct ScarceMemory {
  static inline int left = 0;
  static void* allocate(std::size_t bytes) { return left-- > 0 ? std::calloc(1, bytes) : nullptr; }
  static void release(void* pointer, std::size_t) { std::free(pointer); }
};

TEST_CASE("where memory runs out, events are lost and counted") {
  constexpr std::uint32_t kCalls = 100;
  bool was_scarce = false;
  bool was_enough = false;
  for (int allocations = 0; allocations < 200; ++allocations) {
    ScarceMemory::left = allocations;
    core::Tracker<ScarceMemory> tracker({});
    core::Thread<ScarceMemory>* thread = tracker.begin_thread(1);
    if (thread == nullptr) continue;
    tracker.switch_to(*thread);
    for (std::uint32_t i = 0; i < kCalls; ++i) {
      tracker.call(i, 10'000 - 8 * i);
      tracker.write(std::uint64_t{i} << 20U, 8);
      tracker.read((std::uint64_t{i} << 20U) + 8, 8);
    }
    tracker.end_thread(*thread);
    std::uint64_t cells = 0;
    for (std::size_t i = 0; i < thread->rows.all().size(); ++i) cells += thread->rows.all()[i].trms;
    // Each call has read two cells, and each is within all calls before it.
    const bool complete = cells == kCalls * (kCalls + 1);
    CHECK(complete == (tracker.lost() == 0));
    (complete ? was_enough : was_scarce) = true;
  }
  CHECK(was_scarce);
  CHECK(was_enough);
}

}  // namespace
}  // namespace causalctl::inputs
