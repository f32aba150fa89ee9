#include "controller/commands/callpath_report.h"

#include <fmt/format.h>
namespace causalctl::commands {
void check_callpath_format(const std::string&) {}
void write_callpath_report(std::span<const callpath::Recording> runs, const std::vector<Warning>&,
                           const ReportOptions&) {
  for (const auto& r : runs) {
    fmt::print("wall {} chains {} incomplete {} nodes {} locs {} lost {} cpu {:.3f}\n", r.wall_ns,
               r.chains.complete, r.chains.incomplete, r.tree.size(), r.locations.size(),
               r.losses.records_lost, r.controller_cpu_share);
    for (const auto& w : r.warnings) fmt::print("warning {}\n", w);
    for (const auto& [key, slice] : r.slices) {
      std::uint64_t sum = 0;
      for (auto& [n, v] : slice) sum += v;
      fmt::print("-- epoch {} group {} {} sum {}\n", key.epoch, r.groups[key.group].name,
                 name_of(key.metric), sum);
      std::vector<std::pair<std::uint64_t, callpath::NodeId>> top;
      for (auto& [n, v] : slice) top.push_back({v, n});
      std::sort(top.rbegin(), top.rend());
      for (std::size_t i = 0; i < top.size() && i < 6; ++i) {
        std::string line;
        for (auto n = top[i].second; n != 0; n = r.tree.node(n).parent) {
          const auto& l = r.locations[r.tree.node(n).location];
          if (l.frames.empty())
            line += fmt::format(" < {}+{:#x}", r.modules[l.module].path, l.offset);
          for (auto& f : l.frames) line += fmt::format(" < {}:{}", f.function, f.line);
        }
        fmt::print("   {} {}\n", top[i].first, line);
      }
    }
  }
}
}  // namespace causalctl::commands
