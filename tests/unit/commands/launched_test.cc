#include "controller/commands/launched.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "controller/commands/wrapper.h"

namespace causalctl::commands {

TEST_CASE("causalctl ends with the status of its program as a shell does", "[commands]") {
  constexpr int kExit = 256;
  CHECK(exit_code_of(0) == ExitCode::ok);
  CHECK(static_cast<int>(exit_code_of(3 * kExit)) == 3);
  CHECK(static_cast<int>(exit_code_of(SIGABRT)) == 134);
  CHECK(static_cast<int>(exit_code_of(SIGSEGV | 0x80)) == 139);  // with a core
}

TEST_CASE("a program may execute another one that its words name", "[commands]") {
  const auto folder = std::filesystem::temp_directory_path() / "causalctl-wrapper-test";
  std::filesystem::create_directories(folder);
  const auto script = [&](const std::string& name, const char* text) {
    const auto path = folder / name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  };
  const auto may_execute = [&](const std::vector<std::string>& words) {
    return may_execute_another(words, folder.string(), "/nowhere:/usr/bin:/bin");
  };
  CHECK(may_execute({"taskset", "-c", "0", "/bin/true"}));
  CHECK(may_execute({"env", "A=1", "true"}));
  CHECK(may_execute({"sh", "-c", "export A=1; exec ./prog"}));
  CHECK(may_execute({"/bin/sh", script("starts", "#!/bin/sh\nexec ./prog\n")}));
  CHECK(may_execute({"/bin/sh", "./starts"}));  // from the program's working directory
  CHECK_FALSE(may_execute({"/bin/sh", script("calls", "#!/bin/sh\n./prog\ntrue\n")}));
  CHECK_FALSE(may_execute({"sh", "-c", "touch x; sleep 9"}));
  CHECK_FALSE(may_execute({"/bin/true", "--exec", "/etc/passwd", "1", ""}));
  CHECK_FALSE(may_execute({}));
  std::filesystem::remove_all(folder);
}

}  // namespace causalctl::commands
