#include "controller/session/process_table.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

namespace causalctl::session {

TEST_CASE("A row of the table of processes is what stat says", "[process_set]") {
  const auto row = parse_row(
      "71 (a) b (c) S 9 71 71 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 3 0 4711 1000 10 18446 1 1 0 "
      "0\n");
  REQUIRE(row);
  CHECK(*row == ProcessRow{71, 9, "a) b (c", 4711, false, false});
  CHECK(row->runs_program());
}

TEST_CASE("Kernel threads and zombies run no program", "[process_set]") {
  const auto kernel =
      parse_row("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 18446 0 0 0 0\n");
  REQUIRE(kernel);
  CHECK(kernel->is_kernel_thread);
  CHECK_FALSE(kernel->runs_program());
  const std::string start = "8 (x) Z 1 8 8 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 ";
  CHECK(parse_row(start + "1 0 77 0 0 18446")->has_ended);
  CHECK_FALSE(parse_row(start + "2 0 77 0 0 18446")->has_ended);  // other threads go on
}

TEST_CASE("A text that is no stat has no row", "[process_set]") {
  for (const char* text : {"", "1", "1 (x", "1 (x) S", ") 1 (", "x (y) S 1 1 1 0 -1 1 1 1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_row(text));
  }
}

TEST_CASE("A process with memory has pages", "[process_set]") {
  CHECK(parse_has_memory("612 90 80 10 0 100 0\n"));
  CHECK_FALSE(parse_has_memory("0 0 0 0 0 0 0\n"));
  CHECK_FALSE(parse_has_memory(""));
}

TEST_CASE("The table has this process, and kernel threads run no program", "[process_set]") {
  ProcFolder proc;
  const auto rows = proc.rows();
  const auto own = std::find_if(rows.begin(), rows.end(),
                                [](const ProcessRow& row) { return row.pid == getpid(); });
  REQUIRE(own != rows.end());
  CHECK(own->parent == getppid());
  CHECK(own->runs_program());
  CHECK(proc.row(getpid()) == *own);
  for (const ProcessRow& row : rows) {
    if (row.is_kernel_thread) CHECK_FALSE(proc.runs_program(row.pid));
  }
  CHECK(proc.runs_program(getpid()));
}

TEST_CASE("A file below /proc is read to its end", "[process_set]") {
  const std::string longest(10'000, 'x');
  const pid_t pid = fork();
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", "kill -STOP $$", longest.c_str(), nullptr);
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, WUNTRACED) == pid);
  REQUIRE(WIFSTOPPED(status));
  ProcFolder proc;
  const std::string words(proc.text_of(pid, "cmdline"));
  CHECK(words.ends_with(longest + '\0'));
  CHECK(proc.text_of(pid, "comm") == "sh\n");
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  CHECK(proc.text_of(pid, "comm").empty());
}

TEST_CASE("An entry of /proc stays the same as long as its process", "[process_set]") {
  const auto find_own = [] {
    const auto entries = proc_entries();
    CHECK(std::is_sorted(entries.begin(), entries.end()));
    const auto own = std::find_if(entries.begin(), entries.end(),
                                  [](const ProcEntry& entry) { return entry.pid == getpid(); });
    REQUIRE(own != entries.end());
    return *own;
  };
  CHECK(find_own() == find_own());
}

}  // namespace causalctl::session
