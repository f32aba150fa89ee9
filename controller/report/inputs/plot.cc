#include "controller/report/inputs/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "controller/report/text.h"

namespace causalctl::report::inputs {
namespace {

constexpr std::size_t kLabelWidth = 9;

struct Axis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool is_logarithmic = false;

  bool takes(double value) const { return std::isfinite(value) && (!is_logarithmic || value > 0); }
  void widen(double value) {
    if (!takes(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double scaled(double value) const { return is_logarithmic ? std::log(value) : value; }
  // Returns the cell of `count` that a value falls into.
  std::optional<std::size_t> cell(double value, std::size_t count) const {
    if (!takes(value) || value < low || value > high) return std::nullopt;
    if (high <= low) return 0;
    const double share = (scaled(value) - scaled(low)) / (scaled(high) - scaled(low));
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(count - 1)));
  }
};

// Returns at most eight characters: "12,000", "1.2e+09".
std::string short_number(double value) {
  if (value < 1e7) {
    return value == std::floor(value) ? grouped(static_cast<unsigned long long>(value))
                                      : number(value, 1);
  }
  return fmt::format("{:.1e}", value);
}

using Grid = std::vector<std::vector<std::string>>;

void mark(std::span<const PlotPoint> points, const Axis& x_axis, const Axis& y_axis,
          const std::string& glyph, Grid& grid) {
  for (const auto& [x, y] : points) {
    const auto column = x_axis.cell(x, grid.front().size());
    const auto row = y_axis.cell(y, grid.size());
    if (column && row) grid[grid.size() - 1 - *row][*column] = glyph;
  }
}

std::string joined_cells(const std::vector<std::string>& cells) {
  return fmt::format("{}", fmt::join(cells, ""));
}

}  // namespace

std::vector<std::string> draw(const Plot& plot, std::size_t width, std::size_t height) {
  Axis x_axis;
  Axis y_axis;
  x_axis.is_logarithmic = y_axis.is_logarithmic = plot.is_logarithmic;
  if (!plot.is_logarithmic) y_axis.low = 0;
  for (const auto& [x, y] : plot.points) {
    x_axis.widen(x);
    y_axis.widen(y);
  }
  if (x_axis.high < x_axis.low) return {};
  const std::size_t columns_wide = width - kLabelWidth - 3;
  Grid grid(height, std::vector<std::string>(columns_wide, " "));
  mark(plot.curve, x_axis, y_axis, "·", grid);
  mark(plot.points, x_axis, y_axis, "●", grid);
  std::vector<std::string> lines = {fmt::format("{:>{}}", plot.y_name, kLabelWidth)};
  for (std::size_t row = 0; row < height; ++row) {
    const std::string label = row == 0            ? short_number(y_axis.high)
                              : row == height - 1 ? short_number(y_axis.low)
                                                  : "";
    lines.push_back(fmt::format("{:>{}} │{}", label, kLabelWidth, joined_cells(grid[row])));
  }
  std::string rule;
  for (std::size_t i = 0; i < columns_wide; ++i) rule += "─";
  lines.push_back(fmt::format("{:>{}} └{}", "", kLabelWidth, rule));
  const std::string from = short_number(x_axis.low);
  const std::string to = short_number(x_axis.high);
  const std::size_t middle = columns_wide - std::min(columns_wide, from.size() + to.size());
  lines.push_back(
      fmt::format("{:>{}}  {}{:^{}}{}", "", kLabelWidth, from, plot.x_name, middle, to));
  return lines;
}

}  // namespace causalctl::report::inputs
