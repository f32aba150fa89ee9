// `causalctl stalls` as text.
#include <fmt/format.h>

#include <algorithm>

#include "controller/base/base_name.h"
#include "controller/report/continuous/heads.h"
#include "controller/report/continuous/stalls_model.h"
#include "controller/report/text.h"

namespace causalctl::report::continuous {
namespace {

constexpr std::size_t kStallNumbers = 45;  // columns in front of the place
constexpr std::size_t kLeastPlace = 30;

std::string each_of(const StallRow& row, double ghz) {
  if (!row.ns_each) return {};
  return fmt::format("{:.3g}", *row.ns_each * (ghz > 0 ? ghz : 1));
}

std::string place_of(const StallRow& row) {
  std::string place = fmt::format("{:x} {} ({})", row.address, printable(row.function),
                                  printable(base_name(row.image)));
  if (!row.line.empty()) place += " " + printable(row.line);
  return place;
}

// What the letters of the first rows mean, and what shows more.
void add_legend(const StallTable& table, std::size_t rows, Text& text) {
  std::string legend;
  for (const auto& [letter, name] : table.causes) {
    const bool is_used =
        std::any_of(table.rows.begin(), table.rows.begin() + static_cast<std::ptrdiff_t>(rows),
                    [letter = letter](const StallRow& row) {
                      return row.culprits.find(letter) != std::string::npos;
                    });
    if (is_used) legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ", letter, name);
  }
  if (legend.empty()) return;
  text.blank();
  text.paragraph("why: " + legend);
  text.paragraph("to read on: causalctl calc DIR FUNCTION shows the code around an instruction");
}

}  // namespace

std::string render_text(const StallTable& table, const TextOptions& options) {
  Text text(options.color, options.width);
  add_epochs(table.host, table.epochs, text);
  text.line("{}: {} samples, {} s on a core; {} % in code that was analysed, {} % with counts",
            printable(table.event), grouped(table.samples), seconds(table.time_ns),
            percent(table.analysed), percent(table.counted));
  text.blank();
  text.line("{}", text.colored(fmt::format("{:>6} {:>14} {:>6} {:>7} {:<5}  {}", "time %", "[95 %]",
                                           "cum %", table.ghz > 0 ? "cycles" : "ns", "why",
                                           "instruction, in function (file), line"),
                               kBold));
  const std::size_t most =
      options.most_rows == 0 ? table.rows.size() : std::min(options.most_rows, table.rows.size());
  double sum = 0;
  const std::size_t room =
      std::max(kLeastPlace, text.width() - std::min(text.width(), kStallNumbers));
  for (std::size_t i = 0; i < most; ++i) {
    const StallRow& row = table.rows[i];
    sum += row.share.value;
    const std::string place = printable(row.text) + "  " + place_of(row);
    text.line("{:>6} {:>14} {:>6} {:>7} {:<5}  {}", percent(row.share.value),
              fmt::format("[{}, {}]", percent(row.share.low), percent(row.share.high)),
              percent(sum), each_of(row, table.ghz), row.culprits,
              columns(place) > room ? padded(place, room) : place);
  }
  if (most < table.rows.size()) {
    text.line("{} more instructions: --limit 0 shows all", table.rows.size() - most);
  }
  if (table.rows.empty()) text.line("no instruction has a thousandth of the time");
  add_legend(table, most, text);
  if (!table.warnings.empty()) text.blank();
  for (const std::string& warning : table.warnings) {
    text.paragraph("warning: " + printable(warning));
  }
  return text.take();
}

}  // namespace causalctl::report::continuous
