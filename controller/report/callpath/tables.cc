#include "controller/report/callpath/tables.h"

#include <algorithm>
#include <utility>

#include "controller/base/number.h"
#include "controller/report/callpath/head.h"

namespace causalctl::report::callpath {
namespace {

constexpr std::size_t kValueWidth = 10;  // of a column besides the first
constexpr std::size_t kFirstWidth = 34;  // of the first column and what belongs to it
constexpr std::size_t kNameRoom = 24;    // columns of events must leave as much for names

// Returns how many columns the words of any value up to `most` need: "1 min 59 s" is longer than "2
// min 5 s".
std::size_t width_of_values(std::uint64_t most, const std::string& unit) {
  const std::string words = value_words(most, unit);
  const bool has_minutes = words.find("min") != std::string::npos;
  return has_minutes ? words.find("min") + columns("min 59 s") : columns(words);
}

// The columns that are shown as values: all but the first and the samples; of those of events, and
// beside an event's, as many as fit.
std::vector<std::size_t> value_columns(const View& view, std::size_t width) {
  const std::vector<Column>& all = view.profile.columns;
  std::vector<std::size_t> columns;
  std::size_t used = kFirstWidth;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].name == "samples") continue;
    const bool may_be_left_out = all[i].is_event || all[0].is_event;
    if (may_be_left_out && used + view.widths[i] + kNameRoom > width) continue;
    columns.push_back(i);
    used += view.widths[i];
  }
  return columns;
}

}  // namespace

std::string value_words(std::uint64_t value, const std::string& unit) {
  if (value == 0) return "·";
  return unit == "nanoseconds" ? duration(static_cast<Nanoseconds>(value)) : grouped(value);
}

View::View(const Profile& shown, Labels by)
    : profile(shown),
      labels(std::move(by)),
      tree(merged(profile, labels)),
      children(tree),
      names(short_names(labels, tree)) {
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    const Column& column = profile.columns[i];
    const std::size_t widest = width_of_values(tree.total[i][0], column.unit);
    widths.push_back(std::max(kValueWidth, std::max(columns(column.name), widest) + 2));
  }
}

Table::Table(const View& view, Text& out)
    : view_(view),
      all_(view.tree.total),
      samples_(samples_column(view.profile)),
      values_(value_columns(view, out.width())),
      out_(out) {}

void Table::head(std::string_view first, std::string_view second, std::string_view name) {
  std::string text = fmt::format("{:>8}  {:<13} {:>8}", first, samples_ ? "[95 %]" : "", second);
  for (const std::size_t column : values_) {
    text += right_aligned(view_.profile.columns[column].name, view_.widths[column]);
  }
  out_.line("{}", out_.colored(text + "  " + std::string(name), kDim));
}

std::string Table::cells(const std::vector<std::vector<std::uint64_t>>& first,
                         const std::vector<std::vector<std::uint64_t>>& second,
                         const std::vector<std::vector<std::uint64_t>>& values,
                         std::size_t row) const {
  std::string text = share_words(first[0][row]) + "  " +
                     padded(samples_ ? interval_words(first[0][row]) : "", 13) + " " +
                     share_words(second[0][row]);
  for (const std::size_t column : values_) {
    text += right_aligned(value_words(values[column][row], view_.profile.columns[column].unit),
                          view_.widths[column]);
  }
  return text + "  ";
}

std::string Table::named(std::uint32_t label, std::size_t width) const {
  return view_.names.fit(printable(view_.labels.all[label].name), width);
}

std::size_t Table::room(std::size_t used) const {
  return std::max(kNarrowestName, out_.width() > used ? out_.width() - used : 0);
}

std::size_t Table::width_before_names() const {
  std::size_t width = kFirstWidth;
  for (const std::size_t column : values_) width += view_.widths[column];
  return width;
}

std::string Table::share_words(std::uint64_t value) const {
  return fmt::format("{:>6} %", percent(share_of(value, all_[0][0])));
}

std::string Table::interval_words(std::uint64_t value) const {
  const Interval interval = sampled_share(value, all_[0][0], all_[*samples_][0]);
  return fmt::format("[{}, {}]", percent(interval.low), percent(interval.high));
}

}  // namespace causalctl::report::callpath
