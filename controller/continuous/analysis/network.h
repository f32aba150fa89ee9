// An electrical network, for the quadratic problems of flows: the flow that is cheapest by the sum
// of its squares over conductances is a current (Bollobás, "Modern Graph Theory", 1998, §II.1). Its
// vertices are eliminated one after the other, that with the fewest neighbours first; those of a
// star become a mesh. Conductances are only added, multiplied and divided, and potentials are kept
// as differences of neighbours, so that hot and cold parts that differ by ten and more orders of
// magnitude both keep their digits (Alfa, Xue & Ye, "Accurate computation of the smallest
// eigenvalue of a diagonally dominant M-matrix", Mathematics of Computation 71 (2002)). The graph
// of a procedure has few neighbours at each step, so that time and space grow with its size.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace causalctl::continuous {

struct Arc {
  std::size_t from = 0, to = 0;  // vertices
};

class Network {
 public:
  // Finds the order of elimination. Where it would take more than kMostPairs steps, is_too_dense()
  // is true and nothing else may be called.
  Network(std::size_t vertices, std::span<const Arc> arcs);

  bool is_too_dense() const { return is_too_dense_; }

  // Returns the potential of `from` less that of `to` for each arc, if the current into[vertex]
  // comes in at each vertex. REQUIRES: conductances by arc, finite and > 0.
  std::vector<double> differences(std::span<const double> conductances,
                                  std::span<const double> into) const;
  // Returns the effective resistance between the ends of each arc. REQUIRES: as above.
  std::vector<double> resistances(std::span<const double> conductances) const;

 private:
  static constexpr std::size_t kMostPairs = 1'000'000;

  // A link joins two vertices, by arcs or by what eliminated vertices leave. It goes from the one
  // that is eliminated first.
  struct Neighbour {
    std::uint32_t vertex = 0, link = 0;
  };
  struct Step {
    std::size_t vertex = 0;
    std::size_t first_neighbour = 0, first_pair = 0;  // in neighbours_ and pairs_
    std::size_t neighbours = 0;
  };

  // The link between two neighbours of a step's vertex: i < j.
  static std::size_t pair_index(std::size_t i, std::size_t j) { return j * (j - 1) / 2 + i; }
  std::uint32_t pair_of(const Step& step, std::size_t i, std::size_t j) const {
    return pairs_[step.first_pair + (i < j ? pair_index(i, j) : pair_index(j, i))];
  }
  const Neighbour& neighbour(const Step& step, std::size_t i) const {
    return neighbours_[step.first_neighbour + i];
  }
  void eliminate(std::vector<double>& links, std::vector<double>* into) const;
  std::vector<double> links_of(std::span<const double> conductances) const;

  bool is_too_dense_ = false;
  std::vector<Step> steps_;  // in order
  std::vector<Neighbour> neighbours_;
  std::vector<std::uint32_t> pairs_;        // links
  std::vector<std::uint32_t> link_starts_;  // by link: the vertex that is eliminated first
  std::vector<Arc> arcs_;
  std::vector<std::uint32_t> link_of_arc_;  // kNoLink: both ends are the same vertex
};

}  // namespace causalctl::continuous
