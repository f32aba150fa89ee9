// The scripts, styles and texts that pages are made of. They are files of the repository (assets/
// in this folder and in those of the reports), and the libraries that scripts/fetch_web_libraries
// gets; embed.py writes them into the program when it is built.
#pragma once

#include <string_view>
#include <vector>

namespace causalctl::report::page {

struct Asset {
  std::string_view name;    // "page/page.css"
  std::string_view sha256;  // of the text, in base64
  std::string_view text;
};

// Written by embed.py. `libraries.js` and `licences.txt` are empty in a build without libraries.
const std::vector<Asset>& all_assets();

}  // namespace causalctl::report::page
