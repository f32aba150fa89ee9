// Holds frequencies that are estimated from few counts against all counts (DCPI §6.2, Figures 8 and
// 9): the classes with most samples are counted exactly, K of them over all functions, and the flow
// of control says the rest.
//
// frequency_check DIR K… prints a JSON object in a line for each K. The database in DIR has samples
// and exact counts of the same files. Shares of blocks are of samples, those of edges of
// executions, all in per cent: of those whose frequency is within 5, 10 and 15 % of the truth.
// "high" are those that counts determine with a standard error below 5 %.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/regular_file.h"
#include "controller/base/whole_file.h"
#include "controller/continuous/analysis/executions.h"
#include "controller/continuous/analysis/flow.h"
#include "controller/continuous/analysis/function_profile.h"
#include "controller/continuous/code/file_code.h"
#include "controller/continuous/record/database.h"
#include "disasm/classes.h"
#include "unwind/modules/load_segments.h"

namespace causalctl {
namespace {

using continuous::ExactCounts;
using continuous::Frequency;

constexpr std::size_t kMostBytes = std::size_t{1} << 30U;
constexpr std::array<double, 3> kWithin = {0.05, 0.10, 0.15};
constexpr double kHigh = 0.05;  // standard error

struct Function {
  disasm::Graph graph;
  disasm::Classes classes;
  std::vector<double> samples;     // by block
  std::vector<double> executions;  // by block
  std::vector<double> passes;      // by edge; 0 for those from and to outside, which nobody counts
};

struct Program {
  std::vector<Function> functions;
  double samples = 0, counted = 0, outside = 0;  // all, on counted instructions, in no function
};

using Places = std::map<Address, double>;  // samples by link-time address

Places places_of(std::span<const std::byte> file, const continuous::Counts& counts) {
  Places places;
  const auto segments = unwind::load_segments(file);
  for (const auto& [offset, count] : counts) {
    for (const auto& segment : segments) {
      const bool has_it = segment.executable && offset >= segment.offset &&
                          offset - segment.offset < segment.file_size;
      if (has_it) {
        places[segment.address + (offset - segment.offset)] += static_cast<double>(count.samples);
      }
    }
  }
  return places;
}

Function function_of(disasm::Graph graph, const Places& places, const ExactCounts& exact) {
  Function function;
  function.classes = disasm::frequency_classes(graph);
  function.samples.resize(graph.blocks.size());
  for (const auto& [address, samples] : places) {
    if (const auto block = graph.block_at(address)) function.samples[*block] += samples;
  }
  for (const disasm::Block& block : graph.blocks) {
    const auto executed = executions_of(exact, graph.code_of(block).front());
    function.executions.push_back(static_cast<double>(executed));
  }
  for (const disasm::Edge& edge : graph.edges) {
    function.passes.push_back(static_cast<double>(passes_of(exact, graph, edge)));
  }
  function.graph = std::move(graph);
  return function;
}

void add_file(Program& program, const continuous::Image& image, const continuous::Counts& counts,
              const ExactCounts& exact) {
  const auto text = read_whole(open_regular(image.path), kMostBytes);
  if (!text) throw Error(image.path + ": it cannot be read");
  const auto bytes = std::as_bytes(std::span(*text));
  continuous::FileCode code((unwind::ElfImage(bytes)));
  std::map<Address, Places> by_function;
  for (const auto& [address, samples] : places_of(bytes, counts)) {
    if (exact.instructions.contains(address)) program.counted += samples;
    if (const auto function = code.function_at(address)) {
      by_function[function->low][address] += samples;
    } else {
      program.outside += samples;
    }
  }
  for (const auto& [low, places] : by_function) {
    program.functions.push_back(function_of(code.graph(*code.function_at(low)), places, exact));
  }
}

Program read(const std::string& folder) {
  const auto database = continuous::Database::read(continuous::Database::files_in(folder).front());
  std::vector<std::int64_t> epochs;
  for (const auto& epoch : database.epochs()) epochs.push_back(epoch.id);
  std::vector<std::string> damage;
  Program program;
  for (const auto& [key, counts] : database.profile(epochs, damage)) {
    if (key.image.kind != continuous::ImageKind::file) continue;
    program.samples += static_cast<double>(continuous::sum_of(counts).samples);
    const auto exact = database.exact_counts(key.image.build_id);
    if (exact) add_file(program, key.image, counts, *exact);
  }
  return program;
}

struct Class {
  double samples = 0;
  std::size_t function = 0, number = 0;
};

// Returns the classes of blocks that have samples, those with most of them first.
std::vector<Class> classes_of(const Program& program) {
  std::vector<Class> classes;
  for (std::size_t i = 0; i < program.functions.size(); ++i) {
    const Function& function = program.functions[i];
    std::map<std::size_t, double> samples;
    for (std::size_t block = 0; block < function.samples.size(); ++block) {
      samples[function.classes.of_block[block]] += function.samples[block];
    }
    for (const auto& [number, of_class] : samples) {
      if (of_class > 0) classes.push_back({of_class, i, number});
    }
  }
  std::ranges::sort(classes, std::ranges::greater(), &Class::samples);
  return classes;
}

using Chosen = std::vector<std::vector<bool>>;  // by function, by class

// Executions for one sample of an instruction: of the block in the middle of those that are
// counted.
double scale_of(const Program& program, const Chosen& chosen) {
  std::vector<double> scales;
  for (std::size_t i = 0; i < program.functions.size(); ++i) {
    const Function& function = program.functions[i];
    for (std::size_t block = 0; block < function.samples.size(); ++block) {
      const bool tells = chosen[i][function.classes.of_block[block]] &&
                         function.samples[block] > 0 && function.executions[block] > 0;
      const auto size = static_cast<double>(function.graph.blocks[block].count);
      if (tells) scales.push_back(function.executions[block] * size / function.samples[block]);
    }
  }
  if (scales.empty()) return 1;
  const auto middle = scales.begin() + static_cast<std::ptrdiff_t>(scales.size() / 2);
  std::ranges::nth_element(scales, middle);
  return *middle;
}

continuous::Frequencies estimated(const Function& function, const std::vector<bool>& chosen,
                                  double scale) {
  const continuous::FlowGraph flow = continuous::flow_graph_of(function.graph);
  std::vector<continuous::KnownCount> known;
  std::vector<double> guesses(flow.nodes);
  std::vector<bool> is_counted(function.classes.count);
  for (std::size_t block = 0; block < function.samples.size(); ++block) {
    const std::size_t number = function.classes.of_block[block];
    if (chosen[number] && !is_counted[number]) {
      is_counted[number] = true;
      known.push_back({continuous::KnownCount::Of::node, block + 1, function.executions[block], 0});
    }
    guesses[block + 1] =
        scale * function.samples[block] / static_cast<double>(function.graph.blocks[block].count);
  }
  return continuous::estimate_frequencies(flow, known, guesses);
}

struct Score {
  double samples = 0, high = 0, high_right = 0, low_right = 0;
  std::array<double, 3> within = {};
  double passes = 0, edges_right = 0;
};

double error_of(const Frequency& found, double truth) {
  return truth > 0 ? std::abs(found.value / truth - 1) : 1;
}

void add(Score& score, const Function& function, const continuous::Frequencies& found) {
  for (std::size_t block = 0; block < function.samples.size(); ++block) {
    const double samples = function.samples[block];
    const Frequency& value = found.nodes[block + 1];
    const double error = error_of(value, function.executions[block]);
    const bool is_high = value.is_determined && value.deviation <= kHigh * value.value;
    score.samples += samples;
    if (is_high) score.high += samples;
    for (std::size_t i = 0; i < kWithin.size(); ++i) {
      if (error <= kWithin[i]) score.within[i] += samples;
    }
    if (error <= kWithin.back()) (is_high ? score.high_right : score.low_right) += samples;
  }
  for (std::size_t edge = 0; edge < function.passes.size(); ++edge) {
    score.passes += function.passes[edge];
    const bool is_right = error_of(found.edges[edge], function.passes[edge]) <= 0.10;
    if (is_right) score.edges_right += function.passes[edge];
  }
}

double per_cent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void print(const Program& program, const std::vector<Class>& classes, std::size_t most) {
  Chosen chosen;
  for (const Function& function : program.functions) chosen.emplace_back(function.classes.count);
  double counted = 0;
  for (std::size_t i = 0; i < std::min(most, classes.size()); ++i) {
    chosen[classes[i].function][classes[i].number] = true;
    counted += classes[i].samples;
  }
  const double scale = scale_of(program, chosen);
  Score score;
  for (std::size_t i = 0; i < program.functions.size(); ++i) {
    const Function& function = program.functions[i];
    add(score, function, estimated(function, chosen[i], scale));
  }
  const nlohmann::json line = {
      {"classes_counted", std::min(most, classes.size())},
      {"classes", classes.size()},
      {"samples", program.samples},
      {"samples_on_counted_instructions", per_cent(program.counted, program.samples)},
      {"samples_in_no_function", per_cent(program.outside, program.samples)},
      {"samples_of_counted_classes", per_cent(counted, score.samples)},
      {"within_5", per_cent(score.within[0], score.samples)},
      {"within_10", per_cent(score.within[1], score.samples)},
      {"within_15", per_cent(score.within[2], score.samples)},
      {"edges_within_10", per_cent(score.edges_right, score.passes)},
      {"high", per_cent(score.high, score.samples)},
      {"high_within_15", per_cent(score.high_right, score.high)},
      {"others_within_15", per_cent(score.low_right, score.samples - score.high)}};
  std::puts(line.dump().c_str());
}

}  // namespace
}  // namespace causalctl

int main(int argc, char** argv) {
  using namespace causalctl;
  try {
    if (argc < 3) throw Error("frequency_check DIR K…");
    const Program program = read(argv[1]);
    const auto classes = classes_of(program);
    for (int i = 2; i < argc; ++i) {
      print(program, classes, std::strtoul(argv[i], nullptr, 10));
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "frequency_check: {}\n", error.what());
    return 1;
  }
}
