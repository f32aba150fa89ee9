// Golden files: tests/golden/*. To renew them after a wanted change, run the unit tests with
// CAUSALCTL_RENEW_GOLDEN=1 and read the difference.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/unit/report/golden_path.h"

namespace causalctl::test {

inline void check_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(GOLDEN_FOLDER) + "/" + name;
  if (std::getenv("CAUSALCTL_RENEW_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream expected;
  expected << std::ifstream(path).rdbuf();
  INFO(path);
  CHECK(text == expected.str());
}

}  // namespace causalctl::test
