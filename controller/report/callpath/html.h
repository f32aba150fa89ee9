// The page of call paths, for reports that add something to it.
#pragma once

#include <string>

#include "controller/report/callpath/model.h"
#include "controller/report/page/page.h"

namespace causalctl::report::callpath {

// `more` is added to the members of the page's data: `,"name":value`.
page::Page page_of(const Profile& all, const std::string& more);

}  // namespace causalctl::report::callpath
