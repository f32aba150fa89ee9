#include "controller/perf/sampled_hits.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "controller/base/error.h"
#include "controller/perf/visit_trial.h"

namespace causalctl::perf {
namespace {

constexpr std::uint64_t kAllOf = 3'000;  // so many hits of an event are all sampled

// Of all events from one reading to the next. So many fit into the ring of a core, and a rare event
// finds room beside frequent ones.
constexpr unsigned kMostCopies = STACK_PIECES / STACK_OWN_PIECES;

bool is_page_faults(const EventTemplate& event) {
  return event.attr.type == PERF_TYPE_SOFTWARE && event.attr.config == PERF_COUNT_SW_PAGE_FAULTS;
}

bool is_call(const EventTemplate& event) {
  return event.attr.type == PERF_TYPE_TRACEPOINT && !event.wakes &&
         event.number_offset.value_or(UPROBE_RESULT_OFFSET) == UPROBE_RESULT_OFFSET;
}

bool is_seen(Sampleable kind) {
  switch (kind) {
    case Sampleable::uprobe:
      return uprobe_trial().means && copies_are_seen();
    case Sampleable::call:
      return calls_are_copied();
    case Sampleable::page_fault:
      return page_faults_are_copied();
    case Sampleable::nothing:
      break;
  }
  return false;
}

}  // namespace

Sampleable sampleable(const EventTemplate& event) {
  if (event.place) return Sampleable::uprobe;
  if (is_call(event)) return Sampleable::call;
  return is_page_faults(event) ? Sampleable::page_fault : Sampleable::nothing;
}

void SampledHits::use(const Event& event, std::uint32_t tag) {
  constexpr std::uint64_t kMost = UINT32_MAX;
  const auto every = static_cast<std::uint32_t>(std::min(event.part.every(), kMost));
  uprobes_.set_use(event.kernel_tag, event.is_open ? Uprobes::Use{tag, every} : Uprobes::Use{});
}

std::vector<Fd> SampledHits::open_all(std::uint32_t kernel_tag,
                                      const std::vector<EventTemplate>& events) {
  std::vector<UprobePlace> places;
  std::vector<Fd> fds;
  const auto keep = [&fds](std::vector<Fd> opened) {
    std::move(opened.begin(), opened.end(), std::back_inserter(fds));
  };
  for (const EventTemplate& each : events) {
    if (each.place) {
      places.push_back(*each.place);
      places.back().tag = kernel_tag;
    } else if (each.attr.type == PERF_TYPE_TRACEPOINT) {
      keep(uprobes_.open_call(each.attr.config, kernel_tag, each.number_offset.has_value()));
    } else {
      keep(uprobes_.open_on_cores(each.attr, kernel_tag, each.what));
    }
  }
  if (!places.empty()) keep(uprobes_.open(places));
  return fds;
}

// Each is used as late again as possible, and not while an event has it.
std::uint32_t SampledHits::free_kernel_tag() {
  const auto is_taken = [this](std::uint32_t kernel_tag) {
    return std::any_of(events_.begin(), events_.end(), [&](const auto& each) {
      return each.second.is_open && each.second.kernel_tag == kernel_tag;
    });
  };
  std::uint32_t tag = 0;
  do {
    tag = next_kernel_tag_;
    if (++next_kernel_tag_ == Uprobes::kMostCountedTags) next_kernel_tag_ = Uprobes::kMostTags;
  } while (is_taken(tag));
  return tag;
}

void SampledHits::follow_cores() {
  if (!online_.changed()) return;
  online_ = CoresOnline();
  for (auto& [tag, event] : events_) {
    if (!event.is_open || sampleable(event.templates.front()) != Sampleable::page_fault) continue;
    event.fds.clear();
    event.fds = open_all(event.kernel_tag, event.templates);
  }
}

// Shares the copies out among the events. One alone may fill the ring of each core: where another
// core had taken its copies, it would have none on a core whose hits then no sample stands for.
void SampledHits::allow_copies() {
  const auto is_open = [](const auto& each) { return each.second.is_open; };
  const auto open = static_cast<unsigned>(std::count_if(events_.begin(), events_.end(), is_open));
  if (open == 0) return;
  const std::uint32_t most = open == 1 ? INT32_MAX : kMostCopies / open;
  for (const auto& [tag, event] : events_) {
    if (event.is_open) uprobes_.allow_copies(event.kernel_tag, most);
  }
}

void SampledHits::open(std::uint32_t tag, const std::vector<EventTemplate>& events) {
  Event& event = events_[tag];
  INVARIANT(!event.is_open && !events.empty());
  event.kernel_tag = free_kernel_tag();
  event.templates = events;
  event.fds = open_all(event.kernel_tag, events);
  event.told.resize(uprobes_.cores());
  event.is_open = true;
  tags_[event.kernel_tag] = tag;
  use(event, tag);
  allow_copies();
}

std::vector<Fd> SampledHits::close(std::uint32_t tag) {
  Event& event = events_.at(tag);
  if (!event.is_open) return {};
  event.is_open = false;
  use(event, tag);
  return std::exchange(event.fds, {});
}

std::uint64_t SampledHits::count(std::uint32_t tag) const {
  if (!has(tag)) return 0;
  std::uint64_t sum = 0;
  for (std::size_t core = 0; core < uprobes_.cores(); ++core) {
    sum += uprobes_.count_of_core(tag, core);
  }
  return sum;
}

std::uint64_t SampledHits::fresh_of_busiest(std::uint32_t tag) {
  Event& event = events_.at(tag);
  const auto counts = uprobes_.counts_of_threads(tag);
  event.fresh_from.resize(counts.size());
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::uint32_t now = __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
    most = std::max(most, now - std::exchange(event.fresh_from[i], now));
  }
  return most;
}

void SampledHits::share_out(std::vector<SampleEvent>& samples) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<SampleEvent*>> by_core;
  for (SampleEvent& sample : samples) by_core[{sample.tag, sample.cpu}].push_back(&sample);
  for (auto& [key, of_core] : by_core) {
    const auto& [tag, core] = key;
    Event& event = events_.at(tag);
    std::uint64_t& told = event.told.at(core);
    const std::uint64_t hits = uprobes_.count_of_core(tag, core) - told;
    told += hits;
    event.seen += static_cast<unsigned>(of_core.size());
    for (std::size_t i = 0; i < of_core.size(); ++i) {
      of_core[i]->events = hits * (i + 1) / of_core.size() - hits * i / of_core.size();
    }
  }
}

std::vector<SampleEvent> SampledHits::read() {
  std::vector<SampleEvent> samples;
  uprobes_.read_copies(samples);
  std::erase_if(samples, [this](SampleEvent& sample) {
    const auto tag = tags_.find(sample.tag);
    if (tag != tags_.end()) sample.tag = tag->second;
    return tag == tags_.end();
  });
  share_out(samples);
  allow_copies();
  return samples;
}

void SampledHits::adapt(unsigned most) {
  const auto is_open = [](const auto& each) { return each.second.is_open; };
  const auto open = static_cast<unsigned>(std::count_if(events_.begin(), events_.end(), is_open));
  if (open == 0) return;
  const unsigned part = std::max(1U, most / open);
  for (auto& [tag, event] : events_) {
    const unsigned seen = std::exchange(event.seen, 0);
    if (event.is_open && count(tag) > kAllOf && event.part.adapt(seen, part)) use(event, tag);
  }
}

std::optional<SampledHits> make_sampled_hits(Pid target, std::shared_ptr<ProcessBits> processes,
                                             const std::vector<EventTemplate>& events,
                                             unsigned stack_bytes, std::string& reason) {
  std::set<Sampleable> kinds;
  for (const EventTemplate& event : events) {
    const Sampleable kind = sampleable(event);
    if (is_seen(kind)) kinds.insert(kind);
  }
  if (kinds.empty()) {
    const auto& trial = uprobe_trial();
    reason =
        trial.means ? "no program was seen to count them and to copy their stacks" : trial.finding;
    return std::nullopt;
  }
  const bool uprobes = kinds.contains(Sampleable::uprobe);
  const bool others = kinds.size() > (uprobes ? 1U : 0U);
  try {
    return SampledHits(
        Uprobes(target, uprobes ? *uprobe_trial().means : Uprobes::Means::none,
                {.stack_bytes = stack_bytes, .of_calls = others}, std::move(processes)),
        std::move(kinds));
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

}  // namespace causalctl::perf
