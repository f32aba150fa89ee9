#include "controller/base/execute.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "controller/base/error.h"
#include "controller/base/oom_score.h"
#include "controller/base/regular_file.h"

namespace causalctl {
namespace {

bool is_elf(const std::string& path) {
  std::string magic(SELFMAG, '\0');
  const Fd file = open_regular(path);
  return file && ::pread(file.get(), magic.data(), SELFMAG, 0) == SELFMAG && magic == ELFMAG;
}

std::string hint_for(int error) {
  if (error == ENOENT) return "give the path of the program, or a name that is in PATH";
  if (error == ENOEXEC) return "is it a program for another kind of machine?";
  return "is it an executable file that you may execute?";
}

}  // namespace

std::string file_of_program(const std::string& word, std::string_view paths,
                            const std::string& directory) {
  const auto program = [&](const std::string& path) -> std::string {
    std::error_code ignored;
    const bool is_below = !path.starts_with('/') && !directory.empty();
    const std::string file = is_below ? directory + "/" + path : path;
    const bool is_one =
        std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
    return is_one ? file : "";
  };
  if (word.find('/') != word.npos) return program(word);
  for (;;) {
    const auto colon = std::min(paths.find(':'), paths.size());
    const std::string folder(colon > 0 ? paths.substr(0, colon) : ".");
    if (std::string file = program(folder + "/" + word); !file.empty()) return file;
    if (colon == paths.size()) return "";
    paths.remove_prefix(colon + 1);
  }
}

std::string search_path(const std::map<std::string, std::string>& settings) {
  if (const auto set = settings.find("PATH"); set != settings.end()) return set->second;
  if (const char* ours = std::getenv("PATH")) return ours;
  std::string usual(::confstr(_CS_PATH, nullptr, 0), '\0');
  ::confstr(_CS_PATH, usual.data(), usual.size());
  return usual.substr(0, usual.find('\0'));
}

void execute(std::vector<std::string> words, const std::map<std::string, std::string>& settings,
             const std::string& directory) {
  be_ended_as_before();
  const auto reason = [](int error) { return std::generic_category().message(error); };
  if (!directory.empty() && chdir(directory.c_str()) != 0) {
    throw UsageError(fmt::format("cannot run in directory '{}': {}", directory, reason(errno)));
  }
  const std::string program = words.at(0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  bool is_set = true;
  for (const auto& [name, value] : settings) {
    is_set = is_set && setenv(name.c_str(), value.c_str(), 1) == 0;
  }
  // execvp() lets a shell run what the kernel cannot, which is right for scripts only.
  const bool is_binary = program.find('/') != program.npos && is_elf(program);
  if (is_set) (is_binary ? execv : execvp)(arguments[0], arguments.data());
  const int error = errno;
  throw UsageError(fmt::format("cannot run '{}': {}", program, reason(error)), hint_for(error));
}

}  // namespace causalctl
