#define CATCH_CONFIG_MAIN
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <iostream>

#include "tests/support/skip.h"

namespace {

std::string& skip_reason() {
  static std::string reason;
  return reason;
}

// What `meson test` counts: a line of TAP for each test case on standard output. What is tested
// prints there, too; so from then on its words, and those of the console reporter, go to standard
// error. Each line is flushed, because tests fork.
struct TapReporter : Catch::ConsoleReporter {
  explicit TapReporter(const Catch::ReporterConfig& config)
      : ConsoleReporter(Catch::ReporterConfig(config.fullConfig(), std::cerr)),
        tap(fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w")) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }

  static std::string getDescription() { return "a line of TAP for each test case"; }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ConsoleReporter::testCaseEnded(stats);
    const bool failed = stats.totals.testCases.failed > 0;
    const bool skipped = !failed && !skip_reason().empty();
    print(fmt::format("{} {} {}{}{}", failed ? "not ok" : "ok", ++count, stats.testInfo.name,
                      skipped ? " # SKIP " : "", skipped ? skip_reason() : ""));
    skip_reason().clear();
  }

  void testRunEnded(const Catch::TestRunStats& stats) override {
    ConsoleReporter::testRunEnded(stats);
    print(fmt::format("1..{}", count));
  }

  void print(const std::string& line) {
    fmt::print(tap, "{}\n", line);
    std::fflush(tap);
  }

  std::FILE* tap;  // to the end of the process
  int count = 0;
};
CATCH_REGISTER_REPORTER("tap", TapReporter)

}  // namespace

void causalctl::test::skip_test_case(const std::string& reason) {
  if (skip_reason().empty()) {
    std::cerr << "SKIPPED " << Catch::getResultCapture().getCurrentTestName() << ": " << reason
              << std::endl;
  }
  skip_reason() = reason;
}
