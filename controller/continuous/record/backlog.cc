#include "controller/continuous/record/backlog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/printable.h"

namespace causalctl::continuous {
namespace {

// Drains are summed up to so much time, so that the same places take little room.
constexpr Nanoseconds kLongestSum = 600 * kSecond;

std::size_t places_of(const Drain& drain) {
  std::size_t places = 0;
  for (const auto& [key, counts] : drain.profile) places += counts.size();
  return places;
}

std::uint64_t samples_of(const Drain& drain) {
  std::uint64_t samples = 0;
  for (const auto& [key, counts] : drain.profile) samples += sum_of(counts).samples;
  return samples;
}

void join(Drain& to, Drain&& from) {
  to.end_ns = std::max(to.end_ns, from.end_ns);
  to.recorded_ns += from.recorded_ns;
  for (const auto& [key, counts] : from.profile) add(to.profile[key], counts);
  for (auto& [image, names] : from.names) to.names[image].merge(names);
  for (const auto& [kind, count] : from.losses) to.losses[kind] += count;
  for (const auto& [point, count] : from.visits) to.visits[point] += count;
  for (std::string& log : from.paths) to.paths.push_back(std::move(log));
}

}  // namespace

void Backlog::begin_epoch(std::string name, std::int64_t now_ns) {
  epochs_.push_back({std::move(name), now_ns});
}

std::uint64_t Backlog::add(Drain drain) {
  auto& drains = epochs_.back().drains;
  if (!drains.empty() && drains.back().recorded_ns < kLongestSum) {
    join(drains.back(), std::move(drain));
  } else {
    drains.push_back(std::move(drain));
  }
  std::uint64_t dropped = 0;
  while (places() > most_places_) dropped += drop_oldest();
  return dropped;
}

std::size_t Backlog::places() const {
  std::size_t places = 0;
  for (const auto& epoch : epochs_) {
    for (const Drain& drain : epoch.drains) places += places_of(drain);
  }
  return places;
}

// Names stay, because they are told once. The time counts as one in which nothing was recorded.
std::uint64_t Backlog::drop_oldest() {
  for (auto& epoch : epochs_) {
    for (Drain& drain : epoch.drains) {
      if (drain.profile.empty()) continue;
      const std::uint64_t samples = samples_of(drain);
      drain.profile.clear();
      drain.recorded_ns = 0;
      drain.visits.clear();
      drain.paths.clear();
      drain.losses["not written"] += samples;
      return samples;
    }
  }
  return 0;
}

void Backlog::add_late_paths(std::string log) {
  if (epochs_.size() >= 2) {
    auto& drains = epochs_[epochs_.size() - 2].drains;
    if (drains.empty()) drains.emplace_back();
    drains.back().paths.push_back(std::move(log));
  } else if (before_) {
    late_paths_.emplace_back(*before_, std::move(log));
  }
}

void Backlog::write(Database& database) {
  while (!late_paths_.empty()) {
    Drain late;
    late.paths = {late_paths_.back().second};
    database.add(late_paths_.back().first, late);
    late_paths_.pop_back();
  }
  while (!epochs_.empty()) {
    PendingEpoch& oldest = epochs_.front();
    if (!oldest.number) oldest.number = database.begin_epoch(oldest.name, oldest.begin_ns);
    while (!oldest.drains.empty()) {
      database.add(*oldest.number, oldest.drains.front());
      oldest.begin_ns = std::max(oldest.begin_ns, oldest.drains.front().end_ns);
      oldest.drains.pop_front();
    }
    if (epochs_.size() == 1) return;
    before_ = oldest.number;
    epochs_.pop_front();
  }
}

bool Backlog::follow_path(Database& database) {
  if (database.is_in_place()) return false;
  const std::string file = printable(database.file());
  bool is_same = false;
  try {
    is_same = database.reopen();
  } catch (const Error& error) {
    throw Error(fmt::format("{} was removed or replaced: {}", file, error.what()), error.hint());
  }
  if (!is_same) begin_anew(database.last_epoch());
  log::note("{} {}", file,
            is_same ? "had lost a file beside it, and was opened anew"
                    : "was removed or replaced: it is written anew, without what was in it");
  return true;
}

void Backlog::begin_anew(std::optional<std::int64_t> before) {
  before_ = before;
  late_paths_.clear();  // of epochs that the other one has
  while (epochs_.size() > 1 && epochs_.front().number && epochs_.front().drains.empty()) {
    epochs_.pop_front();
  }
  for (PendingEpoch& epoch : epochs_) epoch.number.reset();
}

bool Backlog::is_written() const {
  return epochs_.size() == 1 && epochs_.front().number && epochs_.front().drains.empty();
}

std::uint64_t Backlog::samples() const {
  std::uint64_t samples = 0;
  for (const auto& epoch : epochs_) {
    for (const Drain& drain : epoch.drains) samples += samples_of(drain);
  }
  return samples;
}

}  // namespace causalctl::continuous
