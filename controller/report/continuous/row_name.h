// How a row of a table ends. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "controller/base/base_name.h"
#include "controller/report/text.h"

namespace causalctl::report::continuous {

// Returns the name and the file of the image, if there is one, cut to what is left of the line
// after so many columns of numbers.
inline std::string row_name(const std::string& name, const std::string& image, std::size_t numbers,
                            const Text& text) {
  constexpr std::size_t kLeast = 12;
  std::string shown = printable(name);
  if (!image.empty()) shown += fmt::format("  ({})", printable(base_name(image)));
  const std::size_t room = std::max(kLeast, text.width() - std::min(text.width(), numbers));
  return columns(shown) > room ? padded(shown, room) : shown;
}

}  // namespace causalctl::report::continuous
