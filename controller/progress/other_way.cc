#include "controller/progress/other_way.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/perf/uprobe_visits.h"

namespace causalctl::progress {
namespace {

constexpr std::uint32_t kCountedOnly = perf::Uprobes::kMostTags;

perf::Uprobes counting_uprobes(Pid target) {
  std::string reason;
  auto uprobes = perf::make_uprobes(target, reason);
  if (!uprobes) throw Error("no BPF program can count visits here: " + reason);
  return std::move(*uprobes);
}

}  // namespace

UprobesBeside::UprobesBeside(const Point& point, Pid target, std::uint32_t tag,
                             perf::Session& session, perf::EventCloser& closer,
                             std::function<void(const Armed&)> replaced)
    : point_(point),
      tag_(tag),
      session_(session),
      closer_(closer),
      replaced_(std::move(replaced)),
      plan_(plan_uprobes(point, target, tag)),
      uprobes_(counting_uprobes(target)) {
  std::vector<perf::UprobePlace> places = plan_.places;
  for (perf::UprobePlace& place : places) place.tag = kCountedOnly;
  open_ = uprobes_.open(places);
  uprobes_.start();
}

UprobesBeside::~UprobesBeside() { closer_.close(std::move(open_)); }

std::uint64_t UprobesBeside::hits() const { return uprobes_.count(kCountedOnly); }

bool UprobesBeside::replace_breakpoints() {
  try {
    session_.add_uprobes(plan_.places, fmt::format("uprobes for progress point '{}'", point_.name));
  } catch (const Error& error) {
    log::verbose("{}: breakpoints go on counting it: {}", point_.name, error.what());
    return false;
  }
  session_.close_visits(tag_);
  replaced_({CountedBy::uprobe, point_.places.size(), plan_.visit_cost_ns, true});
  return true;
}

}  // namespace causalctl::progress
