#include "controller/report/callpath/json_text.h"

#include <nlohmann/json.hpp>

namespace causalctl::report::callpath {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace causalctl::report::callpath
