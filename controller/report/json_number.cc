#include "controller/report/json_number.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace causalctl::report {

nlohmann::ordered_json json_number(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (*value == 0) return 0.0;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(*value))));
  const double rounded = std::round(*value * scale) / scale;
  return std::isfinite(rounded) ? rounded : *value;  // the scale overflows for the smallest values
}

nlohmann::ordered_json json_number(const std::optional<Interval>& interval,
                                   double Interval::*part) {
  return interval ? json_number((*interval).*part) : nlohmann::ordered_json(nullptr);
}

}  // namespace causalctl::report
