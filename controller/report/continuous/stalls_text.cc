// `causalctl stalls` as text.
#include <fmt/format.h>

#include <algorithm>

#include "controller/base/base_name.h"
#include "controller/report/continuous/heads.h"
#include "controller/report/continuous/stalls_model.h"
#include "controller/report/text.h"

namespace causalctl::report::continuous {
namespace {

constexpr std::size_t kStallNumbers = 45;   // columns in front of the place
constexpr std::size_t kEffectNumbers = 53;  // the same where rows have effects
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

void add_effect_head(const EffectHead& effects, Text& text) {
  text.paragraph(fmt::format(
      "gain: the part of the time for each {} of {} that would go if the instruction did not wait. "
      "Of the time in stalls, {} % is in units of which the causal profile is certain, {} % in "
      "others, and {} % in code of which it says nothing",
      printable(effects.point), printable(base_name(effects.program)), percent(effects.certain),
      percent(effects.uncertain), percent(effects.elsewhere)));
}

std::string interval_text(const Interval& interval) {
  return fmt::format("[{}, {}]", percent(interval.low), percent(interval.high));
}

void add_stall(const StallRow& row, double sum, double ghz, Text& text) {
  const std::size_t numbers = row.effect ? kEffectNumbers : kStallNumbers;
  const std::size_t room = std::max(kLeastPlace, text.width() - std::min(text.width(), numbers));
  std::string place = printable(row.text) + "  " + place_of(row);
  if (row.effect) {
    place = fmt::format("{}, of {}", place, printable(row.effect->unit));
  }
  if (columns(place) > room) place = padded(place, room);
  if (row.effect) {
    text.line("{:>6} {:>14} {:>6} {:>6} {:>7} {:<5}  {}", percent(row.effect->gain.value),
              interval_text(row.effect->gain), percent(row.share.value),
              percent(row.effect->of_unit.value), each_of(row, ghz), row.culprits, place);
  } else {
    text.line("{:>6} {:>14} {:>6} {:>7} {:<5}  {}", percent(row.share.value),
              interval_text(row.share), percent(sum), each_of(row, ghz), row.culprits, place);
  }
}

std::string cause_of(const StallTable& table, const StallRow& row) {
  for (const auto& [letter, name] : table.causes) {
    if (!row.culprits.empty() && row.culprits.front() == letter) {
      return fmt::format(", likely for {} ({})", name, letter);
    }
  }
  return "";
}

// The largest stall, and its worth. Where it is not known how often an instruction was executed,
// all its time may be a wait, or none.
std::string verdict_of(const StallTable& table) {
  if (table.samples == 0 || table.analysed <= 0) return "No code was analysed";
  if (table.rows.empty()) {
    return table.effects ? "No stall is in a unit of which the causal profile is certain"
                         : "No instruction waits for a thousandth of the time";
  }
  const StallRow& row = table.rows.front();
  const char* most = row.ns_each ? "" : "at most ";
  const std::string place = fmt::format("{} in {} ({})", printable(row.text),
                                        printable(row.function), printable(base_name(row.image)));
  if (row.effect && table.effects) {
    const Interval& gain = row.effect->gain;
    if (gain.low <= 0) {
      return fmt::format("No stall is certain to matter; the largest is {}", place);
    }
    return fmt::format("Without the wait of {} each {} would take {}{} less time{}", place,
                       printable(table.effects->point), most, percent_interval(gain),
                       cause_of(table, row));
  }
  return fmt::format("{}{} of the time is a wait of {}{}", row.ns_each ? "" : "At most ",
                     percent_interval(row.share), place, cause_of(table, row));
}

std::string header_of(const StallTable& table) {
  const char* each = table.ghz > 0 ? "cycles" : "ns";
  const char* place = "instruction, in function (file), line";
  if (table.effects) {
    return fmt::format("{:>6} {:>14} {:>6} {:>6} {:>7} {:<5}  {}, of unit", "gain %", "[95 %]",
                       "time %", "unit %", each, "why", place);
  }
  return fmt::format("{:>6} {:>14} {:>6} {:>7} {:<5}  {}", "time %", "[95 %]", "cum %", each, "why",
                     place);
}

}  // namespace

std::string render_text(const StallTable& table, const TextOptions& options) {
  Text text(options.color, options.width);
  text.paragraph(verdict_of(table), kBold);
  add_epochs(table.host, table.epochs, text);
  text.line("{}: {} samples, {} s on a core; {} % in code that was analysed, {} % with counts",
            printable(table.event), grouped(table.samples), seconds(table.time_ns),
            percent(table.analysed), percent(table.counted));
  if (table.effects) add_effect_head(*table.effects, text);
  text.blank();
  text.line("{}", text.colored(header_of(table), kBold));
  const std::size_t most =
      options.most_rows == 0 ? table.rows.size() : std::min(options.most_rows, table.rows.size());
  double sum = 0;
  for (std::size_t i = 0; i < most; ++i) {
    sum += table.rows[i].share.value;
    add_stall(table.rows[i], sum, table.ghz, text);
  }
  if (most < table.rows.size()) {
    text.line("{} more instructions: --limit 0 shows all", table.rows.size() - most);
  }
  add_legend(table, most, text);
  if (!table.warnings.empty()) text.blank();
  if (table.effects) {
    for (const std::string& note : table.effects->notes) text.paragraph(printable(note));
  }
  for (const std::string& warning : table.warnings) {
    text.paragraph("warning: " + printable(warning));
  }
  return text.take();
}

}  // namespace causalctl::report::continuous
