// The page of call paths, for reports that add something to it.
#pragma once

#include <string>

#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/model.h"
#include "controller/report/page/page.h"

namespace causalctl::report::callpath {

// Whether the profile has bounds of the number of calls.
bool tells_of_calls(const Profile& profile);

// What the page's data has of calls: `,"calls":{…}` with the numbers of the columns `at_least` and
// `at_most`. REQUIRES: tells_of_calls().
std::string calls_json(const Profile& profile);

// `more` is added to the members of the page's data: `,"name":value`.
page::Page page_of(const Profile& all, const std::string& more);

}  // namespace causalctl::report::callpath
