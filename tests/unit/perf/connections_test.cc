#include "controller/perf/connections.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>

#include <catch2/catch.hpp>
#include <cstring>

namespace causalctl::perf {
namespace {

constexpr const char* kTcp =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 10 "
    "1 0\n"
    "   1: 0100007F:2BCB 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 11 "
    "1 0\n"
    "   2: 0100007F:D431 0100007F:2BCB 01 00000000:00000000 00:00000000 00000000     0        0 12 "
    "1 0\n"
    "   3: 0100007F:2BCB 0100007F:D432 06 00000000:00000000 03:00000000 00000000     0        0 0 "
    "3 0\n";

void append(std::vector<char>& answer, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  answer.insert(answer.end(), bytes, bytes + size);
}

// A message about a Unix socket; one without a peer, if that is 0.
void add_socket(std::vector<char>& answer, __u32 inode, __u32 peer) {
  nlmsghdr header{};
  header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  header.nlmsg_len = NLMSG_HDRLEN + sizeof(unix_diag_msg) + (peer != 0 ? RTA_SPACE(4) : 0);
  unix_diag_msg message{};
  message.udiag_ino = inode;
  append(answer, &header, sizeof(header));
  append(answer, &message, sizeof(message));
  if (peer == 0) return;
  const rtattr attribute{RTA_LENGTH(4), UNIX_DIAG_PEER};
  append(answer, &attribute, sizeof(attribute));
  append(answer, &peer, sizeof(peer));
}

}  // namespace

TEST_CASE("ends of TCP connections", "[perf]") {
  const std::set<TcpEnd> server = parse_tcp_ends(kTcp, {10, 11});
  CHECK(server == std::set<TcpEnd>{{"0100007F:2BCB", "0100007F:D431"}});
  CHECK(parse_tcp_ends(kTcp, {12}) == std::set<TcpEnd>{{"0100007F:D431", "0100007F:2BCB"}});
  // A connection that ends has no socket.
  CHECK(parse_tcp_ends(kTcp, {0}).empty());
  CHECK(parse_tcp_ends("", {10}).empty());
  CHECK(parse_tcp_ends("  1: x", {10}).empty());
  // What is IPv4 within IPv6 is the other end of what is IPv4.
  CHECK(parse_tcp_ends(" 1: 0000000000000000FFFF00000100007F:2BCB "
                       "0000000000000000FFFF00000100007F:D431 01 0 0 0 0 0 7\n",
                       {7}) == server);
}

TEST_CASE("peers of Unix sockets", "[perf]") {
  std::vector<char> answer;
  add_socket(answer, 20, 0);
  add_socket(answer, 21, 22);
  add_socket(answer, 22, 21);
  CHECK(parse_unix_peers(answer, {21}) == std::set<std::uint64_t>{22});
  CHECK(parse_unix_peers(answer, {20, 22}) == std::set<std::uint64_t>{21});
  CHECK(parse_unix_peers(answer, {23}).empty());
  for (std::size_t size = 0; size < answer.size(); ++size) {
    const std::vector<char> cut(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(parse_unix_peers(cut, {22}).empty());
  }
}

}  // namespace causalctl::perf
