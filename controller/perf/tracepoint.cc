#include "controller/perf/tracepoint.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/base/tracefs.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"
#include "controller/perf/kept_open.h"

namespace causalctl::perf {
namespace {

// Returns the number after `key` in `text`, such as "offset:".
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  auto at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = text.find_first_not_of(" \t", at + key.size());
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data() + at, text.data() + text.size(), value);
  return result.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

// Returns the offset in a line "field:pid_t pid; offset:24; size:4; …" with this name and size.
std::optional<std::size_t> field_offset(std::string_view text, std::string_view name,
                                        std::uint64_t size) {
  const auto at = text.find(fmt::format(" {};", name));
  if (at == std::string_view::npos) return std::nullopt;
  const auto line = text.substr(at, text.find('\n', at) - at);
  return number_after(line, "size:") == size ? number_after(line, "offset:") : std::nullopt;
}

}  // namespace

std::optional<WakingFormat> parse_waking_format(std::string_view text) {
  const auto id = number_after(text, "ID:");
  const auto flags = field_offset(text, "common_flags", 1);
  const auto waker = field_offset(text, "common_pid", 4);
  const auto woken = field_offset(text, "pid", 4);
  if (!id || !flags || !waker || !woken) return std::nullopt;
  return WakingFormat{*id, *flags, *waker, *woken};
}

std::optional<Waking> parse_waking(Bytes raw, const WakingFormat& format) {
  constexpr unsigned kHardirq = 0x08, kSoftirq = 0x10, kNmi = 0x40;  // TRACE_FLAG_*
  const auto tid_at = [&](std::size_t offset, Tid& tid) {
    if (raw.size() < sizeof(tid) || offset > raw.size() - sizeof(tid)) return false;
    std::memcpy(&tid, raw.data() + offset, sizeof(tid));
    return true;
  };
  Waking waking;
  if (!tid_at(format.waker_offset, waking.waker) || !tid_at(format.woken_offset, waking.woken) ||
      format.flags_offset >= raw.size()) {
    return std::nullopt;
  }
  const auto flags = std::to_integer<unsigned>(raw[format.flags_offset]);
  if ((flags & (kHardirq | kNmi)) != 0) {
    waking.context = WakeContext::hardirq;
  } else if ((flags & kSoftirq) != 0) {
    waking.context = WakeContext::softirq;
  }
  return waking;
}

std::optional<Waking> WakingReader::read(const SampleRecord& record) {
  auto waking = parse_waking(record.raw, format_);
  if (!waking || waking->waker == record.common.tid) return waking;
  local_tids_[waking->waker] = record.common.tid;
  const auto known = local_tids_.find(waking->woken);
  waking->woken = known == local_tids_.end() ? 0 : known->second;
  return waking;
}

void WakingReader::forget(Tid tid) {
  std::erase_if(local_tids_, [&](const auto& pair) { return pair.second == tid; });
}

std::optional<WakingFormat> find_waking_format(std::string& reason) {
  const auto tracefs = find_tracefs(reason);
  if (!tracefs) return std::nullopt;
  const auto path = tracefs->path + "/events/sched/sched_waking/format";
  const auto text = procfs::read_text(path);
  if (!text) {
    reason = fmt::format("{} cannot be read: {}", path, std::strerror(errno));
    return std::nullopt;
  }
  auto format = parse_waking_format(*text);
  if (!format) reason = fmt::format("{} is not understood", path);
  return format;
}

void keep_one_open(const WakingFormat& format) {
  static const bool kept = [&] {
    try {
      auto event = EventFd::open(waking_attr(format.id), 0, "a tracepoint");
      if (event) keep_open(std::move(*event));
    } catch (const Error&) {
      return false;
    }
    return true;
  }();
  (void)kept;
}

}  // namespace causalctl::perf
