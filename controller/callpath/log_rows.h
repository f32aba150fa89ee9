// Which fields of a recording the lines of its log have (base/fields.h).
#pragma once

#include <tuple>

#include "controller/base/fields.h"
#include "controller/callpath/recording.h"

namespace causalctl::callpath::log_rows {

constexpr auto first() {
  return std::tuple_cat(session::first_rows<Recording>(),
                        std::tuple{Field("period_ns", &Recording::period_ns),
                                   Field("events", &Recording::events, kIfSet)});
}

// Of the lines that say how far the run is.
constexpr auto so_far() {
  return std::tuple{Field<Recording, Nanoseconds>("wall_ns", &Recording::wall_ns, kMoment),
                    Field("period_ns", &Recording::period_ns, kMoment),
                    Field<Recording, Losses>("losses", &Recording::losses),
                    Field("chains", &Recording::chains),
                    Field("counts", &Recording::counts, kIfSet),
                    Field("long_waits", &Recording::long_waits),
                    Field("account", &Recording::account)};
}

constexpr auto last() {
  return std::tuple_cat(
      session::last_rows<Recording>(),
      std::tuple{Field("period_ns", &Recording::period_ns), Field("chains", &Recording::chains),
                 Field("counts", &Recording::counts, kIfSet),
                 Field("long_waits", &Recording::long_waits), Field("account", &Recording::account),
                 Field("controller_cpu_share", &Recording::controller_cpu_share)});
}

// Of a module, and of an epoch.
constexpr auto of_module() {
  return std::tuple{Field("path", &Module::path), Field("build_id", &Module::build_id)};
}
constexpr auto of_epoch() {
  return std::tuple{Field("start_ns", &Epoch::start_ns, kMoment), Field("reason", &Epoch::reason)};
}

// Of the calls that are watched, and of those of one place; node and lives are not among them.
constexpr auto of_watched() {
  return std::tuple{Field("watched_ns", &AllWatchedCalls::watched_ns, kMoment),
                    Field("precision_ns", &AllWatchedCalls::precision_ns, kMoment)};
}
constexpr auto of_watched_place() {
  return std::tuple{Field("probes", &WatchedCalls::probes),
                    Field("covered", &WatchedCalls::covered), Field("clear", &WatchedCalls::clear),
                    Field("unclear", &WatchedCalls::unclear),
                    Field("stopped_ns", &WatchedCalls::stopped_ns, kMoment | kIfSet)};
}

}  // namespace causalctl::callpath::log_rows
