// Tests on memory of this process what mending a hole touches.
#include "unwind/stack/stack_holes.h"

#include <asm/perf_regs.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "controller/base/fd.h"
#include "controller/base/procfs.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 12;

// A guard page, a stack, another guard page; below them nothing is touched.
struct Pages {
  std::byte* start = nullptr;

  Pages() {
    void* memory =
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    start = static_cast<std::byte*>(memory);
    REQUIRE(mprotect(start, kPage, PROT_NONE) == 0);
    REQUIRE(mprotect(start + (kPages - 1) * kPage, kPage, PROT_NONE) == 0);
  }
  ~Pages() { munmap(start, kPages * kPage); }

  void touch(std::size_t page) const { *static_cast<volatile std::byte*>(at(page)) = std::byte{1}; }
  std::byte* at(std::size_t page) const { return start + page * kPage; }

  // Returns a digit for each page: 1 if it is there. Source: pagemap.rst, bit 63.
  std::string there() const {
    const Fd pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::array<std::uint64_t, kPages> entries{};
    const auto offset = reinterpret_cast<std::uintptr_t>(start) / kPage * sizeof entries[0];
    REQUIRE(pread(pagemap.get(), entries.data(), sizeof entries, static_cast<off_t>(offset)) ==
            sizeof entries);
    std::string digits;
    for (const std::uint64_t entry : entries) digits += (entry >> 63U) != 0 ? '1' : '0';
    return digits;
  }
};

}  // namespace

TEST_CASE("A hole in a stack is filled up to the stack's end", "[unwind]") {
  const Pages pages;
  pages.touch(3);
  pages.touch(9);
  REQUIRE(pages.there() == "000100000100");
  StackHoles holes(getpid());
  const std::byte* sp = pages.at(3) + 2048;
  // The copy of the kernel's ends at the page that is not there.
  CHECK(holes.mend(reinterpret_cast<Address>(sp), {sp, 2048}));
  CHECK(pages.there() == "000111111110");

  SECTION("its end is not read again") {
    CHECK_FALSE(holes.mend(reinterpret_cast<Address>(sp), {sp, 7 * kPage + 2048}));
    mprotect(pages.at(kPages - 1), kPage, PROT_READ);
    CHECK_FALSE(holes.mend(reinterpret_cast<Address>(sp), {sp, 7 * kPage + 2048}));
    holes.mappings_changed();
    CHECK(holes.mend(reinterpret_cast<Address>(sp), {sp, 7 * kPage + 2048}));
  }
}

TEST_CASE("The unwinder fills the holes of the stacks that it gets", "[unwind]") {
  const Pages pages;
  pages.touch(3);
  pages.touch(9);
  const std::byte* sp = pages.at(3) + 2048;
  Registers registers;
  registers.values[PERF_REG_X86_IP] = reinterpret_cast<Address>(&getpid);
  registers.values[PERF_REG_X86_SP] = reinterpret_cast<Address>(sp);
  Unwinder unwinder(getpid());
  (void)unwinder.unwind(registers, {sp, 2048}, 4);
  CHECK(pages.there() == "000111111110");
}

TEST_CASE("The stacks of blocked threads are mended at once", "[unwind]") {
  const Pages pages;
  // The thread stands on the stack above, and waits.
  ucontext_t thread_context{};
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const Fd from(pipe[0]);
  const Fd to(pipe[1]);
  static int waits_for;
  waits_for = from.get();
  std::thread thread([&] {
    ucontext_t other{};
    getcontext(&other);
    other.uc_stack.ss_sp = pages.at(1);
    other.uc_stack.ss_size = 4 * kPage;
    other.uc_link = &thread_context;
    makecontext(
        &other,
        +[] {
          char byte = 0;
          (void)!read(waits_for, &byte, 1);
        },
        0);
    swapcontext(&thread_context, &other);
  });
  // What lies above its frames was never touched, as it is with a large local array.
  StackHoles holes(getpid());
  while (pages.there().substr(5) != "1111110") {
    // Earlier cases may have left threads that wait.
    CHECK(holes.mend_all() <= procfs::threads(getpid()).size());
    std::this_thread::yield();
  }
  CHECK(pages.there()[0] == '0');
  REQUIRE(write(to.get(), "x", 1) == 1);
  thread.join();
}

TEST_CASE("Nothing is read where the copy was as long as asked, or empty", "[unwind]") {
  const Pages pages;
  pages.touch(3);
  StackHoles holes(getpid());
  CHECK_FALSE(holes.mend(reinterpret_cast<Address>(pages.at(3)), {pages.at(3), 2048}));
  CHECK_FALSE(holes.mend(reinterpret_cast<Address>(pages.at(5)), {}));
  CHECK(pages.there() == "000100000000");
}

}  // namespace causalctl::unwind
