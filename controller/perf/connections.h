// Tells whether two processes talk over a connection of this machine: a TCP connection, or a pair
// of Unix sockets. Wake-ups do not tell it where both sides are so busy that neither ever sleeps.
//
// Sources: proc_net(5) and proc_pid_fd(5) for TCP, sock_diag(7) for Unix sockets.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::perf {

// A TCP connection as one of its ends sees it: its own address and port, those of the other end.
using TcpEnd = std::pair<std::string, std::string>;

// Returns the ends that sockets of `inodes` are, given a text of /proc/PID/net/tcp or tcp6. An IPv4
// address within IPv6 is written as that of IPv4. Pure.
std::set<TcpEnd> parse_tcp_ends(std::string_view text, const std::set<std::uint64_t>& inodes);

// Returns the inodes of the sockets that are connected with those of `inodes`, given the answer of
// sock_diag(7) to a request for all Unix sockets. Pure.
std::set<std::uint64_t> parse_unix_peers(const std::vector<char>& answer,
                                         const std::set<std::uint64_t>& inodes);

// Returns whether one process holds one end of a connection, and the other the other end. Returns
// false if that cannot be read: of a process that may not be inspected, and of Unix sockets in
// another network namespace than ours. Takes about 1 ms for each 1,000 sockets.
bool are_connected(Pid a, Pid b);

}  // namespace causalctl::perf
