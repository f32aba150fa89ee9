#include "controller/perf/sampled_hits.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "controller/base/error.h"
#include "controller/perf/visit_trial.h"

namespace causalctl::perf {
namespace {

bool is_page_faults(const EventTemplate& event) {
  return event.attr.type == PERF_TYPE_SOFTWARE && event.attr.config == PERF_COUNT_SW_PAGE_FAULTS;
}

bool is_call(const EventTemplate& event) {
  return event.attr.type == PERF_TYPE_TRACEPOINT && !event.wakes &&
         event.number_offset.value_or(UPROBE_RESULT_OFFSET) == UPROBE_RESULT_OFFSET;
}

}  // namespace

bool is_for_program(const EventTemplate& event) {
  return event.place || is_call(event) || is_page_faults(event);
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

void SampledHits::open(std::uint32_t tag, const std::vector<EventTemplate>& events) {
  Event& event = events_[tag];
  INVARIANT(!event.is_open && !events.empty());
  event.kernel_tag = next_kernel_tag_;
  if (++next_kernel_tag_ == Uprobes::kMostCountedTags) next_kernel_tag_ = Uprobes::kMostTags;
  event.fds = open_all(event.kernel_tag, events);
  event.told.resize(uprobes_.cores());
  event.is_open = true;
  tags_[event.kernel_tag] = tag;
  use(event, tag);
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

std::vector<SampleEvent> SampledHits::read(const std::function<bool(Tid)>& is_known,
                                           Nanoseconds older_than_ns) {
  std::vector<SampleEvent> fresh;
  uprobes_.read_copies(fresh);
  for (SampleEvent& sample : fresh) {
    const auto tag = tags_.find(sample.tag);
    if (tag == tags_.end()) continue;
    sample.tag = tag->second;
    waiting_.push_back(std::move(sample));
  }
  std::vector<SampleEvent> known;
  std::erase_if(waiting_, [&](SampleEvent& sample) {
    if (!is_known(sample.thread.tid)) return sample.time_ns < older_than_ns;
    known.push_back(std::move(sample));
    return true;
  });
  share_out(known);
  return known;
}

void SampledHits::adapt(unsigned most) {
  const auto is_open = [](const auto& each) { return each.second.is_open; };
  const auto open = static_cast<unsigned>(std::count_if(events_.begin(), events_.end(), is_open));
  if (open == 0) return;
  const unsigned part = std::max(1U, most / open);
  for (auto& [tag, event] : events_) {
    if (event.is_open && event.part.adapt(std::exchange(event.seen, 0), part)) use(event, tag);
  }
}

std::optional<SampledHits> make_sampled_hits(Pid target, std::shared_ptr<ProcessBits> processes,
                                             const std::vector<EventTemplate>& events,
                                             unsigned stack_bytes, std::string& reason) {
  const auto is_uprobe = [](const EventTemplate& event) { return event.place.has_value(); };
  const bool uprobes = std::any_of(events.begin(), events.end(), is_uprobe);
  const bool others = !std::all_of(events.begin(), events.end(), is_uprobe);
  try {
    auto means = Uprobes::Means::none;
    if (uprobes) {
      const UprobeTrial& trial = uprobe_trial();
      if (!trial.means) throw Error(trial.finding);
      means = *trial.means;
    }
    if ((uprobes && !copies_are_seen()) || (others && !calls_are_copied())) {
      throw Error("the program was not seen to copy a stack");
    }
    const Uprobes::Copies copies = {.stack_bytes = stack_bytes, .of_calls = others};
    return SampledHits(Uprobes(target, means, copies, std::move(processes)));
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

}  // namespace causalctl::perf
