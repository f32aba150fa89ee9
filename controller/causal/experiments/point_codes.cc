#include "controller/causal/experiments/point_codes.h"

#include <utility>
#include <variant>

#include "unwind/names/function_name.h"

namespace causalctl::causal {
namespace {

PointCode::Kind kind_of(const progress::Spec& spec) {
  if (std::holds_alternative<progress::FunctionSpec>(spec)) return PointCode::Kind::function;
  if (std::holds_alternative<progress::SyscallSpec>(spec)) return PointCode::Kind::system_call;
  if (std::holds_alternative<progress::SampledSpec>(spec)) return PointCode::Kind::samples;
  return PointCode::Kind::instruction;
}

}  // namespace

std::vector<PointCode> codes_of(const progress::CountedPoints& points,
                                unwind::Symbolizer& symbolizer) {
  std::vector<PointCode> codes;
  for (const progress::Point& point : points.resolved) {
    PointCode code{kind_of(point.spec), {}, {}};
    for (const unwind::Place& place : point.places) {
      if (code.function.empty()) code.function = unwind::without_arguments(place.function);
      const auto range = symbolizer.function_range(place.address);
      if (range) code.functions.push_back({range->first, range->second});
    }
    codes.push_back(std::move(code));
  }
  return codes;
}

}  // namespace causalctl::causal
