// The scripts, styles and texts that pages are made of. They are files of the repository (assets/
// in this folder and in those of the reports), which embed.py writes into the program when it is
// built.
#pragma once

#include <string_view>
#include <vector>

namespace causalctl::report::page {

struct Asset {
  std::string_view name;    // "page/page.css"
  std::string_view sha256;  // of the text, in base64
  std::string_view text;
};

// Written by embed.py.
const std::vector<Asset>& all_assets();

}  // namespace causalctl::report::page
