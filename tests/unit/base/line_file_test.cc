// A log on a file that takes nothing: a terminal whose buffer is full and which nobody reads.
#include "controller/base/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl {
namespace {

constexpr std::string_view kTypes[] = {"run"};
constexpr LogKind kKind{"a log", kTypes, "", ""};

class FullTerminal {
 public:
  FullTerminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    REQUIRE(master_.get() >= 0);
    REQUIRE((::grantpt(master_.get()) == 0 && ::unlockpt(master_.get()) == 0));
    path_ = ::ptsname(master_.get());
    slave_ = Fd(::open(path_.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    const std::string text(4096, '.');
    while (::write(slave_.get(), text.data(), text.size()) > 0) continue;
  }
  const std::string& path() const { return path_; }
  void hang_up() { master_.reset(); }

 private:
  Fd master_;
  Fd slave_;
  std::string path_;
};

TEST_CASE("lines are appended to a file that takes nothing, without waiting", "[base]") {
  FullTerminal full;
  {
    LineFile file(full.path(), kKind);
    const Nanoseconds begin_ns = monotonic_now();
    for (int i = 0; i < 1000; ++i) file.append("a line\n");
    CHECK(monotonic_now() - begin_ns < 10 * kSecond);
    CHECK_FALSE(file.failed());

    SECTION("if it ends, that is told") {
      full.hang_up();
      CHECK_THROWS_AS(file.finish(), Error);
      CHECK(file.failed());
    }
    SECTION("at the end it is not waited for ever") {
      CHECK_THROWS_WITH(file.finish(50 * kMillisecond), Catch::Contains("does not answer"));
      CHECK(file.failed());
      CHECK_NOTHROW(file.finish());  // it has been told, and nobody waits again
      full.hang_up();
    }
    SECTION("no more lines are kept than fit into some memory") {
      const std::string mebibyte(1 << 20, 'x');
      const auto append_many = [&] {
        for (int i = 0; i < 65; ++i) file.append(mebibyte);
      };
      CHECK_THROWS_WITH(append_many(), Catch::Contains("does not answer"));
      CHECK(file.failed());
      full.hang_up();
    }
  }
}

}  // namespace
}  // namespace causalctl
