#include "controller/compare/ready.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>

#include "controller/base/error.h"
#include "controller/base/fd.h"

namespace causalctl::compare {
namespace {

constexpr std::size_t kLongestLine = 4096;  // std::regex recurses once per character

template <typename SocketAddress>
bool accepts(int family, const SocketAddress& address) {
  const Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd && connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

std::optional<ReadyPattern::Match> ReadyPattern::find(const std::string& output) const {
  for (std::size_t start = 0; start < output.size();) {
    const auto newline = output.find('\n', start);
    // The number in a line that is still being written may go on.
    if (newline == std::string::npos && regex_.mark_count() > 0) return std::nullopt;
    const auto end = std::min(newline, output.size());
    const std::string line = output.substr(start, std::min(end - start, kLongestLine));
    start = end + 1;
    std::smatch match;
    if (!std::regex_search(line, match, regex_)) continue;
    Match result;
    if (match.size() > 1) {
      const std::string number = match[1];
      std::from_chars(number.data(), number.data() + number.size(), result.pid);
    }
    return result;
  }
  return std::nullopt;
}

bool port_is_open(unsigned port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  v6.sin6_addr = in6addr_loopback;
  return accepts(AF_INET, v4) || accepts(AF_INET6, v6);
}

void require_free(unsigned port, const std::string& what) {
  if (!port_is_open(port)) return;
  throw UsageError(fmt::format("{}: port {} is taken: somebody else answers there", what, port),
                   "end that server, or choose another port");
}

}  // namespace causalctl::compare
