#include "controller/compare/ready.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <charconv>

#include "config/pattern.h"
#include "controller/base/error.h"
#include "controller/base/fd.h"

namespace causalctl::compare {
namespace {

constexpr std::size_t kKeptOfLine = std::size_t{64} << 10;

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
    const auto end = text.find_first_of("\n\r");
    const bool complete = end != std::string_view::npos;
    line_ += text.substr(0, end);
    text.remove_prefix(complete ? end + 1 : text.size());
    if (complete || regex_.NumberOfCapturingGroups() == 0 || line_.size() > kKeptOfLine) {
      if (auto match = search(complete)) return match;
    }
    if (complete) {
      line_.clear();
      begin_ = 0;
    } else if (line_.size() > kKeptOfLine) {
      line_.erase(0, line_.size() - kKeptOfLine);
      begin_ = 1;  // so that ^ sees that something is before it
    }
  }
  return std::nullopt;
}

std::optional<ReadyPattern::Match> ReadyPattern::search(bool complete) const {
  const int groups = 1 + regex_.NumberOfCapturingGroups();  // the whole match is one
  std::array<re2::StringPiece, 2> found;
  if (!regex_.Match(line_, begin_, line_.size(), re2::RE2::UNANCHORED, found.data(), groups)) {
    return std::nullopt;
  }
  const re2::StringPiece number = found[1];
  const char* const end = line_.data() + line_.size();
  // At the end of a line that is still being written, a number may continue or follow.
  if (groups > 1 && !complete && (number.data() == nullptr || number.end() == end)) {
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
