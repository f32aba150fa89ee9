#include "controller/session/process_set.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "controller/base/procfs.h"
#include "controller/session/process_table.h"

using Catch::Matchers::Contains;

namespace causalctl::session {
namespace {

// A child that waits, and may be called something.
class WaitingChild {
 public:
  explicit WaitingChild(const char* name = nullptr) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      if (name != nullptr) prctl(PR_SET_NAME, name);
      (void)!write(ends[1], "r", 1);
      while (true) ::pause();
    }
    char byte = 0;
    REQUIRE(read(ends[0], &byte, 1) == 1);
    close(ends[0]);
    close(ends[1]);
  }
  ~WaitingChild() { end(); }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;

  Pid pid() const { return pid_; }
  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

constexpr Pid kNoPid = 0x7ffffff;  // above the largest one of the kernel

bool has_member(BoundedSet& set, Pid pid) {
  const std::vector<Pid> pids = set.present();
  CHECK(std::is_sorted(pids.begin(), pids.end()));
  return std::binary_search(pids.begin(), pids.end(), pid);
}

}  // namespace

TEST_CASE("Given processes are members while they are there", "[process_set]") {
  WaitingChild a, b;
  const auto set = make_process_set({SetKind::processes, {a.pid(), b.pid(), kNoPid}, ""}, {});
  CHECK_FALSE(set->takes_children());
  CHECK_FALSE(set->is_open());
  std::vector<Pid> both = {a.pid(), b.pid()};
  std::sort(both.begin(), both.end());
  CHECK(set->present() == both);
  CHECK(set->after_exec(a.pid(), {"other"}, true));
  CHECK_FALSE(set->after_exec(getpid(), {"other"}, false));
  a.end();
  CHECK(set->present() == std::vector<Pid>{b.pid()});
  CHECK(set->text_of_left_out().empty());
  b.end();
  CHECK(set->present().empty());
}

TEST_CASE("Children are all below a process, without causalctl", "[process_set]") {
  WaitingChild a, b;
  const auto set = make_process_set({SetKind::children, {getpid()}, ""}, {b.pid()});
  CHECK(set->takes_children());
  CHECK_FALSE(set->is_open());
  CHECK(has_member(*set, getpid()));
  CHECK(has_member(*set, a.pid()));
  CHECK_FALSE(has_member(*set, b.pid()));
  CHECK(set->after_exec(a.pid(), {"other"}, true));
  CHECK_FALSE(set->after_exec(b.pid(), {"other"}, false));
}

TEST_CASE("Namesakes are members until they execute another program", "[process_set]") {
  WaitingChild a("set_name_a"), b("set_name_b");
  const auto set = make_process_set({SetKind::match, {}, "set_name_?"}, {});
  CHECK(set->takes_children());
  CHECK(set->is_open());
  CHECK(has_member(*set, a.pid()));
  CHECK(has_member(*set, b.pid()));
  CHECK_FALSE(has_member(*set, getpid()));
  CHECK(set->after_exec(a.pid(), {"set_name_c"}, true));
  CHECK_FALSE(set->after_exec(a.pid(), {"sh"}, true));
  CHECK(set->after_exec(getpid(), {"set_name_c"}, false));
  CHECK(set->after_exec(kNoPid, {"sh", "/opt/set_name_e"}, true));  // it is gone by now
  CHECK(set->after_exec(a.pid(), {"sh", "/opt/set_name_e"}, true));
  CHECK_FALSE(set->after_exec(kNoPid, {"sh"}, true));
  const auto one = make_process_set({SetKind::match, {}, "set_name_a"}, {});
  CHECK(one->present() == std::vector<Pid>{a.pid()});
}

TEST_CASE("An open set has nothing that causalctl has started", "[process_set]") {
  WaitingChild a("set_name_d");
  for (const auto& description :
       {SetDescription{SetKind::match, {}, "set_name_d"}, SetDescription{SetKind::all, {}, ""}}) {
    CHECK(has_member(*make_process_set(description, {}), a.pid()));
    const auto set = make_process_set(description, {getpid()});
    CHECK_FALSE(has_member(*set, a.pid()));
    CHECK_FALSE(has_member(*set, getpid()));
    CHECK_FALSE(set->after_exec(a.pid(), {"set_name_d"}, false));
  }
}

TEST_CASE("All processes are no kernel threads", "[process_set]") {
  const auto set = make_process_set({SetKind::all, {}, ""}, {});
  CHECK(set->takes_children());
  CHECK(set->is_open());
  CHECK(has_member(*set, getpid()));
  CHECK(set->after_exec(getpid(), {"x"}, false));
  for (const Pid member : set->present()) {
    const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", member));
    const auto row = stat ? parse_row(*stat) : std::nullopt;
    if (!row) continue;  // it has ended since
    CAPTURE(member, row->name);
    CHECK_FALSE(row->is_kernel_thread);
  }
}

TEST_CASE("A cgroup or a unit that is not there has no members", "[process_set]") {
  for (const SetKind kind : {SetKind::cgroup, SetKind::service}) {
    const auto set = make_process_set({kind, {}, "there-is-no-such-thing"}, {});
    CHECK(set->takes_children());
    CHECK(set->is_open());
    CHECK(set->present().empty());
    CHECK_FALSE(set->after_exec(getpid(), {"x"}, true));
  }
}

TEST_CASE("A set that is too large says how many are left out", "[process_set]") {
  WaitingChild a("set_name_e"), b("set_name_e"), c("set_name_e");
  const SetDescription description{SetKind::match, {}, "set_name_e"};
  const auto set = make_process_set(description, {}, 2);
  CHECK(set->present().size() == 2);
  CHECK(set->present() == set->present());  // the same ones at each look
  CHECK_THAT(set->text_of_left_out(), Contains("2, the most, are watched, and at least 1 is left"));
  a.end();
  b.end();
  CHECK(set->present() == std::vector<Pid>{c.pid()});
  CHECK_FALSE(set->text_of_left_out().empty());  // what was left out stays so
  CHECK(make_process_set(description, {}, 1)->text_of_left_out().empty());
}

TEST_CASE("Members that come later are within the bound as well", "[process_set]") {
  const auto set = make_process_set({SetKind::all, {}, ""}, {}, 2);
  CHECK(set->has_room(10, 0));
  CHECK(set->has_room(11, 1));
  CHECK(set->text_of_left_out().empty());
  CHECK_FALSE(set->has_room(12, 2));
  CHECK_FALSE(set->has_room(13, 2));
  CHECK_FALSE(set->has_room(12, 2));  // as it executes a program
  CHECK_THAT(set->text_of_left_out(), Contains("at least 2 are left out"));
}

}  // namespace causalctl::session
