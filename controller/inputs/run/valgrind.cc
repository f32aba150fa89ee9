// Finds Valgrind and our tool for it.
//
// Valgrind looks for tools in one folder, which VALGRIND_LIB names. So that nothing has to be
// installed among the files of another package, a folder of links is made for each run.
#include "controller/inputs/run/valgrind.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "controller/base/error.h"
#include "controller/base/execute.h"
#include "controller/base/regular_file.h"

namespace causalctl::inputs {
namespace {

namespace files = std::filesystem;

constexpr const char* kToolName = "inputs-amd64-linux";
constexpr const char* kInstallHint = "install Valgrind: apt-get install valgrind";

std::string first_there(const std::vector<files::path>& places, const char* name) {
  std::error_code ignored;
  for (const files::path& place : places) {
    if (files::exists(place / name, ignored)) return place;
  }
  return {};
}

std::string find_tool() {
  std::error_code ignored;
  const files::path own = files::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string folder = first_there(
      {own / "controller/inputs/tool", own.parent_path() / "libexec/causalctl"}, kToolName);
  if (!folder.empty()) return files::path(folder) / kToolName;
  throw Error("causalctl was built without its Valgrind tool, so `inputs run` cannot work",
              "install Valgrind (apt-get install valgrind) and build causalctl again");
}

}  // namespace

Valgrind find_valgrind() {
  Valgrind found;
  found.launcher = file_of_program("valgrind", search_path({}));
  if (found.launcher.empty()) {
    throw Error("Valgrind, under which `inputs run` starts the program, is not in PATH",
                kInstallHint);
  }
  std::error_code ignored;
  const files::path prefix = files::canonical(found.launcher, ignored).parent_path().parent_path();
  found.parts = first_there({prefix / "libexec/valgrind", prefix / "lib/valgrind",
                             prefix / "lib/x86_64-linux-gnu/valgrind"},
                            "vgpreload_core-amd64-linux.so");
  if (found.parts.empty()) {
    throw Error(fmt::format("the parts of Valgrind are not beside {}", found.launcher),
                kInstallHint);
  }
  found.tool = find_tool();
  return found;
}

void check_program(const std::string& program) {
  const std::string file = file_of_program(program, search_path({}));
  if (file.empty()) {
    throw UsageError(
        fmt::format("cannot run '{}': there is no such program that may be executed", program),
        "give the path of an executable file, or a name that is in PATH");
  }
  Elf64_Ehdr head{};
  const Fd opened = open_regular(file);
  if (!opened || pread(opened.get(), &head, sizeof(head), 0) != sizeof(head)) return;
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return;  // a script
  if (head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == EM_X86_64) return;
  throw UsageError(fmt::format("cannot run '{}' under Valgrind: it is not for x86-64", program),
                   "build the program for x86-64");
}

std::string make_parts(const Valgrind& valgrind, const ScratchFolder& scratch) {
  std::string folder = scratch.file("valgrind");
  try {
    files::create_directory(folder);
    for (const auto& each : files::directory_iterator(valgrind.parts)) {
      files::create_symlink(each.path(), files::path(folder) / each.path().filename());
    }
    files::create_symlink(valgrind.tool, files::path(folder) / kToolName);
  } catch (const files::filesystem_error& error) {
    throw Error(fmt::format("cannot make the folder of Valgrind's parts: {}", error.what()),
                "set TMPDIR to a directory in which you may write");
  }
  return folder;
}

std::vector<std::string> words_for(const Valgrind& valgrind, const RunSettings& settings,
                                   const ScratchFolder& scratch) {
  std::vector<std::string> words = {
      valgrind.launcher,
      "--tool=inputs",
      "--command-line-only=yes",
      "--quiet",
      "--sigill-diagnostics=yes",
      "--vgdb=no",
      "--run-libc-freeres=no",
      "--run-cxx-freeres=no",
      "--fair-sched=try",  // paper, §5, "Thread interleaving"
      "--max-threads=5000",
      "--log-file=" + scratch.file(kMessagesFile),
      "--result=" + scratch.file(kResultFile),
      fmt::format("--cell-bits={}", std::countr_zero(settings.cell_bytes)),
      fmt::format("--aprof-compatible={}", settings.aprof_compatible ? "yes" : "no"),
      "--"};
  words.insert(words.end(), settings.command.begin(), settings.command.end());
  return words;
}

}  // namespace causalctl::inputs
