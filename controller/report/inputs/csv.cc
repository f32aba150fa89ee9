// One row for each routine, metric and size, with a head line (RFC 4180).
#include <fmt/format.h>

#include <iterator>

#include "controller/base/printable.h"
#include "controller/report/inputs/render.h"

namespace causalctl::report::inputs {
namespace {

std::string in_csv_quotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : printable(text)) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

void add_costs(const std::array<causalctl::inputs::Cost, kCostUnits>& costs, std::string& text) {
  for (const causalctl::inputs::Cost& cost : costs) {
    fmt::format_to(std::back_inserter(text), ",{},{},{},{}", cost.min, cost.max, cost.sum,
                   cost.sum_of_squares);
  }
}

}  // namespace

std::string render_csv(const Profile& profile) {
  std::string text = "routine,module,offset,metric,size,calls";
  for (const char* whose : {"", "own_"}) {
    for (const CostUnit unit : {CostUnit::blocks, CostUnit::instructions}) {
      for (const char* column : {"min", "max", "sum", "sum_of_squares"}) {
        fmt::format_to(std::back_inserter(text), ",{}{}_{}", whose, name_of_cost(unit), column);
      }
    }
  }
  text += ",outermost_blocks,outermost_instructions,external,thread\r\n";
  for (const Routine& routine : profile.routines) {
    for (const Metric metric : {Metric::trms, Metric::rms}) {
      for (const SizeRow& row : routine.rows[static_cast<std::size_t>(metric)]) {
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{}", in_csv_quotes(routine.name),
                       in_csv_quotes(routine.module), routine.offset, name_of_metric(metric),
                       row.size, row.calls);
        add_costs(row.cost, text);
        add_costs(row.own, text);
        fmt::format_to(std::back_inserter(text), ",{},{},{},{}\r\n", row.outermost[0],
                       row.outermost[1], row.external, row.thread);
      }
    }
  }
  return text;
}

}  // namespace causalctl::report::inputs
