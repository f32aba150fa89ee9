// Which fields of a recording the lines of its log have (base/fields.h).
#pragma once

#include <tuple>

#include "controller/base/fields.h"
#include "controller/callpath/record/recording.h"

namespace causalctl::callpath::log_rows {

constexpr auto first() {
  return std::tuple_cat(
      session::first_rows<Recording>(),
      std::tuple{Field("set", &Recording::set, kIfSet), Field("period_ns", &Recording::period_ns),
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
                    Field("account", &Recording::account),
                    Field("programs", &Recording::programs, kIfSet)};
}

constexpr auto last() {
  return std::tuple_cat(
      session::last_rows<Recording>(),
      std::tuple{Field("period_ns", &Recording::period_ns), Field("chains", &Recording::chains),
                 Field("counts", &Recording::counts, kIfSet),
                 Field("long_waits", &Recording::long_waits), Field("account", &Recording::account),
                 Field("programs", &Recording::programs, kIfSet),
                 Field("controller_cpu_share", &Recording::controller_cpu_share)});
}

// Of a module, and of an epoch.
constexpr auto of_module() {
  return std::tuple{Field("path", &Module::path), Field("build_id", &Module::build_id)};
}
constexpr auto of_epoch() {
  return std::tuple{Field("start_ns", &Epoch::start_ns, kMoment), Field("reason", &Epoch::reason)};
}

}  // namespace causalctl::callpath::log_rows
