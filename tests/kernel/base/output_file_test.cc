// Output goes to the file that is meant, readable by its owner only, or nowhere.
#include "controller/base/output_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "controller/base/error.h"
#include "controller/causal/record/log.h"
#include "controller/commands/output.h"
#include "tests/support/folder.h"

namespace causalctl {
namespace {

namespace fs = std::filesystem;

using test::content;
using test::Folder;

// Tests both ways in which the user's files are written.
void write_report(const std::string& path) { commands::write_output(path, "report", ""); }
void write_log(const std::string& path) { causal::LogWriter(path).end(causal::Run()); }

struct stat status_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}

}  // namespace

TEST_CASE("A new output file is its owner's only", "[output]") {
  const Folder folder;
  const auto write = GENERATE(write_report, write_log);
  const mode_t before = ::umask(0);
  write(folder.file("new"));
  ::umask(before);
  CHECK((status_of(folder.file("new")).st_mode & 07777) == 0600);
  CHECK_FALSE(content(folder.file("new")).empty());
}

TEST_CASE("Nothing is written through a symbolic link", "[output]") {
  const Folder folder;
  const auto write = GENERATE(write_report, write_log);
  folder.write("victim", "precious");
  fs::create_symlink(folder.file("victim"), folder.file("link"));
  fs::create_symlink(folder.file("nowhere"), folder.file("dangling"));
  CHECK_THROWS_WITH(write(folder.file("link")), Catch::Contains("link"));
  CHECK_THROWS_AS(write(folder.file("dangling")), Error);
  CHECK(content(folder.file("victim")) == "precious");
  CHECK_FALSE(fs::exists(folder.file("nowhere")));
}

TEST_CASE("Nothing is written to a file with a second name", "[output]") {
  const Folder folder;
  const auto write = GENERATE(write_report, write_log);
  folder.write("victim", "precious");
  fs::create_hard_link(folder.file("victim"), folder.file("second"));
  CHECK_THROWS_WITH(write(folder.file("second")), Catch::Contains("hard links"));
  CHECK(content(folder.file("victim")) == "precious");
}

TEST_CASE("Nothing is written to a file that somebody else has put there", "[output]") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can give files away");
    return;
  }
  constexpr uid_t kSomebody = 65534;
  const Folder folder;
  const auto write = GENERATE(write_report, write_log);
  const std::string planted = R"({"type":"end","run":"planted"})";
  folder.write("planted", planted);
  REQUIRE(::chown(folder.file("planted").c_str(), kSomebody, kSomebody) == 0);
  CHECK_THROWS_WITH(write(folder.file("planted")), Catch::Contains("belongs to uid 65534"));
  CHECK(content(folder.file("planted")) == planted);

  // In a directory of that user the file is meant.
  REQUIRE(::chown(fs::path(folder.file("x")).parent_path().c_str(), kSomebody, kSomebody) == 0);
  CHECK_NOTHROW(write_log(folder.file("planted")));
  folder.write("theirs", "a report");
  REQUIRE(::chown(folder.file("theirs").c_str(), kSomebody, kSomebody) == 0);
  CHECK_NOTHROW(write_report(folder.file("theirs")));
}

TEST_CASE("An output file that is there is replaced by a report, and added to by a log",
          "[output]") {
  const Folder folder;
  folder.write("old", "longer than the report\n");
  ::chmod(folder.file("old").c_str(), 0640);
  write_report(folder.file("old"));
  CHECK(content(folder.file("old")) == "report");
  CHECK((status_of(folder.file("old")).st_mode & 07777) == 0640);  // the mode that its owner chose
  const std::string line = R"({"type":"run","version":1,"run":"r"})"
                           "\n";
  folder.write("log", line);
  write_log(folder.file("log"));
  CHECK_THAT(content(folder.file("log")), Catch::StartsWith(line + "{\"type\":\"end\""));
}

TEST_CASE("What is no log gets none appended", "[output]") {
  const Folder folder;
  for (const char* text : {"int main(void) {}\n", "\n\nnotes", "{\"type\":\"Feature\"}", "{}",
                           "\x7f"
                           "ELF",
                           "{\"version\": 1}", " "}) {
    folder.write("file", text);
    const auto refused = [](const UsageError& error) { return error.code() == ExitCode::usage; };
    CHECK_THROWS_MATCHES(causal::check_log(folder.file("file")), UsageError,
                         Catch::Predicate<UsageError>(refused));
    CHECK_THROWS_WITH(write_log(folder.file("file")),
                      Catch::Contains("/file is not an experiment log"));
    CHECK(content(folder.file("file")) == text);
  }
  // The file has the part of a first line that fitted on a full disk, or what a killed run wrote.
  for (const char* text :
       {"", "\n", "{\"ty", "{\"type\":\"ex", "\n{\"type\":\"samples\",", "{\"type\":\"end\"}\n"}) {
    folder.write("file", text);
    CHECK_NOTHROW(causal::check_log(folder.file("file")));
    CHECK_NOTHROW(write_log(folder.file("file")));
  }
}

TEST_CASE("Where no log can be is found out without making one", "[output]") {
  const Folder folder;
  CHECK_NOTHROW(causal::check_log(folder.file("new")));
  CHECK_FALSE(fs::exists(folder.file("new")));
  fs::create_directory(folder.file("directory"));
  CHECK_THROWS_WITH(causal::check_log(folder.file("directory")), Catch::Contains("a directory"));
  REQUIRE(::mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(causal::check_log(folder.file("fifo")), Catch::Contains("a pipe"));
  CHECK_THROWS_WITH(causal::check_log(folder.file("missing/log")), Catch::Contains("missing/log"));
  fs::create_symlink(folder.file("nowhere"), folder.file("link"));
  CHECK_THROWS_WITH(causal::check_log(folder.file("link")), Catch::Contains("link"));
  CHECK_NOTHROW(causal::check_log("/dev/null"));
}

TEST_CASE("A terminal that can only print gets no colours", "[output]") {
  const Fd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(terminal);
  REQUIRE(::grantpt(terminal.get()) == 0);
  REQUIRE(::unlockpt(terminal.get()) == 0);
  const Fd end(::open(::ptsname(terminal.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(end);
  const auto colored = [&](const char* term, const char* no_color, commands::Color color) {
    term != nullptr ? ::setenv("TERM", term, 1) : ::unsetenv("TERM");
    ::setenv("NO_COLOR", no_color, 1);
    return commands::use_color(color, end.get());
  };
  const std::string before = ::getenv("TERM") == nullptr ? "" : ::getenv("TERM");
  CHECK(colored("xterm", "", commands::Color::automatic));
  CHECK_FALSE(colored("xterm", "1", commands::Color::automatic));
  CHECK_FALSE(colored("dumb", "", commands::Color::automatic));
  CHECK_FALSE(colored("", "", commands::Color::automatic));
  CHECK_FALSE(colored(nullptr, "", commands::Color::automatic));
  CHECK(colored("dumb", "1", commands::Color::always));
  CHECK_FALSE(colored("xterm", "", commands::Color::never));
  ::setenv("TERM", before.c_str(), 1);
  ::unsetenv("NO_COLOR");
}

TEST_CASE("Devices can be written to, pipes cannot", "[output]") {
  const Folder folder;
  CHECK_NOTHROW(write_report("/dev/null"));
  CHECK_NOTHROW(write_log("/dev/null"));
  const std::string fifo = folder.file("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(write_report(fifo), Catch::Contains("is a pipe"));
  CHECK_THROWS_WITH(commands::check_output(fifo, ""), Catch::Contains("is a pipe"));
}

TEST_CASE("An old file stays until the new one is complete", "[output]") {
  const Folder folder;
  folder.write("old", "an old report");
  {
    const Replacement replacement(folder.file("old"), "");
    CHECK(content(folder.file("old")) == "an old report");
  }
  CHECK(content(folder.file("old")) == "an old report");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{100, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string failure;
  try {
    Replacement(folder.file("old"), "").complete(std::string(1000, 'x'));
  } catch (const Error& error) {
    failure = error.what();
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, before);
  CHECK_THAT(failure, Catch::Contains("old): File too large"));
  CHECK(content(folder.file("old")) == "an old report");
  const auto entries = fs::directory_iterator(fs::path(folder.file("old")).parent_path());
  CHECK(std::distance(begin(entries), end(entries)) == 1);
}

}  // namespace causalctl
