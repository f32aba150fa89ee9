#include "controller/commands/wrapper.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace causalctl::commands {
namespace {

constexpr std::string_view kExec = "exec";
constexpr std::string_view kScript = "#!";
constexpr std::string_view kElf = "\177ELF";
constexpr std::size_t kMostRead = 64 << 10;

// Returns the file that the word names, along PATH where it has no slash; empty if there is none.
std::string file_of(const std::string& word) {
  std::error_code ignored;
  const auto is_program = [&](const std::string& path) {
    return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (word.find('/') != word.npos) return is_program(word) ? word : "";
  const char* path = std::getenv("PATH");
  for (std::string_view left = path != nullptr ? path : ""; !left.empty();) {
    const auto colon = std::min(left.find(':'), left.size());
    std::string file = std::string(left.substr(0, colon)) + "/" + word;
    if (is_program(file)) return file;
    left.remove_prefix(std::min(colon + 1, left.size()));
  }
  return "";
}

std::string beginning_of(const std::string& path) {
  std::string text(kMostRead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

bool may_execute_another(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    // A text that is given to an interpreter, as after `sh -c`.
    if (i > 0 && word.find(kExec) != word.npos && word.find(' ') != word.npos) return true;
    const std::string file = word.empty() ? "" : file_of(word);
    if (file.empty()) continue;
    const std::string text = beginning_of(file);
    if (text.starts_with(kScript) && text.find(kExec) != text.npos) return true;
    if (i > 0 && text.starts_with(kElf)) return true;
  }
  return false;
}

}  // namespace causalctl::commands
