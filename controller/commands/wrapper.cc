#include "controller/commands/wrapper.h"

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "controller/base/execute.h"

namespace causalctl::commands {
namespace {

constexpr std::string_view kExec = "exec";
constexpr std::string_view kScript = "#!";
constexpr std::string_view kElf = "\177ELF";
constexpr std::size_t kMostRead = 64 << 10;

std::string beginning_of(const std::string& path) {
  std::string text(kMostRead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

bool may_execute_another(const std::vector<std::string>& words) {
  const char* path = std::getenv("PATH");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    // A text that is given to an interpreter, as after `sh -c`.
    if (i > 0 && word.find(kExec) != word.npos && word.find(' ') != word.npos) return true;
    const std::string file = word.empty() ? "" : file_of_program(word, path != nullptr ? path : "");
    if (file.empty()) continue;
    const std::string text = beginning_of(file);
    if (text.starts_with(kScript) && text.find(kExec) != text.npos) return true;
    if (i > 0 && text.starts_with(kElf)) return true;
  }
  return false;
}

}  // namespace causalctl::commands
