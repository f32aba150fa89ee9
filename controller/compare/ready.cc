#include "controller/compare/ready.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>

#include "config/pattern.h"
#include "controller/base/error.h"
#include "controller/base/fd.h"

namespace causalctl::compare {
namespace {

constexpr std::size_t kLongestLine = 4096;  // of which a ready message needs few

template <typename SocketAddress>
bool accepts(int family, const SocketAddress& address) {
  const Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd && connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

ReadyPattern::ReadyPattern(const std::string& pattern)
    : regex_(pattern, config::pattern_options()) {}

std::optional<ReadyPattern::Match> ReadyPattern::find(std::string_view text) {
  while (!text.empty()) {
    const auto newline = text.find('\n');
    line_ += text.substr(0, std::min(newline, kLongestLine - line_.size()));
    const bool complete = newline != std::string_view::npos;
    text.remove_prefix(complete ? newline + 1 : text.size());
    // A number at the end of a line that is still being written may continue.
    if (complete || regex_.NumberOfCapturingGroups() == 0) {
      if (auto match = search()) return match;
    }
    if (complete) line_.clear();
  }
  return std::nullopt;
}

std::optional<ReadyPattern::Match> ReadyPattern::search() const {
  const bool with_group = regex_.NumberOfCapturingGroups() > 0;
  std::string number;
  if (!(with_group ? re2::RE2::PartialMatch(line_, regex_, &number)
                   : re2::RE2::PartialMatch(line_, regex_))) {
    return std::nullopt;
  }
  Match result;
  std::from_chars(number.data(), number.data() + number.size(), result.pid);
  return result;
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
