// `causalctl stats` as text: dcpistats' columns (DCPI §3.3, Figure 3), with intervals.
#include <fmt/format.h>

#include <algorithm>

#include "controller/report/continuous/model.h"
#include "controller/report/continuous/row_name.h"
#include "controller/report/text.h"

namespace causalctl::report::continuous {
namespace {

constexpr std::size_t kBeforeName = 81;  // columns that a row's numbers take

// A value is CPU time per second, as a number of cores, or per visit, in microseconds.
struct Unit {
  double factor = 1e-9;
  int digits = 4;

  std::string operator()(double value) const { return number(value * factor, digits); }
};

// "2 of 140 functions differ between the 5 sets by more than chance: parse, hash". Functions with
// little time that do not differ are not among them.
std::string verdict_of(const SpreadTable& table) {
  constexpr std::size_t most_told = 3;
  std::size_t compared = 0;
  std::vector<std::string> different;
  for (const SpreadRow& row : table.rows) {
    if (row.is_compared) ++compared;
    if (row.differs) different.push_back(printable(row.name));
  }
  if (compared == 0) return "No function has enough samples in two sets to be compared";
  if (different.empty()) {
    return fmt::format("No function of {} differs between the {} sets by more than chance",
                       grouped(compared), table.sets.size());
  }
  const std::size_t told = std::min(most_told, different.size());
  const auto end = different.begin() + static_cast<std::ptrdiff_t>(told);
  return fmt::format("{} of {} functions differ{} between the {} sets by more than chance: {}{}",
                     grouped(different.size()), grouped(compared), different.size() == 1 ? "s" : "",
                     table.sets.size(), fmt::join(different.begin(), end, ", "),
                     different.size() > told ? ", …" : "");
}

void add_sets(const SpreadTable& table, Text& text) {
  for (std::size_t i = 0; i < table.sets.size(); ++i) {
    const SampleSetHead& set = table.sets[i];
    text.line("set {}: {}: {} samples, {:.2f} s on a core, {:.2f} s recorded", i + 1,
              printable(set.name), grouped(set.samples), static_cast<double>(set.time_ns) / kSecond,
              static_cast<double>(set.recorded_ns) / kSecond);
  }
}

}  // namespace

std::string render_text(const SpreadTable& table, const TextOptions& options) {
  Text text(options.color, options.width);
  text.paragraph(verdict_of(table), kBold);
  add_sets(table, text);
  text.blank();
  const Unit value = table.per.empty() ? Unit{} : Unit{1e-3, 3};
  text.paragraph(fmt::format(
      "{} A row with * differs between the sets by more than chance (of such "
      "rows 5 % may be false).",
      table.per.empty()
          ? "Cores that each function took: CPU time per second recorded."
          : fmt::format("CPU time of each function in µs per visit of {}.", printable(table.per))));
  text.line("{}", text.colored(fmt::format("  {:>7} {:>8} {:>6} {:>3} {:>8} {:>18} {:>8} {:>8} "
                                           "{:>8}  {}",
                                           "range %", "sum", "sum %", "N", "mean", "[95 %]",
                                           "std-dev", "min", "max", "function  (image)"),
                               kBold));
  const std::size_t most =
      options.most_rows == 0 ? table.rows.size() : std::min(options.most_rows, table.rows.size());
  for (std::size_t i = 0; i < most; ++i) {
    const SpreadRow& row = table.rows[i];
    const std::string mark = row.differs ? text.colored("*", kRed) : " ";
    text.line(
        "{} {:>7} {:>8} {:>6} {:>3} {:>8} {:>18} {:>8} {:>8} {:>8}  {}", mark, percent(row.range),
        value(row.sum), percent(row.share), table.sets.size(), value(row.mean.value),
        fmt::format("[{}, {}]", value(row.mean.low), value(row.mean.high)), value(row.deviation),
        value(row.least), value(row.most), row_name(row.name, row.image, kBeforeName, text));
  }
  if (most < table.rows.size()) {
    text.line("  {} more: --limit 0 shows all", table.rows.size() - most);
  }
  if (!table.warnings.empty()) text.blank();
  for (const std::string& warning : table.warnings) {
    text.paragraph("warning: " + printable(warning));
  }
  return text.take();
}

}  // namespace causalctl::report::continuous
