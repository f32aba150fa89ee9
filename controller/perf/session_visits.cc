// The events of progress points.
#include <fmt/format.h>

#include <utility>

#include "controller/base/error.h"
#include "controller/perf/session.h"

namespace causalctl::perf {

void Session::add(std::vector<VisitTemplate> visits) {
  struct Opened {
    ThreadEvents* events;
    EventFd event;
    std::uint32_t tag;
  };
  std::vector<Opened> opened;
  for (VisitTemplate& visit : visits) {
    visit.attr = visit_attr(visit.attr);
    for (auto& [tid, events] : threads_) {
      auto event = events.open_visit(visit);
      if (event) opened.push_back({&events, std::move(*event), visit.tag});
    }
  }
  for (auto& [events, event, tag] : opened) {
    events->commit_visit(std::move(event), tag, plan_.running);
  }
  for (VisitTemplate& visit : visits) plan_.visits.push_back(std::move(visit));
}

void Session::add_uprobes(const std::vector<UprobePlace>& places, const std::string& what) {
  std::string reason;
  if (uprobes_.add(places, reason)) return;
  if (places.size() * threads_.size() > kMostUprobeEvents) {
    throw Error(fmt::format("{} in {} threads would need {} perf events, of which each takes the "
                            "kernel 50 ms to close: {}",
                            what, threads_.size(), places.size() * threads_.size(), reason),
                "run as root or with CAP_BPF, or name a point with fewer places");
  }
  std::vector<VisitTemplate> visits;
  for (const UprobePlace& place : places) {
    visits.push_back({uprobe_attr(place), place.tag, what});
  }
  add(std::move(visits));
}

void Session::add_call(std::uint64_t tracepoint, std::uint32_t tag, const std::string& what) {
  if (plan_.by_scheduler && uprobes_.add_call(tracepoint, tag)) return;
  // It fires in the kernel: exclude_kernel would hide it.
  add({VisitTemplate{tracepoint_attr(tracepoint), tag, what}});
}

void Session::enable_visits(std::uint32_t tag, bool on) {
  for (auto& [tid, events] : threads_) events.enable_visits(tag, on);
}

void Session::close_visits(std::uint32_t tag) {
  std::erase_if(plan_.visits, [tag](const VisitTemplate& visit) { return visit.tag == tag; });
  for (auto& [tid, events] : threads_) {
    events.enable_visits(tag, false);
    read(events);  // these records can be decoded only while the event is known
    finished_counts_[tag] += events.count(tag);
    closer_.close(events.take_visits(tag));
  }
}

}  // namespace causalctl::perf
