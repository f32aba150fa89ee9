// Renders the model in the formats of docs/callpath-format.md. Each renderer is pure.
#pragma once

#include <cstddef>
#include <string>

#include "controller/report/callpath/model.h"
#include "controller/report/callpath/sides.h"

namespace causalctl::report::callpath {

// What the text shows.
enum class By {
  overview,  // the tree of functions with the hot path opened, and the functions with their callers
  function,  // a table of functions
  line,      // a table of source lines
  path,      // the tree by source line, not folded
  calls,     // a table of how often functions call each other
};

std::string render_text(const Profile& all, By by, bool color, int width);
std::string render_json(const Profile& profile);
// One line a path: "main;a;b 1200", of the first column, for flame graphs.
std::string render_folded(const Profile& profile);
std::string render_speedscope(const Profile& all);
std::string render_firefox(const Profile& all);
std::string render_callgrind(const Profile& all);
std::string render_hatchet(const Profile& profile);
// One page with a flame graph and a table of functions, which needs no other file.
std::string render_html(const Profile& profile);
std::string render_pprof(const Profile& profile);  // gzip-compressed

// What changed from one recording to another. REQUIRES: check_comparable() (difference.h); `by` is
// not `calls`.
std::string render_difference_text(const Sides& sides, By by, bool color, int width);
std::string render_difference_json(const Sides& sides);
std::string render_difference_html(const Sides& sides);

}  // namespace causalctl::report::callpath
