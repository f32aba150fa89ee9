// Finds Valgrind and our tool for it, and says what is missing.
#pragma once

#include <string>
#include <vector>

#include "controller/base/scratch_folder.h"

namespace causalctl::inputs {

struct RunSettings {
  std::vector<std::string> command;
  std::uint32_t cell_bytes = 4;  // 1, 2, 4, 8 or 16
  bool aprof_compatible = false;
  std::string log;  // path
};

// What a run needs of Valgrind.
struct Valgrind {
  std::string launcher;  // path of the program `valgrind`
  std::string tool;      // path of our tool
  std::string parts;     // the folder in which Valgrind's own parts are
};

// Throws Error, which says what to install.
Valgrind find_valgrind();

// Throws UsageError if the program cannot be found, or Valgrind cannot run it because it is for
// another kind of machine.
void check_program(const std::string& program);

// The files of a run.
inline constexpr const char* kResultFile = "result";
inline constexpr const char* kMessagesFile = "messages";

// Makes a folder in which Valgrind finds its own parts and our tool. Returns its path.
std::string make_parts(const Valgrind& valgrind, const ScratchFolder& scratch);

// Returns the words that start the program under the tool.
std::vector<std::string> words_for(const Valgrind& valgrind, const RunSettings& settings,
                                   const ScratchFolder& scratch);

}  // namespace causalctl::inputs
