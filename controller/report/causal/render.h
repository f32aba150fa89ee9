// Renders the model as text. Each renderer is pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/report/causal/model.h"

namespace causalctl::report {

std::string render_text(const Report& report, bool color, int width);
// If one text has several reports, these come before all of them, and before each.
std::string render_warnings(const std::vector<Warning>& warnings, bool color);
std::string render_heading(std::size_t number, std::size_t count, const std::string& name,
                           bool color);
std::string render_json(const Report& report);

}  // namespace causalctl::report
