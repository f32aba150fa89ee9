#include "controller/perf/connections.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "controller/base/clock.h"
#include "tests/kernel/perf/child.h"

namespace causalctl::perf::test {
namespace {

using Ends = std::array<int, 2>;

Ends unix_pair() {
  Ends ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return ends;
}

// A client that uses IPv4 is connected with a server that may use either.
Ends tcp_pair(int family) {
  const int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(listener >= 0);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_addr = in6addr_any;
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_6 = family == AF_INET6;
  REQUIRE(bind(listener,
               is_6 ? reinterpret_cast<sockaddr*>(&any) : reinterpret_cast<sockaddr*>(&loopback),
               is_6 ? sizeof(any) : sizeof(loopback)) == 0);
  REQUIRE(listen(listener, 1) == 0);
  sockaddr_in6 bound{};
  socklen_t size = sizeof(bound);
  REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size) == 0);
  loopback.sin_port = bound.sin6_port;  // at the same place in both
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(connect(client, reinterpret_cast<sockaddr*>(&loopback), sizeof(loopback)) == 0);
  const int server = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  REQUIRE(server >= 0);
  close(listener);
  return {server, client};
}

// A process that keeps `kept` alone of the two.
void keep(int kept, const Ends& ends) {
  for (const int end : ends) {
    if (end != kept) close(end);
  }
  await_go();
}

bool holds(Pid pid, int fd) {
  return access(("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd)).c_str(), F_OK) == 0;
}

}  // namespace

TEST_CASE("two processes are connected by the ends of one connection", "[perf]") {
  const std::string kind = GENERATE("Unix", "IPv4", "IPv6");
  INFO(kind);
  const Ends ends = kind == "Unix" ? unix_pair() : tcp_pair(kind == "IPv4" ? AF_INET : AF_INET6);
  Child server([&] { keep(ends[0], ends); });
  Child client([&] { keep(ends[1], ends); });
  Child stranger([&] { keep(-1, ends); });
  for (Child* each : {&server, &client, &stranger}) each->go();
  const auto closed = [&] {
    return !holds(server.pid(), ends[1]) && !holds(client.pid(), ends[0]) &&
           !holds(stranger.pid(), ends[0]) && !holds(stranger.pid(), ends[1]);
  };
  for (const Nanoseconds until_ns = monotonic_now() + 10 * kSecond; !closed();) {
    REQUIRE(monotonic_now() < until_ns);
    usleep(1000);
  }
  CHECK(are_connected(server.pid(), client.pid()));
  CHECK(are_connected(client.pid(), server.pid()));
  CHECK_FALSE(are_connected(server.pid(), stranger.pid()));
  CHECK_FALSE(are_connected(server.pid(), server.pid()));
  for (const int end : ends) close(end);
}

}  // namespace causalctl::perf::test
