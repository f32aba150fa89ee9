// Tests where the debug information of a stripped program is found.
#include <dlfcn.h>
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/kernel/unwind/symbol_checks.h"
#include "tests/kernel/unwind/target_program.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::unwind {
namespace {

void keep_debug(const std::string& file) {
  run_command(fmt::format("objcopy --only-keep-debug {} {}", target_path("symbols_dwarf5"), file));
}

// A program that serves the directory's files by HTTP; it writes its port to the file "port".
std::string file_server(const TemporaryDirectory& directory) {
  const std::string path = directory.path() + "/server";
  std::ofstream(path) << fmt::format(R"(#!/usr/bin/env python3
import functools, http.server
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments): pass
handler = functools.partial(Handler, directory="{}")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(f"entry port {{server.server_port:x}}\nready", flush=True)
server.serve_forever()
)",
                                     directory.path());
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

class SetVariable {  // sets an environment variable for the lifetime of the object
 public:
  SetVariable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~SetVariable() { unsetenv(name_); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("Debug information is found by .gnu_debuglink", "[unwind]") {
  const TemporaryDirectory directory;
  keep_debug(directory.path() + "/program.debug");
  const auto copy = stripped_copy(
      directory, "--strip-all --add-gnu-debuglink=" + directory.path() + "/program.debug");
  const TargetProgram target(copy);
  Symbolizer symbolizer(target.pid());
  check_lines(symbolizer, target);
  check_inline_chain(symbolizer, target);
  check_find_function(symbolizer, target);
}

TEST_CASE("Debug information is found by build-id", "[unwind]") {
  const TemporaryDirectory directory;
  const TargetProgram target(stripped_copy(directory, "--strip-all"));
  const auto id = Symbolizer(target.pid()).module_at(target.entry("original"))->build_id;
  REQUIRE(id.size() > 2);
  const auto below = directory.path() + "/debug/.build-id/" + id.substr(0, 2);
  std::filesystem::create_directories(below);
  keep_debug(below + "/" + id.substr(2) + ".debug");
  const SetVariable path("CAUSALCTL_DEBUG_PATH", directory.path() + "/debug");
  Symbolizer symbolizer(target.pid());
  check_lines(symbolizer, target);
  check_find_line(symbolizer, target);
}

TEST_CASE("A debug file of another build is not used, whatever its build-id", "[unwind]") {
  const TemporaryDirectory directory;
  const auto source = [](const std::string& first, const std::string& second) {
    return "#include <stdio.h>\n#include <unistd.h>\nvolatile long x;\n" + first + second +
           "int main(void) { puts(\"ready\"); fflush(stdout); for (;;) { item(1); work(2); "
           "pause(); "
           "} }\n";
  };
  const std::string item = "__attribute__((noinline)) void item(long n) { x = n; }\n";
  const std::string work =
      "__attribute__((noinline)) void work(long n) { x = n * 77 + x % 9; x = x / 5; x = x ^ n; }\n";
  std::ofstream(directory.path() + "/new.c") << source(item, work);
  std::ofstream(directory.path() + "/old.c") << source(work, item);
  std::ofstream(directory.path() + "/longer.c")
      << source("__attribute__((noinline)) void third(long n) { x = x * n + 7; }\n" + item, work);
  run_command(fmt::format(
      "cd {} && for each in new old longer; do cc -O1 -g -Wl,--export-dynamic $each.c -o $each "
      "-Wl,--build-id=0x1234567890abcdef1234567890abcdef12345678 && objcopy --only-keep-debug "
      "$each $each.debug || exit 1; done",
      directory.path()));
  struct Case {
    std::string debug;
    std::string kept;  // of the binary's own symbols
    bool used = false;
  };
  for (const auto& [debug, strip, used] :
       {Case{"new", "--strip-all", true}, Case{"old", "--strip-all", false},
        Case{"old", "--strip-debug", false}, Case{"longer", "--strip-all", false}}) {
    CAPTURE(debug, strip);
    run_command(
        fmt::format("cd {0} && cp {1}.debug prog.debug && rm -f prog && objcopy {2} "
                    "--add-gnu-debuglink=prog.debug new prog",
                    directory.path(), debug, strip));
    const TargetProgram target(directory.path() + "/prog");
    Symbolizer symbolizer(target.pid());
    CHECK(symbolizer.has_lines(symbolizer.find_function("main", "").at(0).address) == used);
  }
}

TEST_CASE("Debug information is found by debuginfod", "[unwind]") {
  if (dlopen("libdebuginfod.so.1", RTLD_LAZY) == nullptr) FAIL("install libdebuginfod1");
  const TemporaryDirectory directory;
  const TargetProgram target(stripped_copy(directory, "--strip-all"));
  const auto id = Symbolizer(target.pid()).module_at(target.entry("original"))->build_id;
  std::filesystem::create_directories(directory.path() + "/buildid/" + id);
  keep_debug(directory.path() + "/buildid/" + id + "/debuginfo");
  const TargetProgram server(file_server(directory));
  const SetVariable urls("DEBUGINFOD_URLS",
                         fmt::format("http://127.0.0.1:{}/", server.entry("port")));
  const SetVariable cache("DEBUGINFOD_CACHE_PATH", directory.path() + "/cache");
  const SetVariable proxy("no_proxy", "127.0.0.1");
  Symbolizer symbolizer(target.pid());
  check_lines(symbolizer, target);
  check_find_line(symbolizer, target);
}

}  // namespace causalctl::unwind
