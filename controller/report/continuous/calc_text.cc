// `causalctl calc` as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/report/continuous/calc_model.h"
#include "controller/report/continuous/heads.h"
#include "controller/report/text.h"

namespace causalctl::report::continuous {

std::optional<double> ns_each(const Calc& calc, double time_ns, double executions) {
  if (!calc.counts || calc.counts->runs <= 0 || executions <= 0) return std::nullopt;
  return time_ns / (executions * calc.counts->runs);
}

namespace {

constexpr std::size_t kCalcNumbers = 53;  // columns in front of an instruction
constexpr std::size_t kLeastCode = 30;
constexpr double kLeastWithCulprits = 0.005;  // of the function's time, of an instruction
constexpr double kLeastCause = 0.0005;        // of the function's time
constexpr std::size_t kMostSuccessors = 4;

// How often it is executed, and how long that takes: in cycles where the clock is known.
std::string executed_text(const Calc& calc, const CalcPart& part, const CalcBlock& block) {
  if (!part.is_counted) return {};
  if (block.executions == 0) return ", not executed in the counted run";
  std::string text = fmt::format(", {} × a call", three_digits(block.executions / part.calls));
  const auto ns = ns_each(calc, block.time_ns, block.executions);
  if (!ns) return text;
  if (calc.ghz <= 0) return text + fmt::format(", {} ns", three_digits(*ns));
  const double cycles = *ns * calc.ghz;
  return text + fmt::format(", {} cycles, CPI {}", three_digits(cycles),
                            three_digits(cycles / static_cast<double>(block.count)));
}

// Where the block leads, most often first: "4 (90.1 %), 8 (9.9 %)".
std::string successors(const CalcPart& part, std::size_t block) {
  std::vector<CalcEdge> edges;
  for (const CalcEdge& edge : part.edges) {
    if (edge.from == block) edges.push_back(edge);
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const auto& one, const auto& other) { return one.passes > other.passes; });
  double all = 0;
  for (const CalcEdge& edge : edges) all += edge.passes;
  const bool has_shares = part.is_counted && edges.size() > 1 && all > 0;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostSuccessors, edges.size()); ++i) {
    const CalcEdge& edge = edges[i];
    text += text.empty() ? ", to " : ", ";
    text += edge.to == CalcEdge::kOutside ? "outside" : fmt::format("{}", edge.to + 1);
    if (has_shares) text += fmt::format(" ({} %)", percent(edge.passes / all));
  }
  if (edges.size() > kMostSuccessors) {
    text += fmt::format(", {} more", edges.size() - kMostSuccessors);
  }
  return text;
}

// "parse (/usr/bin/server): 12.1 % [11.0, 13.2] of the time on a core; up to 60 % of that for a
// memory access (d)"
std::string verdict_of(const Calc& calc) {
  constexpr double least_told = 0.1;
  std::string text = fmt::format("{} ({}): {} of the time on a core", printable(calc.function),
                                 printable(calc.image), percent_interval(calc.share));
  const auto& causes = calc.summary.causes;
  const auto largest = std::max_element(
      causes.begin(), causes.end(),
      [](const CalcCause& one, const CalcCause& other) { return one.most < other.most; });
  if (largest == causes.end() || largest->most < least_told) return text;
  return text + fmt::format("; up to {:.0f} % of that it may wait for {} ({})", 100 * largest->most,
                            largest->name, largest->letter);
}

void add_head(const Calc& calc, Text& text) {
  text.paragraph(verdict_of(calc), kBold);
  add_epochs(calc.host, calc.epochs, text);
  text.line("{}: {} samples, {} s on a core", printable(calc.event), grouped(calc.samples),
            seconds(calc.time_ns));
  if (!calc.counts) {
    text.paragraph(std::string("counts: ") + kNoCounts);
    return;
  }
  text.paragraph(fmt::format("counts: exact (confidence high), of {}, imported {}",
                             printable(calc.counts->command), calc.counts->imported));
  if (calc.counts->runs > 0) {
    text.paragraph(fmt::format("runs: {} such runs were recorded ({})",
                               three_digits(calc.counts->runs), printable(calc.counts->runs_by)));
  } else {
    text.paragraph(std::string("runs: ") + kNoRuns);
  }
}

// Shares of the time: of stalls by cause, from where nothing else can be it to where it can.
void add_summary(const CalcSummary& summary, Text& text) {
  const auto line = [&text](const std::string& share, char letter, std::string_view what) {
    text.line("{:>14}  {} {}", share, letter, what);
  };
  text.blank();
  text.line("{}", text.colored(fmt::format("{:>14}  why", "time %"), kBold));
  for (const CalcCause& cause : summary.causes) {
    if (cause.most < kLeastCause) continue;
    const std::string least = percent(cause.least), most = percent(cause.most);
    line(least == most ? most : fmt::format("{} to {}", least, most), cause.letter, cause.name);
  }
  if (!summary.has_cycles) {
    line(percent(summary.unexplained), ' ', "execution, latency, or not explained");
    return;
  }
  line(percent(summary.unexplained), ' ', "not explained");
  line(percent(summary.stalls), ' ', "stalls together");
  line(percent(summary.latency), ' ', "latency of instructions");
  line(percent(summary.execution), ' ', "execution");
}

void add_instruction(const Calc& calc, const CalcPart& part, const CalcBlock& block,
                     std::size_t index, Text& text) {
  const CalcInstruction& each = part.instructions[index];
  const auto ns = ns_each(calc, each.time_ns, part.is_counted ? block.executions : 0);
  const double shown = ns ? *ns * (calc.ghz > 0 ? calc.ghz : 1) : 0;
  const bool has_time = each.time_ns > 0;
  const std::size_t room =
      std::max(kLeastCode, text.width() - std::min(text.width(), kCalcNumbers));
  std::string code = printable(each.text);
  if (!each.line.empty()) {
    const std::string line = printable(each.line);
    const std::size_t left = room > columns(line) + 1 ? room - columns(line) - 1 : 0;
    if (columns(code) <= left) code = padded(code, left) + " " + line;
  }
  text.line(
      "{:>6} {:>14} {:>8} {:>7} {:<5} {:>6x}  {}", has_time ? percent(each.share.value) : "",
      has_time ? fmt::format("[{}, {}]", percent(each.share.low), percent(each.share.high)) : "",
      each.samples > 0 ? grouped(each.samples) : "", ns && has_time ? three_digits(shown) : "",
      each.share.value >= kLeastWithCulprits ? each.culprits : "", each.address,
      columns(code) > room ? padded(code, room) : code);
}

void add_block(const Calc& calc, const CalcPart& part, std::size_t number, Text& text) {
  const CalcBlock& block = part.blocks[number];
  text.blank();
  text.line("{}",
            text.colored(
                fmt::format("block {}: {} % [{}, {}]{}{}", number + 1, percent(block.share.value),
                            percent(block.share.low), percent(block.share.high),
                            executed_text(calc, part, block), successors(part, number)),
                kBold));
  std::string line;
  for (std::size_t i = block.first; i < block.first + block.count; ++i) {
    const CalcInstruction& each = part.instructions[i];
    if (!each.source.empty() && each.line != line) {
      text.line("{}",
                text.colored(
                    fmt::format("{:>38}  {}", printable(each.line), printable(each.source)), kDim));
    }
    line = each.line;
    add_instruction(calc, part, block, i, text);
  }
}

void add_part(const Calc& calc, const CalcPart& part, double cutoff, Text& text) {
  text.blank();
  std::string head = fmt::format("code from {:#x} to {:#x}", part.low, part.high);
  if (part.is_counted) {
    head += fmt::format(", entered {} times in the counted run", three_digits(part.calls));
  }
  text.line("{}", head);
  text.line("{}", text.colored(fmt::format("{:>6} {:>14} {:>8} {:>7} {:<5} {:>6}  {}", "time %",
                                           "[95 %]", "samples", calc.ghz > 0 ? "cycles" : "ns",
                                           "why", "at", "instruction"),
                               kBold));
  std::size_t left_out = 0;
  double left_share = 0;
  for (std::size_t i = 0; i < part.blocks.size(); ++i) {
    if (part.blocks[i].share.value >= cutoff) {
      add_block(calc, part, i, text);
    } else {
      left_out += 1;
      left_share += part.blocks[i].share.value;
    }
  }
  if (left_out == 0) return;
  text.blank();
  text.line("{} with {} % of the time {} left out: --cutoff 0 shows all",
            left_out == 1 ? "1 block" : fmt::format("{} blocks", left_out), percent(left_share),
            left_out == 1 ? "is" : "are");
}

}  // namespace

std::string render_text(const Calc& calc, const CalcOptions& options) {
  Text text(options.color, options.width);
  add_head(calc, text);
  add_summary(calc.summary, text);
  if (!options.summary_alone) {
    for (const CalcPart& part : calc.parts) add_part(calc, part, options.cutoff, text);
  }
  if (!calc.warnings.empty()) text.blank();
  for (const std::string& warning : calc.warnings) text.paragraph("warning: " + printable(warning));
  return text.take();
}

}  // namespace causalctl::report::continuous
