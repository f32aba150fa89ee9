// What a log of input sizes is told by (docs/inputs-format.md). Its writer is log.h, its reader
// log_read.h.
#pragma once

#include <string_view>

#include "controller/base/line_file.h"

namespace causalctl::inputs {

inline constexpr int kLogVersion = 1;  // readers refuse a newer one
inline constexpr std::string_view kLogTypes[] = {"run",     "modules", "routines",
                                                 "threads", "points",  "end"};
inline constexpr LogKind kLogKind{
    "a log of input sizes", kLogTypes, "\"kind\":\"inputs\"",
    "causalctl report reads what inputs run wrote (docs/inputs-format.md)"};

}  // namespace causalctl::inputs
