// Tests processes with which the target exchanges wake-ups, and whose threads are followed, too.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "tests/kernel/perf/child.h"

namespace causalctl::perf::test {

namespace {

struct Ends {
  std::array<int, 2> ends{};
  Ends() = default;
  ~Ends() {
    for (const int end : ends) close(end);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
};

struct Line : Ends {  // both ends of a connection
  Line() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0); }
};

struct Pipe : Ends {  // what is read, what is written
  Pipe() { REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0); }
};

// Both ends of a conversation that is no connection.
struct Pipes {
  Pipe asked, answered;
};

// Answers so late that the asking thread is blocked by then.
void answer(int in, int out) {
  char request = 0;
  while (read(in, &request, 1) == 1 && usleep(500) == 0 && write(out, &request, 1) == 1) {
  }
}

void ask(int out, int in, int times) {
  char request = 'r';
  for (int i = 0; i < times && write(out, &request, 1) == 1 && read(in, &request, 1) == 1; ++i) {
    usleep(1000);
  }
}

std::vector<ThreadStartEvent> peer_starts(const std::vector<Event>& events) {
  auto found = only<ThreadStartEvent>(events);
  std::erase_if(found, [](const ThreadStartEvent& start) { return !start.is_peer; });
  return found;
}

// Returns false if this machine has no wake edges.
bool begin(Session& session, Child& target, Child& client) {
  if (!session.limits().wake_edges) {
    WARN("wake edges cannot be had here");
    return false;
  }
  session.start();
  target.go();
  client.go();
  return true;
}

}  // namespace

TEST_CASE("Who talks to the target is followed, with all its threads", "[perf]") {
  if (!perf_is_allowed()) return;
  const Pipes line;
  Child target([&] { answer(line.asked.ends[0], line.answered.ends[1]); });
  Child client([&] {
    std::thread other([] { usleep(10'000'000); });
    ask(line.asked.ends[1], line.answered.ends[0], 10'000);
  });
  Session session(target.pid(), either_way());
  if (!begin(session, target, client)) return;
  std::vector<Event> events;
  const auto both = [](const auto& so_far) { return peer_starts(so_far).size() == 2; };
  REQUIRE(drain_until(session, events, both));
  std::set<Tid> theirs;
  for (const auto& start : peer_starts(events)) theirs.insert(start.thread.tid);
  CHECK(theirs.contains(client.pid()));
  REQUIRE(session.peers().size() == 1);
  CHECK_THAT(session.peers()[0], Catch::EndsWith("(process " + std::to_string(client.pid()) + ")"));

  // The client wakes the target and is woken by it, and both run.
  events.clear();
  const auto enough = [&](const auto& so_far) { return so_far.size() > 200; };
  REQUIRE(drain_until(session, events, enough));
  int asked = 0, answered = 0, ran = 0;
  for (const auto& wake : only<WakeEvent>(events)) {
    asked += wake.waker.tid == client.pid() && wake.woken == target.pid();
    answered += wake.waker.tid == target.pid() && wake.woken == client.pid();
  }
  for (const auto& change : only<SwitchEvent>(events)) ran += change.thread.tid == client.pid();
  CHECK(asked > 10);
  CHECK(answered > 10);
  CHECK(ran > 10);

  // The client ends, and is forgotten.
  client.kill();
  const auto gone = [&](const auto& so_far) {
    const auto ended = only<ThreadExitEvent>(so_far);
    return std::all_of(theirs.begin(), theirs.end(), [&](Tid tid) {
      return std::any_of(ended.begin(), ended.end(),
                         [&](const ThreadExitEvent& end) { return end.thread.tid == tid; });
    });
  };
  CHECK(drain_until(session, events, gone));
  CHECK(session.target_alive());
}

TEST_CASE("Nobody is followed who is ours, or where that is not asked for", "[perf]") {
  if (!perf_is_allowed()) return;
  const bool ours = GENERATE(false, true);
  const Line line;
  Child target([&] { answer(line.ends[0], line.ends[0]); });
  Child client([&] { ask(line.ends[1], line.ends[1], 10'000); });
  SessionOptions options;
  options.peers = ours;
  if (ours) options.ours = {client.pid()};
  Session session(target.pid(), options);
  if (!begin(session, target, client)) return;
  std::vector<Event> events;
  const auto woken_often = [](const auto& so_far) { return only<WakeEvent>(so_far).size() > 100; };
  REQUIRE(drain_until(session, events, woken_often));
  drain_until(
      session, events, [](const auto&) { return false; }, 300 * kMillisecond);
  CHECK(peer_starts(events).empty());
}

TEST_CASE("Who is woken by the target, but does not wake it, is not followed", "[perf]") {
  if (!perf_is_allowed()) return;
  const Pipe line;
  const Pipe apart;
  Child target([&] {
    char request = 'r';
    while (write(line.ends[1], &request, 1) == 1 && usleep(500) == 0) {
    }
  });
  // It answers, but to another process.
  Child listener([&] {
    char request = 0;
    while (read(line.ends[0], &request, 1) == 1 && write(apart.ends[1], &request, 1) == 1) {
    }
  });
  Child stranger([&] {
    char request = 0;
    while (read(apart.ends[0], &request, 1) == 1) {
    }
  });
  stranger.go();
  Session session(target.pid(), either_way());
  if (!begin(session, target, listener)) return;
  std::vector<Event> events;
  const auto woken_often = [](const auto& so_far) { return only<WakeEvent>(so_far).size() > 1000; };
  REQUIRE(drain_until(session, events, woken_often));
  CHECK(peer_starts(events).empty());
  CHECK(session.peers().empty());
  CHECK(session.losses().records_lost == 0);
}

TEST_CASE("Who is connected with the target is followed, though it never wakes it", "[perf]") {
  if (!perf_is_allowed()) return;
  const Line line;
  // It never sleeps, as a server that has more requests than it can answer.
  Child target([&] {
    char request = 'r';
    while (write(line.ends[0], &request, 1) == 1) spin_for(500 * kMicrosecond);
  });
  Child client([&] {
    char request = 0;
    while (read(line.ends[1], &request, 1) == 1) {
    }
  });
  Session session(target.pid(), either_way());
  if (!begin(session, target, client)) return;
  std::vector<Event> events;
  const auto followed = [](const auto& so_far) { return !peer_starts(so_far).empty(); };
  REQUIRE(drain_until(session, events, followed));
  CHECK(peer_starts(events)[0].thread.tid == client.pid());
}

TEST_CASE("Who got a message or two is not followed", "[perf]") {
  if (!perf_is_allowed()) return;
  const Line line;
  Child target([&] {
    answer(line.ends[0], line.ends[0]);
    await_go();
  });
  Child client([&] {
    ask(line.ends[1], line.ends[1], 5);
    await_go();
  });
  Session session(target.pid(), either_way());
  if (!begin(session, target, client)) return;
  std::vector<Event> events;
  drain_until(
      session, events, [](const auto&) { return false; }, 500 * kMillisecond);
  CHECK(only<WakeEvent>(events).size() >= 3);
  CHECK(peer_starts(events).empty());
}

TEST_CASE("A peer that executes another program is followed under its new number", "[perf]") {
  if (!perf_is_allowed()) return;
  const Line line;
  Child target([&] { answer(line.ends[0], line.ends[0]); });
  Child client([&] {
    // A thread other than the main thread executes the program, and gets the main thread's number.
    std::thread([&] {
      ask(line.ends[1], line.ends[1], 300);  // until it is followed
      dup2(line.ends[1], 0);
      dup2(line.ends[1], 1);
      execl("/bin/sh", "sh", "-c", "while printf r && head -c 1 >/dev/null; do :; done", nullptr);
    }).join();
  });
  Session session(target.pid(), either_way());
  if (!begin(session, target, client)) return;
  std::vector<Event> events;
  std::set<Tid> alive;
  const auto one_left = [&](const auto& so_far) {
    alive.clear();
    std::size_t born = 0;
    for (const Event& event : so_far) {
      const auto* start = std::get_if<ThreadStartEvent>(&event);
      const auto* end = std::get_if<ThreadExitEvent>(&event);
      if (start != nullptr && start->is_peer) ++born, alive.insert(start->thread.tid);
      if (end != nullptr) alive.erase(end->thread.tid);
    }
    return born >= 3 && alive == std::set<Tid>{client.pid()};
  };
  CHECK(drain_until(session, events, one_left));
}

}  // namespace causalctl::perf::test
