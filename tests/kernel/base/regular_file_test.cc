// Names of others lead only to regular files, also where a library opens them.
#include "controller/base/regular_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "controller/base/error.h"
#include "tests/support/folder.h"

namespace causalctl {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

// A folder with a file of each kind.
struct Kinds : test::Folder {
  Kinds() {
    write("regular", "text");
    fs::create_symlink("regular", file("link"));
    REQUIRE(::mkfifo(file("fifo").c_str(), 0600) == 0);
    fs::create_symlink("fifo", file("link_to_fifo"));
    fs::create_directory(file("folder"));
    write("empty", "");
    write("sparse", "");
    fs::resize_file(file("sparse"), 1ULL << 40U);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, file("socket").c_str(), sizeof address.sun_path - 1);
    REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    ::close(socket);
  }
};

int error_of(const std::string& path) {
  const Fd file = open_regular(path);
  return file ? 0 : errno;
}

// What a library calls: our own code calls open64().
int error_of_library(const std::string& path, int flags = O_RDONLY) {
  using Open = int (*)(const char*, int, ...);
  static const auto open = reinterpret_cast<Open>(::dlsym(RTLD_DEFAULT, "open"));
  const Fd file(open(path.c_str(), flags, 0600));
  return file ? 0 : errno;
}

}  // namespace

TEST_CASE("only regular files are opened", "[regular_file]") {
  const Kinds folder;
  for (const auto& error :
       {error_of, +[](const std::string& path) { return error_of_library(path); }}) {
    CHECK(error(folder.file("regular")) == 0);
    CHECK(error(folder.file("link")) == 0);
    CHECK(error(folder.file("none")) == ENOENT);
    for (const char* name : {"fifo", "link_to_fifo", "socket"}) {
      CAPTURE(name);
      CHECK(error(folder.file(name)) == ENOTSUP);
    }
    CHECK(error("/dev/zero") == ENOTSUP);
    CHECK(error("/dev/tty") == ENOTSUP);
    CHECK(error(folder.file("empty")) == ENODATA);
    CHECK(error("/proc/version") == ENODATA);
    CHECK(error(folder.file("sparse")) == EFBIG);
  }
  CHECK(error_of("/proc/self/maps") == ENODATA);
  CHECK(error_of(folder.file("folder")) == ENOTSUP);
  CHECK(error_of("/dev/null") == ENOTSUP);
}

TEST_CASE("what else a library opens is opened", "[regular_file]") {
  const Kinds folder;
  CHECK(error_of_library(folder.file("folder")) == 0);
  CHECK(error_of_library("/dev/null") == 0);
  CHECK(error_of_library("/dev/urandom") == 0);
  CHECK(error_of_library("/proc/self/maps") == 0);
  CHECK(error_of_library(folder.file("new"), O_RDWR | O_CREAT) == 0);
  CHECK((fs::status(folder.file("new")).permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a FIFO is not opened, not even for a moment", "[regular_file]") {
  const Kinds folder;
  const Fd reader(::open(folder.file("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Fd writer(::open(folder.file("fifo").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE((reader && writer));
  REQUIRE(::write(writer.get(), "x", 1) == 1);
  CHECK(error_of(folder.file("fifo")) == ENOTSUP);
  char byte = 0;
  CHECK(::read(reader.get(), &byte, 1) == 1);
}

TEST_CASE("what the user names may be a pipe", "[regular_file]") {
  const Kinds folder;
  CHECK(read_input(folder.file("regular"), 4, "") == "text");
  CHECK(read_input(folder.file("empty"), 4, "").empty());
  CHECK_THROWS_WITH(read_input(folder.file("fifo"), 4, ""), Contains("to which nobody writes"));
  CHECK_THROWS_WITH(read_input(folder.file("regular"), 3, ""), Contains("too large"));
  CHECK_THROWS_WITH(read_input("/dev/zero", 9, ""), Contains("/dev/zero is a device"));
  CHECK_THROWS_WITH(read_input(folder.file("folder"), 9, ""), Contains("is a directory"));
  CHECK_THROWS_WITH(read_input(folder.file("none"), 9, ""), Contains("No such file"));
  const Fd other(::open(folder.file("fifo").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::write(other.get(), "through it", 10) == 10);
  CHECK_THROWS_WITH(read_input(folder.file("fifo"), 9, ""), Contains("too large"));
}

TEST_CASE("a mapped file that is cut reads as zeros", "[regular_file]") {
  const Kinds folder;
  struct sigaction before {};
  REQUIRE(::sigaction(SIGBUS, nullptr, &before) == 0);
  survive_cut_files();
  fs::resize_file(folder.file("regular"), 8192);
  const Fd file = open_regular(folder.file("regular"));
  const Mapping mapped(::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, file.get(), 0), 8192);
  const volatile std::byte* bytes = mapped.data();
  CHECK(bytes[0] == std::byte('t'));
  fs::resize_file(folder.file("regular"), 0);
  CHECK(bytes[0] == std::byte(0));
  CHECK(bytes[4097] == std::byte(0));
  ::sigaction(SIGBUS, &before, nullptr);
}

}  // namespace causalctl
