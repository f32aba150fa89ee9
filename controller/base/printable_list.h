// Names of others in a message. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/base/printable.h"

namespace causalctl {

// Returns the texts in one line, each made printable, with commas between.
inline std::string printable_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + printable(text);
  return list;
}

}  // namespace causalctl
