// `causalctl calc` as a control-flow graph in the language of Graphviz.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "controller/report/continuous/calc_model.h"
#include "controller/report/text.h"

namespace causalctl::report::continuous {
namespace {

constexpr std::size_t kMostLines = 12;  // of code in a block

// A string of the language: https://graphviz.org/doc/info/lang.html
std::string quoted(const std::string& text) {
  std::string escaped;
  for (const char each : text) {
    if (each == '"' || each == '\\') escaped += '\\';
    escaped += each;
  }
  return escaped;
}

// `\l` ends a line and aligns it to the left.
std::string label_of(const CalcPart& part, std::size_t number) {
  const CalcBlock& block = part.blocks[number];
  std::string label = fmt::format("block {}: {} %", number + 1, percent(block.share.value));
  if (part.is_counted) label += fmt::format(", {:.3g} × a call", block.executions / part.calls);
  label += "\\l";
  for (std::size_t i = 0; i < std::min(block.count, kMostLines); ++i) {
    const CalcInstruction& each = part.instructions[block.first + i];
    label += fmt::format("{:>5}  {:x}  {}\\l", each.time_ns > 0 ? percent(each.share.value) : "",
                         each.address, quoted(printable(each.text)));
  }
  if (block.count > kMostLines) {
    label += fmt::format("{} more instructions\\l", block.count - kMostLines);
  }
  return label;
}

std::string name_of(std::size_t part, std::size_t block) {
  return fmt::format("p{}b{}", part, block);
}

void add_part(const CalcPart& part, std::size_t number, std::string& dot) {
  double largest = 0;
  for (const CalcBlock& block : part.blocks) largest = std::max(largest, block.share.value);
  for (std::size_t i = 0; i < part.blocks.size(); ++i) {
    const double heat = largest > 0 ? part.blocks[i].share.value / largest : 0;
    fmt::format_to(std::back_inserter(dot), "  {} [label=\"{}\", fillcolor=\"0.05 {:.2f} 1.0\"];\n",
                   name_of(number, i), label_of(part, i), heat);
  }
  for (const CalcEdge& edge : part.edges) {
    if (edge.from == CalcEdge::kOutside || edge.to == CalcEdge::kOutside) continue;
    const std::string label =
        part.is_counted ? fmt::format(" [label=\"{:.3g}\"]", edge.passes / part.calls) : "";
    fmt::format_to(std::back_inserter(dot), "  {} -> {}{};\n", name_of(number, edge.from),
                   name_of(number, edge.to), label);
  }
}

}  // namespace

std::string render_dot(const Calc& calc) {
  std::string dot = fmt::format(
      "digraph \"{}\" {{\n  node [shape=box, style=filled, fontname=\"monospace\", fontsize=10];\n"
      "  edge [fontname=\"monospace\", fontsize=10];\n",
      quoted(printable(calc.function)));
  for (std::size_t i = 0; i < calc.parts.size(); ++i) add_part(calc.parts[i], i, dot);
  return dot + "}\n";
}

}  // namespace causalctl::report::continuous
