// Which function of a profile a name means. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/continuous/analysis/rows.h"
#include "controller/continuous/record/counts.h"

namespace causalctl::continuous {

struct ChosenFunction {
  Image image;
  std::string name;  // as `prof` shows it
  Counts places = {};
};

// Returns the function with samples of the event that `written` means: a name as `prof` shows it,
// or without its parameters; or "FILE:FUNCTION", with the name of the image's file. Throws
// UsageError, which tells the choices, if it means none or several.
ChosenFunction choose_function(const Profile& profile, const std::string& event,
                               const std::string& written, const FunctionNames& names);

}  // namespace causalctl::continuous
