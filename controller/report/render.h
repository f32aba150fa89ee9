// Model → text. Each renderer is pure.
#pragma once

#include <string>

#include "controller/report/model.h"

namespace causalctl::report {

std::string render_text(const Report& report, bool color, int width);
std::string render_json(const Report& report);

}  // namespace causalctl::report
