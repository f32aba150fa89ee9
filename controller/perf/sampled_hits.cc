#include "controller/perf/sampled_hits.h"

#include <algorithm>
#include <utility>

#include "controller/base/error.h"
#include "controller/perf/visit_trial.h"

namespace causalctl::perf {
namespace {

constexpr std::uint32_t kMostEvery = 1U << 30U;
constexpr unsigned kFewParts = 4;  // few: up to a fourth of what may be
constexpr unsigned kFewCalls = 8;  // after which more are sampled

}  // namespace

void SampledHits::open(std::uint32_t tag, const std::vector<UprobePlace>& places,
                       std::uint32_t every) {
  Event& event = events_[tag];
  INVARIANT(!event.is_open);
  const std::uint32_t kernel_tag = next_kernel_tag_;
  if (++next_kernel_tag_ == Uprobes::kMostCountedTags) next_kernel_tag_ = Uprobes::kMostTags;
  std::vector<UprobePlace> tagged = places;
  for (UprobePlace& place : tagged) place.tag = kernel_tag;
  event.every = std::max(event.every, every);
  uprobes_.copy_every(kernel_tag, event.every);
  event.fds = uprobes_.open(tagged);
  event.kernel_tag = kernel_tag;
  event.counted_from = uprobes_.count(kernel_tag);
  event.is_open = true;
  tags_[kernel_tag] = tag;
}

std::vector<Fd> SampledHits::close(std::uint32_t tag) {
  Event& event = events_.at(tag);
  if (!event.is_open) return {};
  uprobes_.copy_every(event.kernel_tag, 0);
  event.closed_count = count(event);
  event.is_open = false;
  return std::exchange(event.fds, {});
}

std::uint64_t SampledHits::count(const Event& event) const {
  return event.closed_count +
         (event.is_open ? uprobes_.count(event.kernel_tag) - event.counted_from : 0);
}

std::uint64_t SampledHits::count(std::uint32_t tag) const {
  const auto event = events_.find(tag);
  return event == events_.end() ? 0 : count(event->second);
}

std::uint64_t SampledHits::fresh_of_busiest(std::uint32_t tag) {
  Event& event = events_.at(tag);
  const std::uint64_t now = count(event);
  const std::uint64_t fresh = now - std::exchange(event.fresh_from, now);
  std::uint64_t all = 0, most = 0;
  for (const auto& [tid, samples] : std::exchange(event.samples_of, {})) {
    all += samples;
    most = std::max(most, samples);
  }
  return all == 0
             ? fresh
             : static_cast<std::uint64_t>(static_cast<double>(fresh) * static_cast<double>(most) /
                                          static_cast<double>(all));
}

void SampledHits::share_out(Event& event, std::vector<SampleEvent*>& samples) {
  const std::uint64_t hits = count(event) - event.told;
  event.told += hits;
  event.seen += static_cast<unsigned>(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i]->events = hits * (i + 1) / samples.size() - hits * i / samples.size();
    ++event.samples_of[samples[i]->thread.tid];
  }
}

std::vector<SampleEvent> SampledHits::read() {
  std::vector<SampleEvent> samples;
  uprobes_.read_copies(samples);
  std::erase_if(samples, [this](const SampleEvent& each) { return !tags_.contains(each.tag); });
  std::map<std::uint32_t, std::vector<SampleEvent*>> by_tag;
  for (SampleEvent& sample : samples) {
    sample.tag = tags_.at(sample.tag);
    by_tag[sample.tag].push_back(&sample);
  }
  for (auto& [tag, of_tag] : by_tag) share_out(events_.at(tag), of_tag);
  return samples;
}

std::optional<SampledHits> make_sampled_hits(Pid target, unsigned stack_bytes,
                                             std::string& reason) {
  const UprobeTrial& trial = uprobe_trial();
  reason = trial.means ? "its program copies no stacks" : trial.finding;
  if (!trial.copies_stacks) return std::nullopt;
  try {
    return SampledHits(target, *trial.means, stack_bytes);
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

void SampledHits::adapt(unsigned most) {
  for (auto& [tag, event] : events_) {
    const unsigned seen = std::exchange(event.seen, 0);
    const std::uint32_t before = event.every;
    event.few_calls = seen * kFewParts > most ? 0 : event.few_calls + 1;
    if (seen > most) event.every = std::min(event.every * (seen / most + 1), kMostEvery);
    if (event.few_calls == kFewCalls) {
      event.few_calls = 0;
      event.every = std::max(event.every / 2, 1U);
    }
    if (event.is_open && event.every != before) uprobes_.copy_every(event.kernel_tag, event.every);
  }
}

}  // namespace causalctl::perf
