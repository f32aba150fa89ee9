// Parts that the text reports of input sizes share. Pure.
#pragma once

#include <string>

#include "controller/report/inputs/model.h"
#include "controller/report/inputs/render.h"
#include "controller/report/text.h"

namespace causalctl::report::inputs {

// Adds the first line. It is filled to the width of a terminal only, so that a program can read it.
void add_verdict(const std::string& verdict, const TextOptions& options, Text& text);

void add_notes(const Profile& profile, Text& text);

}  // namespace causalctl::report::inputs
