// `causalctl prof` as text: dcpiprof's columns (DCPI §3.1, Figure 1), with intervals.
#include <fmt/format.h>

#include <algorithm>

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

void add_head(const ProfileTable& table, Text& text) {
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
