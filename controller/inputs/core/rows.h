// Collects finished activations into rows: one for each routine and pair of sizes (input-sensitive
// profiling, §3: the points of cost plots). The rows of one metric are sums over the other one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "controller/inputs/core/activations.h"

namespace causalctl::inputs::core {

// What an activation was, when it has returned.
struct Finished {
  std::uint32_t routine = 0;
  Sizes sizes;
  std::uint64_t cost[kUnits] = {};  // with what it called
  std::uint64_t own[kUnits] = {};
  bool outermost = true;
};

struct RowCost {
  std::uint64_t min = ~std::uint64_t{0};
  std::uint64_t max = 0;
  std::uint64_t sum = 0;
  double sum_of_squares = 0;

  void add(std::uint64_t value) {
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value;
    sum_of_squares += static_cast<double>(value) * static_cast<double>(value);
  }
};

struct Row {
  std::uint32_t routine = 0;
  std::uint64_t rms = 0;
  std::uint64_t trms = 0;
  std::uint64_t calls = 0;
  RowCost cost[kUnits];
  RowCost own[kUnits];
  std::uint64_t outermost[kUnits] = {};
  std::uint64_t external = 0;
  std::uint64_t thread = 0;
};

// The rows of one thread, found by a hash table with open addressing, at most half full.
template <class Memory>
class Rows {
 public:
  // Returns false where there is no memory; the activation is then in no row.
  [[nodiscard]] bool add(const Finished& finished) {
    Row* row = find(finished.routine, static_cast<std::uint64_t>(finished.sizes.rms),
                    static_cast<std::uint64_t>(finished.sizes.trms));
    if (row == nullptr) return false;
    ++row->calls;
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      row->cost[unit].add(finished.cost[unit]);
      row->own[unit].add(finished.own[unit]);
      if (finished.outermost) row->outermost[unit] += finished.cost[unit];
    }
    row->external += static_cast<std::uint64_t>(finished.sizes.external);
    row->thread += static_cast<std::uint64_t>(finished.sizes.thread);
    return true;
  }

  const List<Memory, Row>& all() const { return rows_; }

 private:
  static std::uint64_t hash(std::uint32_t routine, std::uint64_t rms, std::uint64_t trms) {
    std::uint64_t mixed = (routine * 0x9e3779b97f4a7c15U) ^ (rms * 0xc2b2ae3d27d4eb4fU);
    mixed = (mixed ^ (mixed >> 29U)) * 0xbf58476d1ce4e5b9U + trms * 0x165667b19e3779f9U;
    return mixed ^ (mixed >> 32U);
  }

  Row* find(std::uint32_t routine, std::uint64_t rms, std::uint64_t trms) {
    if (2 * (rows_.size() + 1) > places_.size() && !rehash()) return nullptr;
    const std::size_t mask = places_.size() - 1;
    std::size_t at = hash(routine, rms, trms) & mask;
    for (; places_[at] != 0; at = (at + 1) & mask) {
      Row& row = rows_[places_[at] - 1];
      if (row.routine == routine && row.rms == rms && row.trms == trms) return &row;
    }
    Row row;
    row.routine = routine;
    row.rms = rms;
    row.trms = trms;
    if (!rows_.push(row)) return nullptr;
    places_[at] = static_cast<std::uint32_t>(rows_.size());
    return &rows_.back();
  }

  bool rehash() {
    constexpr std::size_t kFirst = 256;
    std::size_t size = kFirst;
    while (size < 4 * (rows_.size() + 1)) size *= 2;
    places_.clear();  // so that what grows is zero
    if (!places_.grow(size)) return false;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::size_t at = hash(rows_[i].routine, rows_[i].rms, rows_[i].trms) & (size - 1);
      while (places_[at] != 0) at = (at + 1) & (size - 1);
      places_[at] = static_cast<std::uint32_t>(i + 1);
    }
    return true;
  }

  List<Memory, Row> rows_;
  List<Memory, std::uint32_t> places_;  // index of a row, plus 1; 0: none
};

}  // namespace causalctl::inputs::core
