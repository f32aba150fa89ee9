// Tests the frequencies of nodes and edges that counts and guesses give.
#include "controller/continuous/analysis/flow.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/unit/continuous/flow_program.h"

namespace causalctl::continuous {
namespace {

KnownCount node_count(std::size_t node, double count, double deviation = 0) {
  return {KnownCount::Of::node, node, count, deviation};
}

KnownCount edge_count(std::size_t edge, double count, double deviation = 0) {
  return {KnownCount::Of::edge, edge, count, deviation};
}

Frequencies estimate(const FlowGraph& graph, const std::vector<KnownCount>& known,
                     const std::vector<double>& guesses = {}) {
  return estimate_frequencies(graph, known, guesses);
}

void check_exact(const Frequency& frequency, double value) {
  CHECK(frequency.is_determined);
  CHECK(frequency.value == Approx(value).epsilon(1e-9).margin(1e-9));
  CHECK(frequency.deviation == 0);
}

// Nodes 1 to 4: 1 branches to 2 and 3, which join at 4. Edges: entry, 1-2, 1-3, 2-4, 3-4, exit.
const FlowGraph kDiamond{5, {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 0}}};
// Node 1 enters the loop of 2 and 3, and 4 follows it. Edge 3 goes back.
const FlowGraph kTripLoop{5, {{0, 1}, {1, 2}, {2, 3}, {3, 2}, {3, 4}, {4, 0}}};

// Each node's guess is the truth times a factor, of which one standard deviation is 5.
std::vector<double> guesses_for(const FlowProgram& program, std::mt19937_64& random) {
  std::normal_distribution<double> logarithm(0, 1.6);
  std::vector<double> guesses;
  for (const double node : program.nodes) guesses.push_back(node * std::exp(logarithm(random)));
  return guesses;
}

// The counts of the nodes that run most.
std::vector<KnownCount> hottest(const FlowProgram& program, std::size_t number) {
  std::vector<std::size_t> nodes(program.graph.nodes);
  std::iota(nodes.begin(), nodes.end(), 0);
  std::stable_sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) {
    return program.nodes[a] > program.nodes[b];
  });
  std::vector<KnownCount> known;
  for (std::size_t i = 0; i < std::min(number, nodes.size()); ++i) {
    known.push_back(node_count(nodes[i], program.nodes[nodes[i]]));
  }
  return known;
}

// Counts of all edges but those of a spanning tree.
std::vector<KnownCount> without_tree(const FlowProgram& program) {
  std::vector<std::size_t> parts(program.graph.nodes);
  std::iota(parts.begin(), parts.end(), 0);
  std::vector<KnownCount> known;
  for (std::size_t edge = 0; edge < program.edges.size(); ++edge) {
    const std::size_t from = parts[program.graph.edges[edge].from];
    const std::size_t to = parts[program.graph.edges[edge].to];
    if (from == to) known.push_back(edge_count(edge, program.edges[edge]));
    std::replace(parts.begin(), parts.end(), from, to);
  }
  return known;
}

// How many of the frequencies are determined; all of these must be the truth.
std::size_t check_determined(const std::vector<Frequency>& frequencies,
                             const std::vector<double>& truth) {
  std::size_t determined = 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (!frequencies[i].is_determined) continue;
    ++determined;
    if (std::abs(frequencies[i].value - truth[i]) > 1e-6 * truth[i]) ++wrong;
  }
  CHECK(wrong == 0);
  return determined;
}

// A node's flow is that of its edges, on both sides.
void check_balance(const FlowGraph& graph, const Frequencies& frequencies) {
  std::vector<double> in(graph.nodes), out(graph.nodes);
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
    out[graph.edges[edge].from] += frequencies.edges[edge].value;
    in[graph.edges[edge].to] += frequencies.edges[edge].value;
  }
  for (std::size_t node = 0; node < graph.nodes; ++node) {
    CHECK(in[node] == Approx(frequencies.nodes[node].value).epsilon(1e-9).margin(1e-6));
    CHECK(out[node] == Approx(frequencies.nodes[node].value).epsilon(1e-9).margin(1e-6));
  }
}

double median_error(const FlowProgram& program, const Frequencies& frequencies) {
  std::vector<double> errors;
  for (std::size_t node = 0; node < program.nodes.size(); ++node) {
    if (program.nodes[node] == 0) continue;
    const double value = std::max(frequencies.nodes[node].value, 1e-3);
    errors.push_back(std::abs(std::log(value / program.nodes[node])));
  }
  std::nth_element(errors.begin(), errors.begin() + errors.size() / 2, errors.end());
  return errors[errors.size() / 2];
}

}  // namespace

TEST_CASE("Two counts tell all of a diamond", "[continuous]") {
  const auto found = estimate(kDiamond, {node_count(0, 100), edge_count(1, 30)});
  const std::vector<double> nodes{100, 100, 30, 70, 100}, edges{100, 30, 70, 30, 70, 100};
  for (std::size_t i = 0; i < nodes.size(); ++i) check_exact(found.nodes[i], nodes[i]);
  for (std::size_t i = 0; i < edges.size(); ++i) check_exact(found.edges[i], edges[i]);
  CHECK(found.is_consistent);
}

TEST_CASE("What counts leave open follows guesses, and is so marked", "[continuous]") {
  const auto found = estimate(kDiamond, {node_count(1, 100)}, {0, 0, 10, 90, 0});
  check_exact(found.nodes[4], 100);
  check_exact(found.edges[5], 100);
  CHECK_FALSE(found.nodes[2].is_determined);
  CHECK_FALSE(found.edges[1].is_determined);
  CHECK(found.nodes[2].value == Approx(10).epsilon(0.3));
  CHECK(found.nodes[2].value + found.nodes[3].value == Approx(100));
  // The guess is uncertain by a factor of 5, and the sum is known.
  CHECK(found.nodes[2].deviation > 8);
  CHECK(found.nodes[2].deviation < 20);
  CHECK(found.nodes[3].deviation == Approx(found.nodes[2].deviation).epsilon(1e-3));
}

TEST_CASE("Guesses alone determine nothing", "[continuous]") {
  const auto found = estimate(kDiamond, {}, {0, 100, 20, 80, 100});
  for (const Frequency& node : found.nodes) {
    CHECK_FALSE(node.is_determined);
    CHECK(node.deviation > 0.5 * node.value);
  }
  CHECK(found.nodes[1].value == Approx(100).epsilon(0.1));
  CHECK(found.nodes[2].value == Approx(20).epsilon(0.2));
  check_balance(kDiamond, found);
  CHECK(found.is_consistent);
}

TEST_CASE("The trip count of a loop", "[continuous]") {
  const auto found = estimate(kTripLoop, {node_count(1, 10), node_count(2, 1e13)});
  check_exact(found.nodes[3], 1e13);
  check_exact(found.edges[3], 1e13 - 10);
  check_exact(found.edges[4], 10);

  // Without a count within, only what is outside of the loop is known.
  const auto open = estimate(kTripLoop, {node_count(1, 10)}, {0, 0, 5000, 5000, 0});
  check_exact(open.edges[4], 10);
  CHECK_FALSE(open.nodes[2].is_determined);
  CHECK(open.nodes[2].value == Approx(5000).epsilon(0.1));
}

TEST_CASE("Nested loops need a count each", "[continuous]") {
  // 1 enters the loop of 2 and 4, which has the loop of 3.
  const FlowGraph graph{5, {{0, 1}, {1, 2}, {2, 3}, {3, 3}, {3, 4}, {4, 2}, {4, 0}}};
  auto found = estimate(graph, {node_count(0, 2), node_count(2, 50)}, {0, 0, 0, 700, 0});
  check_exact(found.nodes[4], 50);
  check_exact(found.edges[5], 48);
  CHECK_FALSE(found.nodes[3].is_determined);
  CHECK(found.nodes[3].value == Approx(700).epsilon(0.1));
  found = estimate(graph, {node_count(0, 2), node_count(2, 50), node_count(3, 600)});
  check_exact(found.edges[3], 550);
}

TEST_CASE("Parallel edges and several entries", "[continuous]") {
  // 1 and 2 are entered, and 1 goes to 2 by two edges.
  const FlowGraph graph{3, {{0, 1}, {0, 2}, {1, 2}, {1, 2}, {2, 0}}};
  const auto found = estimate(graph, {node_count(0, 9), node_count(1, 4)});
  check_exact(found.edges[0], 4);
  check_exact(found.edges[1], 5);
  check_exact(found.nodes[2], 9);
  CHECK_FALSE(found.edges[2].is_determined);
  CHECK(found.edges[2].value == Approx(2));
  CHECK(found.edges[3].value == Approx(2));
}

TEST_CASE("A count of 0 closes all that it alone leads to", "[continuous]") {
  // 3, 4 and 5 are a loop behind the edge from 1 to 3; 2 is the other way.
  const FlowGraph graph{6,
                        {{0, 1}, {1, 2}, {1, 3}, {3, 4}, {4, 3}, {4, 5}, {3, 5}, {5, 2}, {2, 0}}};
  const auto found = estimate(graph, {node_count(0, 7), edge_count(2, 0)}, {0, 0, 0, 9, 9, 9});
  for (const std::size_t node : {3u, 4u, 5u}) check_exact(found.nodes[node], 0);
  check_exact(found.edges[4], 0);
  check_exact(found.nodes[2], 7);
  CHECK(found.is_consistent);

  // A difference of 0 does it, too.
  const auto other = estimate(graph, {node_count(0, 7), edge_count(1, 7)});
  for (const std::size_t node : {3u, 4u, 5u}) check_exact(other.nodes[node], 0);
}

TEST_CASE("Counts that contradict each other are fitted, and the misfit is their deviation",
          "[continuous]") {
  const auto found = estimate(kDiamond, {node_count(1, 1000), node_count(4, 900)});
  CHECK_FALSE(found.is_consistent);
  // Least squares of relative terms.
  const double expected = (1 / 1000.0 + 1 / 900.0) / (1 / 1e6 + 1 / 81e4);
  CHECK(found.nodes[1].value == Approx(expected).epsilon(1e-3));
  CHECK(found.nodes[4].value == Approx(expected).epsilon(1e-3));
  CHECK(found.nodes[1].deviation > 20);
  CHECK(found.nodes[1].deviation < 60);
  check_balance(kDiamond, found);

  CHECK(estimate(kDiamond, {node_count(1, 1000), node_count(4, 985)}).is_consistent);
  // A run that ends within the procedure.
  const auto cut = estimate(kDiamond, {node_count(1, 1000), node_count(4, 999)});
  CHECK(cut.is_consistent);
  CHECK(cut.nodes[4].deviation > 0.1);
  CHECK(cut.nodes[4].deviation < 2);
}

TEST_CASE("A part cannot run more often than the whole, nor below 0", "[continuous]") {
  const auto found = estimate(kDiamond, {node_count(1, 100), node_count(2, 130)});
  CHECK_FALSE(found.is_consistent);
  CHECK(found.nodes[1].value > 100);
  CHECK(found.nodes[2].value < 130);
  CHECK(found.nodes[3].value >= 0);
  CHECK(found.nodes[3].value < 1);
  check_balance(kDiamond, found);

  // A count behind one of 0.
  const auto closed = estimate(kDiamond, {node_count(1, 0), node_count(2, 50)});
  CHECK_FALSE(closed.is_consistent);
  CHECK(closed.nodes[1].value == Approx(closed.nodes[4].value));
  check_balance(kDiamond, closed);
}

TEST_CASE("The deviation of noisy counts holds the truth as often as it says", "[continuous]") {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  constexpr int kTrials = 600;
  int within_1[3] = {}, within_2[3] = {};
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<KnownCount> known;
    const auto count = [&](std::size_t node, double truth, double deviation) {
      known.push_back(node_count(node, truth + deviation * normal(random), deviation));
    };
    count(1, 10000, 300);
    count(4, 10000, 200);
    count(2, 3000, 100);
    // Guesses that are all far too low must not pull.
    const auto found = estimate(kDiamond, known, {0, 100, 30, 70, 100});
    const double truths[] = {10000, 3000, 7000};
    const double deviations[] = {1 / std::sqrt(1 / 9e4 + 1 / 4e4), 100, std::hypot(100, 166.4)};
    for (std::size_t i = 0; i < 3; ++i) {
      const Frequency& node = found.nodes[i + 1];
      const double error = std::abs(node.value - truths[i]);
      if (error < node.deviation) ++within_1[i];
      if (error < 1.96 * node.deviation) ++within_2[i];
      REQUIRE(node.is_determined);
      REQUIRE(node.deviation == Approx(deviations[i]).epsilon(0.01));
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    // 410 and 570 are expected, with standard deviations of 11.4 and 5.3.
    CHECK(std::abs(within_1[i] - 410) < 40);
    CHECK(std::abs(within_2[i] - 570) < 19);
  }
}

TEST_CASE("Odd graphs have frequencies all the same", "[continuous]") {
  SECTION("empty") {
    const auto found = estimate({}, {node_count(0, 5)});
    REQUIRE(found.nodes.size() == 1);
    CHECK(found.nodes[0].value == 0);
    CHECK_FALSE(found.is_consistent);
  }
  SECTION("a loop without exit") {
    const auto found = estimate({3, {{0, 1}, {1, 2}, {2, 1}}}, {node_count(0, 1)}, {0, 0, 1e9});
    check_exact(found.nodes[0], 1);
    check_exact(found.edges[0], 1);
    CHECK(found.nodes[2].value == Approx(1e9).epsilon(0.2));
    CHECK(found.is_consistent);
  }
  SECTION("a procedure that does not return, of which nothing else is known") {
    const auto found = estimate({3, {{0, 1}, {1, 2}}}, {node_count(0, 8)});
    check_exact(found.nodes[2], 8);
    CHECK(found.is_consistent);
  }
  SECTION("nodes that nothing leads to") {
    // 2 was counted, as the handler of an exception is; 3 was not.
    const auto found =
        estimate({4, {{0, 1}, {1, 0}, {2, 1}, {3, 1}}}, {node_count(1, 10), node_count(2, 4)});
    check_exact(found.nodes[2], 4);
    check_exact(found.nodes[3], 0);
    CHECK(found.nodes[1].value == Approx(10));
    CHECK(found.is_consistent);
  }
  SECTION("numbers that are none") {
    const double infinite = std::numeric_limits<double>::infinity();
    const auto found = estimate(
        kDiamond, {node_count(1, std::nan("")), node_count(2, -1), node_count(3, infinite)},
        {-1, std::nan(""), infinite, 0, 8});
    CHECK(found.nodes[4].value == Approx(8).epsilon(0.3));
    CHECK(found.is_consistent);
  }
  SECTION("the same count twice") {
    const auto found = estimate(kDiamond, {node_count(1, 98, 2), node_count(1, 102, 2)});
    CHECK(found.nodes[1].value == Approx(100));
    CHECK(found.nodes[1].deviation == Approx(std::sqrt(2)).epsilon(0.01));
  }
}

TEST_CASE("Counts of all but a spanning tree determine everything", "[continuous]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const auto program = ProgramMaker(seed).make(60, seed % 2 == 0 ? 1000 : 1'000'000'000'000);
    const auto found = estimate(program.graph, without_tree(program));
    CHECK(check_determined(found.nodes, program.nodes) == program.nodes.size());
    CHECK(check_determined(found.edges, program.edges) == program.edges.size());
    CHECK(found.is_consistent);
  }
}

TEST_CASE("What counts of the hottest blocks determine is exact, and the more the better",
          "[continuous]") {
  std::mt19937_64 random(7);
  std::vector<double> errors(4);
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    CAPTURE(seed);
    const auto program = ProgramMaker(seed).make(120, 1'000'000);
    const auto guesses = guesses_for(program, random);
    std::size_t determined_before = 0;
    for (std::size_t quarters = 0; quarters < 4; ++quarters) {
      const auto found =
          estimate(program.graph, hottest(program, program.graph.nodes * quarters / 4), guesses);
      const std::size_t determined = check_determined(found.nodes, program.nodes);
      check_determined(found.edges, program.edges);
      CHECK(determined >= std::max(determined_before, program.graph.nodes * quarters / 4));
      determined_before = determined;
      check_balance(program.graph, found);
      CHECK(found.is_consistent);
      errors[quarters] += median_error(program, found) / 30;
    }
  }
  for (std::size_t i = 1; i < errors.size(); ++i) CHECK(errors[i] < 0.9 * errors[i - 1]);
  CHECK(errors[0] < 1.1);  // that of the guesses
}

TEST_CASE("A graph that is too dense to be solved keeps what exact counts tell", "[continuous]") {
  std::mt19937_64 random(5);
  FlowGraph graph{2000, {{0, 1}}};
  for (std::size_t node = 1; node < graph.nodes; ++node) {
    graph.edges.push_back({node, (node + 1) % graph.nodes});
    for (int i = 0; i < 3; ++i) graph.edges.push_back({node, 1 + random() % (graph.nodes - 1)});
  }
  const auto found = estimate(graph, {node_count(0, 1000), node_count(7, 500)});
  check_exact(found.edges[0], 1000);
  check_exact(found.nodes[7], 500);
  CHECK_FALSE(found.nodes[9].is_determined);
  CHECK(found.nodes[9].deviation >= found.nodes[9].value);
}

}  // namespace causalctl::continuous
