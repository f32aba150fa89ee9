#include "tests/unit/inputs/trms_oracle.h"

#include <algorithm>
#include <utility>

namespace causalctl::inputs::oracle {

void Oracle::begin_thread(std::uint32_t thread) {
  OneThread& fresh = threads_[thread];
  fresh.started = ++events_;
  fresh.accessed.resize(cells_);
  fresh.stale.resize(cells_);
  for (const auto& [cell, write] : last_write_) fresh.stale[cell] = true;
}

void Oracle::end_thread(std::uint32_t thread) {
  while (depth(thread) > 0) give_back(thread);
  threads_.erase(thread);
}

void Oracle::call(std::uint32_t thread, std::uint32_t routine) {
  OneThread& of = threads_.at(thread);
  Activation fresh;
  fresh.routine = routine;
  fresh.begun_at = of.cost;
  fresh.outermost = std::none_of(of.pending.begin(), of.pending.end(),
                                 [&](const auto& each) { return each.routine == routine; });
  fresh.accessed.resize(cells_);
  fresh.ever_accessed.resize(cells_);
  of.pending.push_back(std::move(fresh));
}

void Oracle::give_back(std::uint32_t thread) {
  OneThread& of = threads_.at(thread);
  Activation done = std::move(of.pending.back());
  of.pending.pop_back();
  done.cost = of.cost - done.begun_at;
  done.own += done.cost;  // it has what its callees cost, negative
  if (!of.pending.empty()) of.pending.back().own -= done.cost;
  done.accessed.clear();
  done.ever_accessed.clear();
  finished_[thread].push_back(std::move(done));
}

void Oracle::read(std::uint32_t thread, std::size_t cell) {
  OneThread& of = threads_.at(thread);
  const bool induced = of.stale[cell];
  for (Activation& each : of.pending) {
    if (!each.ever_accessed[cell]) ++each.rms;
    if (!each.accessed[cell]) ++each.trms;
    if (induced) {
      const Write& write = last_write_.at(cell);
      const bool early = write.at < of.started;
      if (write.by_kernel) {
        ++each.external;
      } else if (early_writes_ || !early) {
        ++each.thread;
      }
    }
    each.accessed[cell] = each.ever_accessed[cell] = true;
  }
  of.accessed[cell] = true;
  of.stale[cell] = false;
}

void Oracle::write(std::uint32_t thread, std::size_t cell) {
  written(cell, thread);
  OneThread& of = threads_.at(thread);
  for (Activation& each : of.pending) each.accessed[cell] = each.ever_accessed[cell] = true;
  of.accessed[cell] = true;
  of.stale[cell] = false;
}

void Oracle::kernel_write(std::size_t cell) { written(cell, std::nullopt); }

void Oracle::written(std::size_t cell, std::optional<std::uint32_t> by) {
  last_write_[cell] = {++events_, !by};
  for (auto& [number, thread] : threads_) {
    if (number == by) continue;
    thread.stale[cell] = true;
    for (Activation& each : thread.pending) each.accessed[cell] = false;
  }
}

}  // namespace causalctl::inputs::oracle
