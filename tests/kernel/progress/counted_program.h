// A program that is compiled when a test runs, and counts by itself what a progress point of it
// should count. Its source defines `volatile long truth`, the true number, and `void work(long n)`,
// which is called with 0, 1, 2, …
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/progress/progress.h"
#include "tests/kernel/unwind/target_program.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::counted {

inline constexpr long kRounds = 64;

// A source that becomes a library, which the program is linked with.
struct InLibrary {
  std::string source;
  std::string compile;
};

class Program {
 public:
  // Compiles `source` to prog.c (or prog.cc) and starts it. `compile` is a command, as "cc -O2 -g";
  // `link` are further arguments of the last step. `after` is a command that runs in the folder
  // before the start.
  Program(const std::string& source, const std::string& compile, const std::string& link = "",
          const std::string& after = "");
  explicit Program(const InLibrary& made);

  // Returns "" or what is told to the user when the SPEC is resolved: its remarks, or the refusal.
  std::string told(const std::string& spec);
  // Counts the SPEC while the program runs kRounds. Returns what the program counted and what the
  // point counted.
  struct Counts {
    long truth = 0;
    long visits = 0;
  };
  Counts count(const std::string& spec);
  progress::Point resolve(const std::string& spec);
  unwind::Symbolizer& symbolizer() { return *symbolizer_; }

 private:
  std::string write(const std::string& source, const std::string& compile);  // returns the file
  void start(const std::string& commands);

  unwind::TemporaryDirectory directory_;
  std::unique_ptr<unwind::TargetProgram> program_;
  std::unique_ptr<unwind::Symbolizer> symbolizer_;
};

// Returns whether the command is installed; says so in a warning of the test if it is not.
bool has(const std::string& command);

}  // namespace causalctl::counted
