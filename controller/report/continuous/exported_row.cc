// A row of `causalctl db DIR export --format json` (docs/continuous.md, "Other programs").
#include <nlohmann/json.hpp>

#include "controller/report/continuous/model.h"

namespace causalctl::report::continuous {

std::string render_line(const ExportedRow& row) {
  const nlohmann::ordered_json json = {{"host", row.host},
                                       {"epoch", row.epoch.id},
                                       {"epoch_name", row.epoch.name},
                                       {"begin", row.epoch.begin},
                                       {"end", row.epoch.end},
                                       {"recorded_ns", row.epoch.recorded_ns},
                                       {"event", row.event},
                                       {"label", row.label},
                                       {"image", row.image},
                                       {"build_id", row.build_id},
                                       {"function", row.function},
                                       {"samples", row.samples},
                                       {"time_ns", row.time_ns}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report::continuous
