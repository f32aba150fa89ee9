#include "controller/callpath/analysis/charge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "controller/base/base_name.h"
#include "controller/base/paths.h"
#include "controller/symbols/library_files.h"
#include "controller/symbols/scope.h"

namespace causalctl::callpath {
namespace {

using report::callpath::CausalUnit;
using report::callpath::Charge;
using report::callpath::Frame;
using report::callpath::Profile;

// Finds the units of frames.
class UnitsByPlace {
 public:
  UnitsByPlace(const std::vector<CausalUnit>& units, bool by_line) : units_(units) {
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (units[i].is_line == by_line) by_key_.emplace(key_of(units[i]), i);
    }
  }
  // Of several with one name, the one whose file or binary is the frame's.
  std::int32_t of_line(const Frame& frame) const {
    return find(fmt::format("{}:{}", base_name(frame.file), frame.line),
                [&](const CausalUnit& unit) { return unit.file == frame.file ? 1 : 0; });
  }
  std::int32_t of_function(const Frame& frame) const {
    return find(frame.function, [&](const CausalUnit& unit) {
      const bool same_file = !frame.home.empty() && unit.file == frame.home;
      const bool same_module = unit.module.empty() || unit.module == base_name(frame.module);
      return (same_file ? 2 : 0) + (same_module ? 1 : 0);
    });
  }

 private:
  static std::string key_of(const CausalUnit& unit) {
    return unit.is_line ? fmt::format("{}:{}", base_name(unit.file), unit.line) : unit.function;
  }
  // Returns the first of those that fit best.
  template <class Fit>
  std::int32_t find(const std::string& key, const Fit& fit) const {
    const auto [begin, end] = by_key_.equal_range(key);
    if (begin == end) return Charge::kNotInProfile;
    const auto best = std::max_element(begin, end, [&](const auto& a, const auto& b) {
      return fit(units_[a.second]) < fit(units_[b.second]);
    });
    return static_cast<std::int32_t>(best->second);
  }

  const std::vector<CausalUnit>& units_;
  std::multimap<std::string, std::size_t> by_key_;
};

bool module_in_scope(const std::string& module, const Profile& profile,
                     const config::Scope& scope) {
  return std::any_of(scope.binaries.begin(), scope.binaries.end(), [&](const std::string& glob) {
    return glob == "MAIN" ? module == profile.program : path_matches(module, glob);
  });
}

}  // namespace

std::vector<Charge> charge(const Profile& profile, const std::vector<CausalUnit>& units,
                           const config::Scope& scope) {
  const UnitsByPlace lines(units, true);
  const UnitsByPlace functions(units, false);
  const bool by_function =
      scope.unit == config::Unit::function ||
      std::none_of(units.begin(), units.end(), [](const CausalUnit& unit) { return unit.is_line; });
  std::vector<Charge> charges(profile.nodes.size());
  for (std::uint32_t node = 1; node < profile.nodes.size(); ++node) {
    const std::uint32_t above = profile.nodes[node].parent;
    charges[node] = charges[above];
    const Frame& frame = profile.frames[profile.nodes[node].frame];
    if (frame.is_group() || frame.tail || !module_in_scope(frame.module, profile, scope)) continue;
    const bool has_line = frame.line > 0;
    if (has_line && !symbols::file_in_scope(frame.file, scope, frame.module)) continue;
    const bool is_nameless = frame.function.empty() || frame.function.front() == '[';
    if (!has_line && (!scope.files.empty() || scope.unit == config::Unit::line || is_nameless ||
                      symbols::is_library_function(frame.function))) {
      continue;
    }
    if (has_line && !by_function) {
      charges[node] = {lines.of_line(frame), node};
      continue;
    }
    // A function has the time of what was inlined into it.
    std::uint32_t at = node;
    while (profile.frames[profile.nodes[at].frame].inlined && profile.nodes[at].parent != 0) {
      at = profile.nodes[at].parent;
    }
    charges[node] = {functions.of_function(profile.frames[profile.nodes[at].frame]), at};
  }
  return charges;
}

}  // namespace causalctl::callpath
