// The shell that the pages of all reports share: one HTML file that needs nothing else, with a head
// of facts, notes and warnings, a part of the report's own, data, styles and scripts. Pure.
//
// Names come from profiled programs and may contain anything. Text is escaped; data is JSON without
// any `<`, in an element that no browser runs. The page's Content-Security-Policy lets only the
// scripts run that are named here (by their SHA-256), and lets nothing be loaded or sent.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace causalctl::report::page {

struct Page {
  std::string heading;
  std::vector<std::pair<std::string, std::string>> facts;  // name, value
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  std::string data;  // JSON, for causal.data() of page.js
  // Names of assets: HTML between the head and the foot, and what is needed besides the shell's own
  // styles and scripts. The scripts run in this order, after the page's.
  std::string_view body;
  std::vector<std::string_view> styles;
  std::vector<std::string_view> scripts;
};

// Returns the page. REQUIRES: the assets exist.
std::string render(const Page& page);

// Returns the text as HTML has it, in an element or in an attribute with quotes.
std::string escaped(std::string_view text);

}  // namespace causalctl::report::page
