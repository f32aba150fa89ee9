#include "controller/commands/wrapper.h"

#include <unistd.h>

#include <algorithm>

#include "controller/base/execute.h"
#include "controller/base/regular_file.h"

namespace causalctl::commands {
namespace {

constexpr std::string_view kExec = "exec";
constexpr std::string_view kScript = "#!";
constexpr std::string_view kElf = "\177ELF";
constexpr std::size_t kMostRead = 64 << 10;

std::string beginning_of(const std::string& path) {
  const Fd file = open_regular(path);
  std::string text(kMostRead, '\0');
  const ssize_t size = file ? ::pread(file.get(), text.data(), text.size(), 0) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

}  // namespace

bool may_execute_another(const std::vector<std::string>& words, const std::string& directory,
                         std::string_view paths) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    // A text that is given to an interpreter, as after `sh -c`.
    if (i > 0 && word.find(kExec) != word.npos && word.find(' ') != word.npos) return true;
    const std::string file = word.empty() ? "" : file_of_program(word, paths, directory);
    if (file.empty()) continue;
    const std::string text = beginning_of(file);
    if (text.starts_with(kScript) && text.find(kExec) != text.npos) return true;
    if (i > 0 && text.starts_with(kElf)) return true;
  }
  return false;
}

}  // namespace causalctl::commands
