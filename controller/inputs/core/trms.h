// Computes the read memory size (rms) and the threaded read memory size (trms) of every routine
// activation, in one run, by the read/write timestamping algorithm (input-sensitive profiling,
// §4.2, Fig. 11; kernel events: §4.3, Fig. 12; overflow of the counter: §4.4, Fig. 13).
//
// For each cell there is the stamp of its last write by anyone (wts), and for each thread the stamp
// of its own last access (ts_t). Fig. 11 tells by ts_t alone whether a read is a first access,
// which gives the rms, and by both whether it is an induced first-access, which gives the trms. A
// read that is both counts as induced (Example 2). The highest bit of wts tells that the kernel
// wrote.
//
// The stamps are 32 bits wide. Where they run out, they are numbered anew (renumber.h).
//
// Invariants: a thread's stack has the thread itself at its bottom, with the stamp of its start, so
// that no stamp in ts_t but 0 is below the bottom's. Each chunk of ts_t has one of wts. The stamps
// of all pending activations, and the counter, differ from each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "controller/inputs/core/activations.h"
#include "controller/inputs/core/memory.h"
#include "controller/inputs/core/renumber.h"
#include "controller/inputs/core/rows.h"
#include "controller/inputs/core/shadow.h"

namespace causalctl::inputs::core {

struct Options {
  unsigned cell_bits = 2;  // the binary logarithm of a cell's size in bytes
  // What another thread wrote before the thread's start is thread input (as in aprof). Otherwise it
  // is input that is neither thread nor external.
  bool early_writes_are_thread_input = false;
  Stamp last_stamp = kLastStamp;  // lower in tests
};

template <class Memory>
struct Thread {
  explicit Thread(unsigned cell_bits) : accesses(cell_bits) {}

  std::uint32_t number = 0;
  bool live = true;
  Shadow<Memory> accesses;           // ts_t
  List<Memory, Activation> stack;    // the first one is the thread itself
  List<Memory, std::uint32_t> open;  // by routine: how many activations are pending
  std::uint64_t cost[kUnits] = {};   // while it is not the current one
  Rows<Memory> rows;
};

template <class Memory>
class Tracker {
 public:
  using OneThread = Thread<Memory>;

  explicit Tracker(const Options& options) : options_(options), writes_(options.cell_bits) {
    forget_near();
  }
  ~Tracker() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      threads_[i]->~OneThread();
      Memory::release(threads_[i], sizeof(OneThread));
    }
  }
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Returns a thread that starts now, or nullptr where there is no memory.
  OneThread* begin_thread(std::uint32_t number) {
    void* place = Memory::allocate(sizeof(OneThread));
    if (place == nullptr) return nullptr;
    auto* thread = new (place) OneThread(options_.cell_bits);
    thread->number = number;
    next_stamp();
    Activation itself;
    itself.stamp = count_;
    if (thread->stack.push(itself) && threads_.push(thread)) return thread;
    thread->~OneThread();
    Memory::release(place, sizeof(OneThread));
    return nullptr;
  }

  // Its pending activations end, and what it has accessed is forgotten.
  void end_thread(OneThread& thread) {
    OneThread* const before = current_;
    switch_to(thread);
    while (thread.stack.size() > 1) pop();
    thread.live = false;
    thread.accesses.clear();
    forget_near();
    if (before != nullptr && before != &thread) switch_to(*before);
  }

  // REQUIRES, for this and what is below: the current thread is live.
  void switch_to(OneThread& thread) {
    if (current_ == &thread) return;
    next_stamp();
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      if (current_ != nullptr) current_->cost[unit] = cost[unit];
      cost[unit] = thread.cost[unit];
    }
    current_ = &thread;
    set_top();
    forget_near();
  }

  // `routine`: small numbers, because there are lists by them.
  void call(std::uint32_t routine, std::uint64_t stack_pointer) {
    next_stamp();
    OneThread& thread = *current_;
    if (routine >= thread.open.size() && !thread.open.grow(routine + std::size_t{1})) {
      return lose(1);
    }
    if (!thread.stack.grow(thread.stack.size() + 1)) return lose(1);
    Activation& fresh = thread.stack.back();
    fresh.stack_pointer = stack_pointer;
    fresh.routine = routine;
    fresh.stamp = count_;
    fresh.outermost = thread.open[routine]++ == 0;
    fresh.sizes = {};
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      fresh.before[unit] = cost[unit];
      fresh.children[unit] = 0;
    }
    set_top();
  }

  // The activations end whose return addresses are below the stack pointer: one after a return, and
  // several after longjmp, an exception, or a chain of tail calls. Those up to `floor` stay.
  void return_to(std::uint64_t stack_pointer, std::size_t floor = 0) {
    while (depth() > floor && top().stack_pointer < stack_pointer) pop();
  }

  // How many activations are pending, and the latest of them. REQUIRES, of top(): depth() > 0.
  std::size_t depth() const { return current_->stack.size() - 1; }
  Activation& top() { return current_->stack.back(); }
  void pop_to(std::size_t depth_left) {
    while (depth() > depth_left) pop();
  }

  // REQUIRES: 0 < size. `kernelRead` of Fig. 12 is a read by the thread.
  void read(std::uint64_t address, std::uint64_t size) {
    const Near& near = near_[(address >> kChunkBits) % kNears];
    const std::uint64_t offset = address % kChunkBytes;
    if (near.chunk != address >> kChunkBits || offset + size > kChunkBytes) {
      return in_pieces(address, size, [&](const Near& piece, std::size_t first, std::size_t last) {
        read_cells(piece, first, last);
      });
    }
    read_cells(near, offset >> options_.cell_bits, (offset + size - 1) >> options_.cell_bits);
  }

  void write(std::uint64_t address, std::uint64_t size) {
    const Near& near = near_[(address >> kChunkBits) % kNears];
    const std::uint64_t offset = address % kChunkBytes;
    if (near.chunk != address >> kChunkBits || offset + size > kChunkBytes) {
      return in_pieces(address, size, [&](const Near& piece, std::size_t first, std::size_t last) {
        write_cells(piece, first, last);
      });
    }
    write_cells(near, offset >> options_.cell_bits, (offset + size - 1) >> options_.cell_bits);
  }

  // Does the same as read() or write(), but only what is frequent and quick, without a call: then
  // it returns true. Otherwise it has done nothing that read() or write() would not do again.
  // REQUIRES: kCellBits is that of the options.
  template <unsigned kCellBits>
  bool access_quickly(std::uint64_t address, std::uint64_t size, bool is_write) {
    const Near& near = near_[(address >> kChunkBits) % kNears];
    const std::uint64_t offset = address % kChunkBytes;
    if (near.chunk != address >> kChunkBits || offset + size > kChunkBytes) return false;
    Stamp* cell = near.accesses + (offset >> kCellBits);
    Stamp* const last = near.accesses + ((offset + size - 1) >> kCellBits);
    const Stamp* written = near.writes + (offset >> kCellBits);
    const Stamp now = count_;
    if (is_write) {
      for (auto* write = near.writes + (offset >> kCellBits); cell <= last; ++cell, ++write) {
        *cell = now;
        *write = now;
      }
      return true;
    }
    for (; cell <= last; ++cell, ++written) {
      const Stamp before = *cell;
      if (before == now) continue;
      if (before < (*written & kLastStamp)) return false;
      if (before < top_stamp_ && !read_first_quickly(before)) return false;
      *cell = now;
    }
    return true;
  }

  void kernel_write(std::uint64_t address, std::uint64_t size) {
    next_stamp();
    in_pieces(address, size, [&](const Near& piece, std::size_t first, std::size_t last) {
      for (std::size_t cell = first; cell <= last; ++cell) {
        piece.writes[cell] = count_ | kByKernel;
      }
    });
  }

  // What the current thread has cost so far, by unit. Others add to it.
  std::uint64_t cost[kUnits] = {};

  OneThread* current() const { return current_; }
  const List<Memory, OneThread*>& threads() const { return threads_; }
  std::uint64_t lost() const { return lost_; }  // events
  std::uint64_t renumberings() const { return renumberings_; }

 private:
  // The chunks that were last used, by their number. They are those of the current thread.
  struct alignas(32) Near {
    std::uint64_t chunk;
    Stamp* accesses;
    Stamp* writes;
  };
  static constexpr std::size_t kNears = 256;
  static constexpr std::uint64_t kNoChunk = ~std::uint64_t{0};

  void forget_near() {
    for (Near& near : near_) near.chunk = kNoChunk;
  }

  void lose(std::uint64_t events) { lost_ += events; }

  void next_stamp() {
    if (count_ >= options_.last_stamp) {
      if (!renumber(threads_, writes_, count_)) return lose(1);
      ++renumberings_;
      if (current_ != nullptr) set_top();
    }
    ++count_;
  }

  // Calls `use(chunks, first cell, last cell)` for each part of the memory that is in one chunk.
  template <class Use>
  void in_pieces(std::uint64_t address, std::uint64_t size, const Use& use) {
    while (size > 0) {
      const std::uint64_t offset = address % kChunkBytes;
      const std::uint64_t here = size < kChunkBytes - offset ? size : kChunkBytes - offset;
      Near& near = near_[(address >> kChunkBits) % kNears];
      if (near.chunk == address >> kChunkBits || find(address, near)) {
        use(near, offset >> options_.cell_bits, (offset + here - 1) >> options_.cell_bits);
      } else {
        lose(1);
      }
      address += here;
      size -= here;
    }
  }

  bool find(std::uint64_t address, Near& near) {
    near.chunk = kNoChunk;
    near.writes = writes_.chunk(address);
    if (near.writes == nullptr) return false;
    near.accesses = current_->accesses.chunk(address);
    if (near.accesses == nullptr) return false;
    near.chunk = address >> kChunkBits;
    return true;
  }

  // Two cells that were accessed at this stamp already are told by one comparison.
  void read_cells(const Near& near, std::size_t first, std::size_t last) {
    const std::uint64_t both = count_ | std::uint64_t{count_} << 32U;
    std::size_t cell = first;
    for (; cell < last; cell += 2) {
      std::uint64_t before = 0;
      __builtin_memcpy(&before, near.accesses + cell, sizeof(before));
      if (before == both) continue;
      read_cell(near, cell);
      read_cell(near, cell + 1);
    }
    if (cell == last) read_cell(near, cell);
  }

  void read_cell(const Near& near, std::size_t cell) {
    const Stamp before = near.accesses[cell];
    if (before == count_) return;
    const Stamp written = near.writes[cell];
    if (before < top_stamp_ || before < (written & kLastStamp)) read_first(before, written);
    near.accesses[cell] = count_;
  }

  void write_cells(const Near& near, std::size_t first, std::size_t last) {
    const std::uint64_t both = count_ | std::uint64_t{count_} << 32U;
    std::size_t cell = first;
    for (; cell < last; cell += 2) {
      __builtin_memcpy(near.accesses + cell, &both, sizeof(both));
      __builtin_memcpy(near.writes + cell, &both, sizeof(both));
    }
    if (cell == last) near.accesses[cell] = near.writes[cell] = count_;
  }

  // Does what read_first() does for a first access that is not induced, if the thread has never
  // accessed the cell before, or did so since the caller began.
  bool read_first_quickly(Stamp before) {
    Activation& top = *top_;
    if (before != 0) {
      Activation& caller = *(top_ - 1);  // at the bottom is the thread, to which no stamp is new
      if (before < caller.stamp) return false;
      --caller.sizes.rms;
      --caller.sizes.trms;
    }
    ++top.sizes.rms;
    ++top.sizes.trms;
    return true;
  }

  void set_top() {
    top_ = &current_->stack.back();
    top_stamp_ = top_->stamp;
  }

  // Counts a read that is a first access, an induced one, or both. `before`: the thread's last
  // access to the cell; `written`: the last write by anyone, with the bit of the kernel.
  [[gnu::noinline]] void read_first(Stamp before, Stamp written) {
    List<Memory, Activation>& stack = current_->stack;
    Sizes& sizes = top_->sizes;
    const bool first = before < top_stamp_;
    const bool induced = before < (written & kLastStamp);
    sizes.rms += first ? 1 : 0;
    ++sizes.trms;
    if (induced) {  // new to all pending activations: none of them gives one back
      if ((written & kByKernel) != 0) {
        ++sizes.external;
      } else if (options_.early_writes_are_thread_input || written >= stack[0].stamp) {
        ++sizes.thread;
      }
    }
    if (!first || before == 0) return;
    Sizes& had_it = stack[activation_at(stack, before)].sizes;
    --had_it.rms;
    if (!induced) --had_it.trms;
  }

  void pop() {
    OneThread& thread = *current_;
    const std::size_t left = thread.stack.size() - 1;
    const Activation& done = thread.stack[left];
    Activation& parent = thread.stack[left - 1];
    Finished finished;
    finished.routine = done.routine;
    finished.sizes = done.sizes;
    finished.outermost = done.outermost;
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      finished.cost[unit] = cost[unit] - done.before[unit];
      finished.own[unit] = finished.cost[unit] - done.children[unit];
      parent.children[unit] += finished.cost[unit];
    }
    parent.sizes.add(done.sizes);
    --thread.open[done.routine];
    thread.stack.shrink(left);
    set_top();
    if (!thread.rows.add(finished)) lose(1);
  }

  Options options_;
  Stamp count_ = 0;
  Activation* top_ = nullptr;  // the current thread's latest pending activation
  Stamp top_stamp_ = 0;        // its stamp
  OneThread* current_ = nullptr;
  Shadow<Memory> writes_;  // wts
  Near near_[kNears];
  List<Memory, OneThread*> threads_;  // in the order of their start; also those that have ended
  std::uint64_t lost_ = 0;
  std::uint64_t renumberings_ = 0;
};

}  // namespace causalctl::inputs::core
