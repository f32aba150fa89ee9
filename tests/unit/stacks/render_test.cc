// Tests how stacks are shown: grouped, in full, as JSON, with what the target chose as names.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "controller/report/stacks/model.h"
#include "tests/unit/report/golden_path.h"

namespace causalctl::report::stacks {

namespace {

Frame frame(const std::string& function, int line = 0, bool inlined = false) {
  Frame each;
  each.function = function;
  if (line > 0) each.file = "/src/server.c";
  each.line = line;
  each.module = "/usr/bin/server";
  each.offset = 0x1000 + static_cast<Address>(line);
  each.inlined = inlined;
  return each;
}

Thread waiting(Tid tid, const std::string& waits_in, const std::string& name = "worker") {
  Thread thread;
  thread.tid = tid;
  thread.name = name;
  thread.state = State::blocked;
  thread.waits_in = waits_in;
  thread.cpu_ns = tid * kMillisecond;
  thread.taken = Taken::without_stop;
  thread.frames = {frame("epoll_wait"), frame("event_loop", 20), frame("main", 30)};
  thread.complete = true;
  return thread;
}

Process server() {
  Process process;
  process.pid = 1;
  process.name = "server";
  process.program = "/usr/bin/server";
  Thread busy;
  busy.tid = 2;
  busy.name = "busy";
  busy.state = State::running;
  busy.taken = Taken::in_a_stop;
  busy.held_ns = 40 * kMicrosecond;
  busy.at_most_ns = 70 * kMicrosecond;
  busy.cpu_ns = 2 * kSecond;
  busy.frames = {frame("hash", 5, true), frame("lookup", 9), frame("server+0x123")};
  busy.remark = "nothing tells the caller of server+0x123";
  process.threads = {busy, waiting(3, "epoll_wait(5)"), waiting(4, "epoll_wait(6)")};
  return process;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("threads with one stack are shown together", "[stacks]") {
  const std::string text = render_text(server(), {});
  CHECK(text ==
        "process 1 (server), /usr/bin/server: 3 threads, 1 running\n"
        "\n"
        "thread 2 \"busy\": running, CPU 2.0 s\n"
        "  #0 hash at server.c:5 (server) [inlined]\n"
        "  #1 lookup at server.c:9 (server)\n"
        "  #2 server+0x123\n"
        "  incomplete: nothing tells the caller of server+0x123\n"
        "\n"
        "2 threads 3, 4 \"worker\": blocked in epoll_wait, CPU 3 ms to 4 ms\n"
        "  #0 epoll_wait (server)\n"
        "  #1 event_loop at server.c:20 (server)\n"
        "  #2 main at server.c:30 (server)\n");
}

TEST_CASE("files of one name are told apart", "[stacks]") {
  Process process = server();
  Frame& one = process.threads[0].frames[1];
  Frame& other = process.threads[1].frames[1];
  one.file = "/src/s1/u.c";
  one.module = "/usr/lib/a/libx.so";
  other.file = "/src/s2/u.c";
  other.module = "/usr/lib/b/libx.so";
  Frame& place = process.threads[0].frames[2];
  place.function = "libx.so+0x123";
  place.module = one.module;
  const std::string text = render_text(process, {.each = true});
  CHECK(contains(text, " at s1/u.c:9 (a/libx.so)\n"));
  CHECK(contains(text, " at s2/u.c:20 (b/libx.so)\n"));
  CHECK(contains(text, "libx.so+0x123 (a/libx.so)\n"));
}

TEST_CASE("each thread is shown by itself, with its times", "[stacks]") {
  const std::string text = render_text(server(), {.each = true, .times = true});
  CHECK(contains(text, "thread 3 \"worker\": blocked in epoll_wait(5), CPU 3 ms\n"));
  CHECK(contains(text, "thread 4 \"worker\": blocked in epoll_wait(6), CPU 4 ms\n"));
  CHECK(contains(text, "  stopped for 40 µs, 70 µs at most\n"));
  CHECK(contains(text, "  read without a stop\n"));
}

TEST_CASE("a difference in any frame keeps threads apart", "[stacks]") {
  std::vector<Thread> threads = {waiting(3, ""), waiting(4, ""), waiting(5, "")};
  CHECK(groups_of(threads) == std::vector<std::vector<std::size_t>>{{0, 1, 2}});
  threads[1].frames[2].offset ^= 1;
  CHECK(groups_of(threads) == std::vector<std::vector<std::size_t>>{{0, 2}, {1}});
  threads[2].state = State::stopped;
  CHECK(groups_of(threads).size() == 3);
}

TEST_CASE("many threads and deep stacks are cut in the text only", "[stacks]") {
  Process process;
  for (Tid tid = 1; tid <= 40; ++tid) {
    process.threads.push_back(waiting(tid, "futex", "w" + std::to_string(tid)));
  }
  const std::string together = render_text(process, {});
  CHECK(contains(together,
                 "40 threads 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 28 more "
                 "\"w1\", \"w2\", \"w3\", …: blocked in futex,"));
  process.threads.resize(1);
  process.threads[0].frames.assign(1000, frame("deeper", 7));
  const std::string deep = render_text(process, {});
  CHECK(contains(deep, "  #127 deeper"));
  CHECK(contains(deep, "… 744 frames; --format json has them\n  #872 deeper"));
  CHECK(contains(deep, "  #999 deeper"));
  CHECK(nlohmann::json::parse(render_json(process))["threads"][0]["frames"].size() == 1000);
}

TEST_CASE("names of the target's cannot reach the terminal as commands", "[stacks]") {
  Process process = server();
  process.name = "a\033[2J";
  process.threads[0].name = "b\n\033[1m";
  process.threads[0].frames[0].function = "f\033c";
  const std::string text = render_text(process, {});
  CHECK_FALSE(contains(text, "\033"));
  process.threads[0].name = "\xff";
  CHECK_NOTHROW(render_json(process));
}

TEST_CASE("a thread that was not read says why", "[stacks]") {
  Process process = server();
  process.threads[0].taken = Taken::not_read;
  process.threads[0].frames.clear();
  process.threads[0].remark = "process 9 (gdb) traces it, and a thread has one tracer";
  CHECK(contains(render_text(process, {}), "  no stack: process 9 (gdb) traces it"));
}

TEST_CASE("a process of a set that was not read is told of in a line", "[stacks]") {
  CHECK(render_text(NotRead{12, "a\033", true, "no such process: 12"}) ==
        "process 12 (a?): no stacks: it has ended\n");
  CHECK(render_text(NotRead{12, "a", false, "process 12 (a) cannot be traced"}) ==
        "process 12 (a): no stacks: process 12 (a) cannot be traced\n");
}

TEST_CASE("the document of a set has those of its processes", "[stacks]") {
  const std::string one = render_json(server());
  const SetHead head{"--match \xff (3 processes)", {{12, "a\xff", true, "gone"}}, {"a warning"}};
  const auto json = nlohmann::json::parse(render_json(head, {one, one}));
  CHECK(json["version"] == 1);
  CHECK(json["processes"].size() == 2);
  CHECK(json["processes"][1] == nlohmann::json::parse(one));
  CHECK(json["not_read"][0]["pid"] == 12);
  CHECK(json["not_read"][0]["ended"] == true);
  CHECK(json["warnings"][0] == "a warning");
  const auto none = nlohmann::json::parse(render_json(SetHead{}, {}));
  CHECK(none["processes"].empty());
  CHECK(none["warnings"].empty());
}

TEST_CASE("docs/stacks.md names each key of the JSON output", "[stacks]") {
  std::ostringstream page;
  page << std::ifstream(std::string(GOLDEN_FOLDER) + "/../../docs/stacks.md").rdbuf();
  const auto json = nlohmann::json::parse(render_json(server()));
  std::set<std::string> keys;
  const auto add = [&](const nlohmann::json& object) {
    for (const auto& [key, value] : object.items()) keys.insert(key);
  };
  add(json);
  add(json["threads"][0]);
  add(json["threads"][0]["frames"][0]);
  const auto set = nlohmann::json::parse(render_json({"", {{12, "a", true, ""}}, {}}, {}));
  add(set);
  add(set["not_read"][0]);
  CHECK(keys.size() > 20);
  for (const std::string& key : keys) {
    CAPTURE(key);
    CHECK(contains(page.str(), "`" + key + "`"));
  }
}

}  // namespace causalctl::report::stacks
