#include "controller/causal/record/unit_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "controller/base/telling_names.h"

namespace causalctl::causal {
namespace {

// Returns the file or binary with which a unit's name is qualified.
const std::string& place_of(const Unit& unit) {
  return unit.is_line || !unit.file.empty() ? unit.file : unit.module;
}

std::string name_in(const Unit& unit) {
  return unit.is_line ? std::to_string(unit.line)
                      : (unit.function.empty() ? unit.name : unit.function);
}

// Holds all names that the runs give their units.
class Joining {
 public:
  explicit Joining(const std::vector<Run>& runs);
  void rename(std::vector<Run>& runs) const;

 private:
  struct Known {
    Unit unit;
    std::set<std::string> names;  // that the runs give it
  };

  void meet(std::size_t run, const Unit& unit);
  std::string identity(std::size_t run, const std::string& name) const;
  std::string name_for(const std::string& identity, const Known& known) const;

  std::map<std::pair<std::size_t, std::string>, Unit> of_runs_;
  std::map<std::string, std::set<std::string>> identities_;  // by name; of units with a place
  std::map<std::string, Known> known_;                       // by identity
  TellingNames could_be_called_;                             // all that the units can be called
};

Joining::Joining(const std::vector<Run>& runs) {
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const Experiment& experiment : runs[run].experiments) meet(run, experiment.unit);
    for (const UnitSamples& samples : runs[run].samples) meet(run, samples.unit);
  }
  for (const auto& [where, unit] : of_runs_) {
    if (!place_of(unit).empty()) identities_[where.second].insert(identity_of(unit));
  }
  for (const auto& [where, unit] : of_runs_) {
    Known& known = known_[identity(where.first, where.second)];
    learn(known.unit, unit);
    known.names.insert(where.second);
  }
  for (const auto& [identity, known] : known_) {
    could_be_called_.add(names_of(known.unit));
  }
}

void Joining::meet(std::size_t run, const Unit& unit) {
  if (!unit.name.empty()) learn(of_runs_[{run, unit.name}], unit);
}

// If only its name is known, the unit is taken for the only one with a place and this name.
std::string Joining::identity(std::size_t run, const std::string& name) const {
  const Unit& unit = of_runs_.at({run, name});
  if (!place_of(unit).empty()) return identity_of(unit);
  const auto same = identities_.find(name);
  return same != identities_.end() && same->second.size() == 1 ? *same->second.begin() : name;
}

std::string Joining::name_for(const std::string& identity, const Known& known) const {
  if (known.names.size() == 1) {
    const std::string& name = *known.names.begin();
    const auto of_name = identities_.find(name);
    const bool shared = of_name != identities_.end() &&
                        (of_name->second.size() > 1 || !of_name->second.contains(identity));
    if (!shared && could_be_called_.fits_one(name)) return name;
  }
  return could_be_called_.best_of(names_of(known.unit));
}

void Joining::rename(std::vector<Run>& runs) const {
  std::map<std::string, std::string> new_names;
  for (const auto& [identity, known] : known_) new_names[identity] = name_for(identity, known);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const auto rename_one = [&](Unit& unit) {
      if (!unit.name.empty()) unit.name = new_names.at(identity(run, unit.name));
    };
    for (Experiment& experiment : runs[run].experiments) rename_one(experiment.unit);
    for (UnitSamples& samples : runs[run].samples) rename_one(samples.unit);
  }
}

}  // namespace

std::string identity_of(const Unit& unit) {
  if (!unit.path.empty()) return unit.path;
  const std::string& place = place_of(unit);
  return place.empty() ? unit.name : place + ":" + name_in(unit);
}

std::vector<std::string> names_of(const Unit& unit) {
  if (!unit.path.empty()) return {unit.name, unit.path};
  const std::string& place = place_of(unit);
  if (place.empty()) return {unit.name};
  std::vector<std::string> names;
  if (!unit.is_line) names.push_back(name_in(unit));
  for (const std::string& ending : path_endings(place)) {
    names.push_back(ending + ":" + name_in(unit));
  }
  return names;
}

bool may_be_called(const Unit& unit, const std::string& name) {
  const std::vector<std::string> names = names_of(unit);
  const bool in_module =
      !unit.is_line && unit.path.empty() && unit.module + ":" + name_in(unit) == name;
  return in_module || std::find(names.begin(), names.end(), name) != names.end();
}

std::string free_name(const Unit& unit, const std::function<bool(const std::string&)>& taken) {
  const std::vector<std::string> names = names_of(unit);
  const auto free = std::find_if_not(names.begin(), names.end(), taken);
  if (free != names.end()) return *free;
  std::string name = names.back();  // a relative path can be the end of another unit's path
  while (taken(name)) name.insert(0, "./");
  return name;
}

std::vector<Unit> meant(const std::vector<Unit>& units, const std::string& wanted) {
  std::vector<Unit> exact, fitting;
  for (const Unit& unit : units) {
    if (identity_of(unit) == wanted) exact.push_back(unit);
    if (may_be_called(unit, wanted)) fitting.push_back(unit);
  }
  return exact.empty() ? fitting : exact;
}

void learn(Unit& known, const Unit& unit) {
  known.name = unit.name;
  known.is_line = unit.is_line;
  if (!unit.function.empty()) known.function = unit.function;
  if (!unit.file.empty()) known.file = unit.file;
  if (unit.line != 0) known.line = unit.line;
  if (!unit.module.empty()) known.module = unit.module;
  if (!unit.path.empty()) known.path = unit.path;
}

void join_units(std::vector<Run>& runs) { Joining(runs).rename(runs); }

}  // namespace causalctl::causal
