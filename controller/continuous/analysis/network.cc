#include "controller/continuous/analysis/network.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "controller/base/error.h"

namespace causalctl::continuous {
namespace {

constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();

using Links = std::map<std::uint32_t, std::uint32_t>;  // by neighbour

// Returns the link of two vertices, which is made if there is none.
std::uint32_t link_between(std::vector<Links>& links, std::uint32_t a, std::uint32_t b,
                           std::uint32_t next) {
  const std::uint32_t link = links[a].try_emplace(b, next).first->second;
  links[b].try_emplace(a, link);
  return link;
}

}  // namespace

Network::Network(std::size_t vertices, std::span<const Arc> arcs)
    : arcs_(arcs.begin(), arcs.end()) {
  std::vector<Links> links(vertices);
  const auto link_of = [&](std::size_t a, std::size_t b) {
    const auto next = static_cast<std::uint32_t>(link_starts_.size());
    const std::uint32_t link =
        link_between(links, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), next);
    if (link == next) link_starts_.push_back(0);
    return link;
  };
  for (const Arc& arc : arcs_) {
    INVARIANT(arc.from < vertices && arc.to < vertices);
    link_of_arc_.push_back(arc.from == arc.to ? kNoLink : link_of(arc.from, arc.to));
  }
  std::set<std::pair<std::size_t, std::size_t>> waiting;  // number of neighbours, vertex
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    waiting.emplace(links[vertex].size(), vertex);
  }
  while (!waiting.empty()) {
    const std::size_t vertex = waiting.begin()->second;
    waiting.erase(waiting.begin());
    const Links around = std::exchange(links[vertex], {});
    const Step step{vertex, neighbours_.size(), pairs_.size(), around.size()};
    if (pairs_.size() + around.size() * around.size() / 2 > kMostPairs) {
      is_too_dense_ = true;
      return;
    }
    for (const auto& [other, link] : around) {
      link_starts_[link] = static_cast<std::uint32_t>(vertex);
      waiting.erase({links[other].size(), other});
      links[other].erase(static_cast<std::uint32_t>(vertex));
      for (std::size_t i = step.first_neighbour; i < neighbours_.size(); ++i) {
        pairs_.push_back(kNoLink);
      }
      neighbours_.push_back({other, link});
    }
    for (std::size_t j = 1; j < step.neighbours; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        pairs_[step.first_pair + pair_index(i, j)] =
            link_of(neighbour(step, i).vertex, neighbour(step, j).vertex);
      }
    }
    for (const auto& [other, link] : around) waiting.emplace(links[other].size(), other);
    steps_.push_back(step);
  }
}

std::vector<double> Network::links_of(std::span<const double> conductances) const {
  INVARIANT(conductances.size() == arcs_.size() && !is_too_dense_);
  std::vector<double> links(link_starts_.size());
  for (std::size_t arc = 0; arc < arcs_.size(); ++arc) {
    if (link_of_arc_[arc] != kNoLink) links[link_of_arc_[arc]] += conductances[arc];
  }
  return links;
}

// Afterwards a link has its conductance at the step of its first vertex, and `into` has the current
// that comes in at each vertex at its own step.
void Network::eliminate(std::vector<double>& links, std::vector<double>* into) const {
  for (const Step& step : steps_) {
    double sum = 0;
    for (std::size_t i = 0; i < step.neighbours; ++i) sum += links[neighbour(step, i).link];
    for (std::size_t j = 0; j < step.neighbours; ++j) {
      const double share = links[neighbour(step, j).link] / sum;
      if (into) (*into)[neighbour(step, j).vertex] += share * (*into)[step.vertex];
      for (std::size_t i = 0; i < j; ++i) {
        links[pair_of(step, i, j)] += share * links[neighbour(step, i).link];
      }
    }
  }
}

std::vector<double> Network::differences(std::span<const double> conductances,
                                         std::span<const double> into) const {
  std::vector<double> links = links_of(conductances);
  std::vector<double> currents(into.begin(), into.end());
  eliminate(links, &currents);
  std::vector<double> falls(links.size());  // from the link's first vertex
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->neighbours == 0) continue;
    double sum = 0;
    std::size_t best = 0;  // that with the most conductance, whose potential is the nearest
    for (std::size_t i = 0; i < step->neighbours; ++i) {
      const double conductance = links[neighbour(*step, i).link];
      sum += conductance;
      if (conductance > links[neighbour(*step, best).link]) best = i;
    }
    const auto above_best = [&](std::size_t i) {
      if (i == best) return 0.0;
      const std::uint32_t link = pair_of(*step, i, best);
      return link_starts_[link] == neighbour(*step, i).vertex ? falls[link] : -falls[link];
    };
    double current = currents[step->vertex];
    for (std::size_t i = 0; i < step->neighbours; ++i) {
      current += links[neighbour(*step, i).link] * above_best(i);
    }
    for (std::size_t i = 0; i < step->neighbours; ++i) {
      falls[neighbour(*step, i).link] = current / sum - above_best(i);
    }
  }
  std::vector<double> result(arcs_.size());
  for (std::size_t arc = 0; arc < arcs_.size(); ++arc) {
    const std::uint32_t link = link_of_arc_[arc];
    if (link == kNoLink) continue;
    result[arc] = link_starts_[link] == arcs_[arc].from ? falls[link] : -falls[link];
  }
  return result;
}

// Potentials are taken as normal variables of which two differ with a variance that is the
// resistance between them: that of an eliminated vertex is the mean of its neighbours', weighted by
// conductance, and a noise of variance 1 / sum.
std::vector<double> Network::resistances(std::span<const double> conductances) const {
  std::vector<double> links = links_of(conductances);
  eliminate(links, nullptr);
  std::vector<double> between(links.size());
  std::vector<double> shares;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    double sum = 0;
    for (std::size_t i = 0; i < step->neighbours; ++i) sum += links[neighbour(*step, i).link];
    shares.clear();
    for (std::size_t i = 0; i < step->neighbours; ++i) {
      shares.push_back(links[neighbour(*step, i).link] / sum);
    }
    double spread = 0;  // of the mean about the neighbours
    for (std::size_t j = 1; j < step->neighbours; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        spread += shares[i] * shares[j] * between[pair_of(*step, i, j)];
      }
    }
    for (std::size_t k = 0; k < step->neighbours; ++k) {
      double distance = 0;
      for (std::size_t j = 0; j < step->neighbours; ++j) {
        if (j != k) distance += shares[j] * between[pair_of(*step, j, k)];
      }
      between[neighbour(*step, k).link] = 1 / sum + std::max(0.0, distance - spread);
    }
  }
  std::vector<double> result(arcs_.size());
  for (std::size_t arc = 0; arc < arcs_.size(); ++arc) {
    if (link_of_arc_[arc] != kNoLink) result[arc] = between[link_of_arc_[arc]];
  }
  return result;
}

}  // namespace causalctl::continuous
