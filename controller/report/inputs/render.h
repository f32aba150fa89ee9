// Renders the model in the formats of docs/inputs.md. Each renderer is pure.
#pragma once

#include <string>

#include "controller/report/inputs/model.h"

namespace causalctl::report::inputs {

struct TextOptions {
  bool color = false;
  int width = 100;
  bool cuts_names = false;  // that are wider than the room for them, as on a terminal
};

// The routines that grow fastest; its first line is the verdict.
std::string render_text(const Profile& profile, const TextOptions& options);
// One routine in full. REQUIRES: it is one of the profile's.
std::string render_routine_text(const Profile& profile, const Routine& routine,
                                const TextOptions& options);
std::string render_json(const Profile& profile);
// One row a routine, metric and size.
std::string render_csv(const Profile& profile);
// A merged log of aprof, version 6, which aprof's plotter reads. Costs are those of the ranking.
std::string render_aprof(const Profile& profile);
// One page with a table and plots, which needs no other file.
std::string render_html(const Profile& all);

}  // namespace causalctl::report::inputs
