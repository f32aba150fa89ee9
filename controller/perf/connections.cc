#include "controller/perf/connections.h"

#include <dirent.h>
#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

#include "controller/base/fd.h"
#include "controller/base/procfs.h"

namespace causalctl::perf {
namespace {

constexpr std::string_view kSocket = "socket:[";
constexpr std::string_view kMapped = "0000000000000000FFFF0000";  // ::ffff:0:0/96, as /proc has it
constexpr std::string_view kEstablished = "01";
constexpr std::uint32_t kEstablishedUnix = 1;  // TCP_ESTABLISHED, which af_unix uses, too
constexpr std::size_t kAnswer = 32768;         // bytes of a part of an answer
constexpr timeval kAnswerPatience{1, 0};

// Fields of a line of /proc/net/tcp.
enum : std::size_t { kLocal = 1, kRemote = 2, kState = 3, kInode = 9, kFields = 10 };

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::set<std::uint64_t> sockets_of(Pid pid) {
  std::set<std::uint64_t> inodes;
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(opendir(folder.c_str()), closedir);
  if (!opened) return inodes;
  while (const dirent* entry = readdir(opened.get())) {
    std::array<char, 64> target{};
    const ssize_t length =
        readlinkat(dirfd(opened.get()), entry->d_name, target.data(), target.size());
    if (length <= 0) continue;
    std::string_view text(target.data(), static_cast<std::size_t>(length));
    if (!text.starts_with(kSocket)) continue;
    text.remove_prefix(kSocket.size());
    inodes.insert(number_of(text));
  }
  return inodes;
}

std::array<std::string_view, kFields> fields_of(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  for (std::string_view& field : fields) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    field = line.substr(0, line.find(' '));
    line.remove_prefix(field.size());
  }
  return fields;
}

std::string plain(std::string_view address) {
  if (address.starts_with(kMapped)) address.remove_prefix(kMapped.size());
  return std::string(address);
}

std::set<TcpEnd> tcp_ends_of(Pid pid, const std::set<std::uint64_t>& inodes) {
  std::set<TcpEnd> all;
  for (const char* file : {"tcp", "tcp6"}) {
    const auto text = procfs::read_text(fmt::format("/proc/{}/net/{}", pid, file));
    if (text) all.merge(parse_tcp_ends(*text, inodes));
  }
  return all;
}

// Returns the answer of sock_diag(7) to a request for all connected Unix sockets and their peers;
// what came of it, if it fails.
std::vector<char> all_unix_sockets() {
  std::vector<char> answer;
  const Fd diag(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!diag) return answer;
  setsockopt(diag.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerPatience, sizeof(kAnswerPatience));
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } message{};
  message.header.nlmsg_len = sizeof(message);
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.request.sdiag_family = AF_UNIX;
  message.request.udiag_states = 1U << kEstablishedUnix;
  message.request.udiag_show = UDIAG_SHOW_PEER;
  if (send(diag.get(), &message, sizeof(message), 0) != sizeof(message)) return answer;
  for (;;) {
    const std::size_t before = answer.size();
    answer.resize(before + kAnswer);
    const ssize_t got = recv(diag.get(), answer.data() + before, kAnswer, 0);
    answer.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < static_cast<ssize_t>(sizeof(nlmsghdr))) return answer;
    nlmsghdr first{};
    std::memcpy(&first, answer.data() + before, sizeof(first));
    if (first.nlmsg_type == NLMSG_DONE || first.nlmsg_type == NLMSG_ERROR) return answer;
  }
}

// Returns the inode of the other end in a message about a Unix socket; 0 if it has none.
std::uint64_t peer_in(const char* attributes, std::size_t size) {
  while (size >= sizeof(rtattr)) {
    rtattr attribute{};
    std::memcpy(&attribute, attributes, sizeof(attribute));
    if (attribute.rta_len < sizeof(rtattr) || attribute.rta_len > size) return 0;
    if (attribute.rta_type == UNIX_DIAG_PEER && attribute.rta_len >= RTA_LENGTH(sizeof(__u32))) {
      __u32 peer = 0;
      std::memcpy(&peer, attributes + RTA_LENGTH(0), sizeof(peer));
      return peer;
    }
    const std::size_t step = std::min<std::size_t>(RTA_ALIGN(attribute.rta_len), size);
    attributes += step;
    size -= step;
  }
  return 0;
}

bool have_common(const std::set<std::uint64_t>& a, const std::set<std::uint64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::uint64_t each) { return b.contains(each); });
}

}  // namespace

std::set<TcpEnd> parse_tcp_ends(std::string_view text, const std::set<std::uint64_t>& inodes) {
  std::set<TcpEnd> ends;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto fields = fields_of(line);
    if (fields[kState] != kEstablished || !inodes.contains(number_of(fields[kInode]))) continue;
    ends.emplace(plain(fields[kLocal]), plain(fields[kRemote]));
  }
  return ends;
}

std::set<std::uint64_t> parse_unix_peers(const std::vector<char>& answer,
                                         const std::set<std::uint64_t>& inodes) {
  std::set<std::uint64_t> peers;
  std::size_t at = 0;
  while (answer.size() - at >= sizeof(nlmsghdr)) {
    nlmsghdr header{};
    std::memcpy(&header, answer.data() + at, sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > answer.size() - at) break;
    constexpr std::size_t kBefore = NLMSG_HDRLEN + sizeof(unix_diag_msg);
    if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && header.nlmsg_len >= kBefore) {
      unix_diag_msg message{};
      std::memcpy(&message, answer.data() + at + NLMSG_HDRLEN, sizeof(message));
      const std::uint64_t peer = peer_in(answer.data() + at + kBefore, header.nlmsg_len - kBefore);
      if (peer != 0 && inodes.contains(message.udiag_ino)) peers.insert(peer);
    }
    at += std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), answer.size() - at);
  }
  return peers;
}

bool are_connected(Pid a, Pid b) {
  const auto of_a = sockets_of(a);
  const auto of_b = sockets_of(b);
  if (of_a.empty() || of_b.empty()) return false;
  const auto ends = tcp_ends_of(b, of_b);
  const auto others = tcp_ends_of(a, of_a);
  const bool by_tcp = std::any_of(ends.begin(), ends.end(), [&](const TcpEnd& end) {
    return others.contains({end.second, end.first});
  });
  return by_tcp || have_common(parse_unix_peers(all_unix_sockets(), of_a), of_b);
}

}  // namespace causalctl::perf
