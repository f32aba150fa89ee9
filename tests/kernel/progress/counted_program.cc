#include "tests/kernel/progress/counted_program.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "controller/base/error.h"
#include "controller/perf/session.h"

namespace causalctl::counted {
namespace {

constexpr const char* kDriver = R"(#include <stdio.h>
#include <stdlib.h>
extern volatile long truth;
void work(long n);
int main(void) {
  char line[64];
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    for (long i = 0, n = atol(line); i < n; ++i) work(i);
    printf("%ld\n", truth);
    fflush(stdout);
  }
}
)";

}  // namespace

Program::Program(const std::string& source, const std::string& compile, const std::string& link,
                 const std::string& after) {
  const std::string file = write(source, compile);
  start(fmt::format("{} -c {} && {} prog.o driver.o -o prog {}{}{}", compile, file, compile, link,
                    after.empty() ? "" : " && ", after));
}

Program::Program(const InLibrary& made) {
  const std::string file = write(made.source, made.compile);
  start(
      fmt::format("{} -fPIC -shared {} -o libprog.so && "
                  "{} driver.o -o prog -L. -lprog -Wl,-rpath,$PWD",
                  made.compile, file, made.compile));
}

std::string Program::write(const std::string& source, const std::string& compile) {
  const bool cxx = compile.find("++") != std::string::npos;
  std::string file = cxx ? "prog.cc" : "prog.c";
  std::ofstream(directory_.path() + "/" + file) << source;
  std::ofstream(directory_.path() + "/driver.c") << kDriver;
  return file;
}

void Program::start(const std::string& commands) {
  const std::string& path = directory_.path();
  unwind::run_command(fmt::format("cd {} && cc -O1 -c driver.c && {}", path, commands));
  program_ = std::make_unique<unwind::TargetProgram>(path + "/prog");
  symbolizer_ = std::make_unique<unwind::Symbolizer>(program_->pid());
}

progress::Point Program::resolve(const std::string& spec) {
  return progress::resolve(spec, program_->pid(), *symbolizer_);
}

std::string Program::told(const std::string& spec) {
  try {
    return fmt::format("{}", fmt::join(resolve(spec).remarks, "\n"));
  } catch (const UsageError& error) {
    return error.what();
  }
}

Program::Counts Program::count(const std::string& spec) {
  perf::SessionOptions options;
  options.wake_edges = false;
  perf::Session session(program_->pid(), options);
  program_->send("0");
  const long before = std::stol(program_->receive());
  progress::arm({resolve(spec)}, program_->pid(), config::CountBy::automatic, session);
  session.start();
  program_->send(std::to_string(kRounds));
  const long after = std::stol(program_->receive());
  return {after - before, static_cast<long>(session.count(0))};
}

bool has(const std::string& command) {
  const bool found =
      std::system(fmt::format("command -v {} > /dev/null", command).c_str()) == 0;  // NOLINT
  if (!found) WARN("skipped: " << command << " is not installed");
  return found;
}

}  // namespace causalctl::counted
