// The naive computation of input sizes (input-sensitive profiling, §4.1, Fig. 10): each pending
// activation has a set of the cells that it has accessed, from which a write by another thread or
// the kernel removes the cell. The rms has sets from which nothing is removed. It shares no code
// with what it checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace causalctl::inputs::oracle {

struct Activation {
  std::uint32_t routine = 0;
  std::uint64_t rms = 0;
  std::uint64_t trms = 0;
  std::uint64_t external = 0;
  std::uint64_t thread = 0;
  std::uint64_t begun_at = 0;  // what the thread had cost
  std::uint64_t cost = 0;
  std::uint64_t own = 0;
  bool outermost = true;
  std::vector<bool> accessed;       // L of Fig. 10, by cell
  std::vector<bool> ever_accessed;  // the same without removals
};

class Oracle {
 public:
  // `early_writes`: a write before a thread's start makes thread input.
  Oracle(std::size_t cells, bool early_writes) : cells_(cells), early_writes_(early_writes) {}

  void begin_thread(std::uint32_t thread);
  void end_thread(std::uint32_t thread);
  void call(std::uint32_t thread, std::uint32_t routine);
  void give_back(std::uint32_t thread);  // the latest activation returns
  void read(std::uint32_t thread, std::size_t cell);
  void write(std::uint32_t thread, std::size_t cell);
  void kernel_write(std::size_t cell);
  void spend(std::uint32_t thread, std::uint64_t cost) { threads_.at(thread).cost += cost; }

  std::size_t depth(std::uint32_t thread) const { return threads_.at(thread).pending.size(); }
  // By thread, in the order of their ends.
  const std::map<std::uint32_t, std::vector<Activation>>& finished() const { return finished_; }

 private:
  struct OneThread {
    std::uint64_t started = 0;  // number of the event
    std::uint64_t cost = 0;
    std::vector<Activation> pending;
    std::vector<bool> accessed;  // since it began
    std::vector<bool> stale;     // written by others since its last access
  };
  struct Write {
    std::uint64_t at = 0;  // number of the event
    bool by_kernel = false;
  };

  void written(std::size_t cell, std::optional<std::uint32_t> by);

  std::size_t cells_;
  bool early_writes_;
  std::uint64_t events_ = 0;
  std::map<std::uint32_t, OneThread> threads_;
  std::map<std::size_t, Write> last_write_;
  std::map<std::uint32_t, std::vector<Activation>> finished_;
};

}  // namespace causalctl::inputs::oracle
