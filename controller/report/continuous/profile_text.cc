// `causalctl prof` as text: dcpiprof's columns (DCPI §3.1, Figure 1), with intervals.
#include <fmt/format.h>

#include <algorithm>

#include "controller/base/base_name.h"
#include "controller/report/continuous/heads.h"
#include "controller/report/continuous/model.h"
#include "controller/report/continuous/row_name.h"
#include "controller/report/text.h"

namespace causalctl::report::continuous {
namespace {

constexpr std::size_t kNumbers = 46;   // columns that a row's numbers take
constexpr std::size_t kPerVisit = 11;  // that the time per visit takes besides

std::string per_visit(Nanoseconds time_ns, const ProfileTable& table) {
  return fmt::format(
      "{:.3f}", static_cast<double>(time_ns) / kMicrosecond / static_cast<double>(table.visits));
}

// "17.0 s on a core in 14.6 s (1.2 cores): 30 % memcpy (libc.so.6), 9 % hash (server)"
std::string verdict_of(const ProfileTable& table) {
  constexpr std::size_t most_told = 3;
  constexpr double least_told = 0.02;
  Nanoseconds recorded_ns = 0;
  for (const EpochHead& each : table.epochs) recorded_ns += each.recorded_ns;
  std::string text = fmt::format("{} on a core", duration(table.time_ns));
  if (recorded_ns > 0) {
    text += fmt::format(
        " in {} ({} cores)", duration(recorded_ns),
        three_digits(static_cast<double>(table.time_ns) / static_cast<double>(recorded_ns)));
  }
  const char* between = ": ";
  for (std::size_t i = 0; i < std::min(most_told, table.rows.size()); ++i) {
    const ProfileRow& row = table.rows[i];
    if (row.share.value < least_told) break;
    text += fmt::format("{}{:.0f} % {}", between, 100 * row.share.value, printable(row.name));
    if (!row.image.empty()) text += fmt::format(" ({})", printable(base_name(row.image)));
    between = ", ";
  }
  return text;
}

void add_head(const ProfileTable& table, Text& text) {
  text.paragraph(verdict_of(table), kBold);
  add_epochs(table.host, table.epochs, text);
  text.line("{}: {} samples, {} s on a core", printable(table.event), grouped(table.samples),
            seconds(table.time_ns));
  if (table.visits > 0) {
    text.line("{}: {} visits, {} µs each", printable(table.per), grouped(table.visits),
              per_visit(table.time_ns, table));
  }
}

}  // namespace

std::string render_text(const ProfileTable& table, const TextOptions& options) {
  Text text(options.color, options.width);
  add_head(table, text);
  text.blank();
  const bool has_images = std::any_of(table.rows.begin(), table.rows.end(),
                                      [](const auto& row) { return !row.image.empty(); });
  text.line("{}",
            text.colored(fmt::format("{:>8}  {:>16}  {:>6}  {:>9}  {}{}{}", "time %", "[95 %]",
                                     "cum %", "samples", table.visits > 0 ? " µs/visit  " : "",
                                     table.by, has_images ? "  (image)" : ""),
                         kBold));
  const std::size_t most =
      options.most_rows == 0 ? table.rows.size() : std::min(options.most_rows, table.rows.size());
  double sum = 0;
  for (std::size_t i = 0; i < most; ++i) {
    const ProfileRow& row = table.rows[i];
    sum += row.share.value;
    const bool has_visits = table.visits > 0;
    const std::size_t numbers = kNumbers + (has_visits ? kPerVisit : 0);
    text.line("{:>8}  {:>16}  {:>6}  {:>9}  {}{}", percent(row.share.value),
              fmt::format("[{}, {}]", percent(row.share.low), percent(row.share.high)),
              percent(sum), grouped(row.samples),
              has_visits ? fmt::format("{:>9}  ", per_visit(row.time_ns, table)) : "",
              row_name(row.name, row.image, numbers, text));
  }
  if (most < table.rows.size()) {
    text.line("{:>8}  {} more: --limit 0 shows all", percent(std::max(0.0, 1 - sum)),
              table.rows.size() - most);
  }
  if (!table.warnings.empty()) text.blank();
  for (const std::string& warning : table.warnings)
    text.paragraph("warning: " + printable(warning));
  return text.take();
}

}  // namespace causalctl::report::continuous
