// Writes the tree of functions as text. Pure.
//
// The tree is folded: a subtree is opened as far as its share of the time deserves, and further
// along the hot path, which follows the largest child while it has half of its parent's time. Of
// functions that call each other in turn, without anything else, the first rounds are shown.
// Functions that do nothing but call the next one share its line.
#pragma once

#include "controller/report/callpath/tables.h"
#include "controller/report/text.h"

namespace causalctl::report::callpath {

// `fold`: as above; otherwise each function has a line, down to a small share of the time.
void write_tree(const View& view, bool fold, Text& out);

}  // namespace causalctl::report::callpath
