// Small plots of text: points and a curve in a grid of characters, with logarithmic axes where the
// values ask for them. Pure.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace causalctl::report::inputs {

using PlotPoint = std::pair<double, double>;

struct Plot {
  std::vector<PlotPoint> points;  // drawn over the curve
  std::vector<PlotPoint> curve;
  std::string x_name;
  std::string y_name;
  bool is_logarithmic = false;  // both axes; values of 0 or less are left out
};

// Returns the lines of the plot, at most `width` columns wide. REQUIRES: `width` is at least 40.
std::vector<std::string> draw(const Plot& plot, std::size_t width, std::size_t height);

}  // namespace causalctl::report::inputs
