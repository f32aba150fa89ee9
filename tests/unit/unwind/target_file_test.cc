#include "unwind/modules/target_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace causalctl::unwind {
namespace {

constexpr std::size_t kCodePage = 4096;

struct MappedCode {  // a file, mapped in this process
  explicit MappedCode(std::size_t pages)
      : file(std::tmpfile(), std::fclose), text(pages * kCodePage, 'x') {
    REQUIRE(::pwrite(fd(), text.data(), text.size(), 0) == std::ssize(text));
    memory = static_cast<char*>(
        ::mmap(nullptr, text.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd(), 0));
    line.start = reinterpret_cast<std::uintptr_t>(memory);  // NOLINT(*-reinterpret-cast)
    line.end = line.start + text.size();
  }
  ~MappedCode() { ::munmap(memory, text.size()); }
  int fd() const { return ::fileno(file.get()); }
  bool same() const { return same_code(fd(), ::getpid(), {line}); }

  std::unique_ptr<FILE, int (*)(FILE*)> file;
  std::string text;
  char* memory;
  procfs::Map line;
};

}  // namespace

TEST_CASE("code of the same layout that differs in a byte is another file's", "[unwind]") {
  MappedCode code(5);
  CHECK(code.same());
  code.memory[3 * kCodePage + 100] = '\xcc';  // a breakpoint
  CHECK(code.same());
  code.memory[3 * kCodePage + 101] = 'y';
  CHECK_FALSE(code.same());
}

TEST_CASE("of long code some pages are compared", "[unwind]") {
  MappedCode code(3000);
  CHECK(code.same());
  for (std::size_t page = 1000; page < 1010; ++page) code.memory[page * kCodePage] = 'y';
  CHECK_FALSE(code.same());
}

}  // namespace causalctl::unwind
