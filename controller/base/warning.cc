#include "controller/base/warning.h"

#include <fmt/args.h>

#include <algorithm>
#include <iterator>

namespace causalctl {

std::string Warning::text() const {
  fmt::dynamic_format_arg_store<fmt::format_context> places;
  for (const auto& parameter : parameters_) {
    std::visit([&](const auto& value) { places.push_back(value); }, parameter);
  }
  return fmt::vformat(text_, places);
}

std::vector<std::string> texts_of(const std::vector<Warning>& warnings) {
  std::vector<std::string> texts;
  std::transform(warnings.begin(), warnings.end(), std::back_inserter(texts),
                 [](const Warning& warning) { return warning.text(); });
  return texts;
}

}  // namespace causalctl
