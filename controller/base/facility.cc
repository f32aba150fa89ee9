#include "controller/base/facility.h"

#include <cstdlib>

#include "controller/base/trial.h"

namespace causalctl {

std::string_view name_of(Facility facility) {
  switch (facility) {
    case Facility::breakpoint:
      return "breakpoint";
    case Facility::uprobe:
      return "uprobe";
    case Facility::sample:
      return "sample";
    case Facility::switch_record:
      return "switch";
    case Facility::wake_up:
      return "wake-up";
    case Facility::sigtrap:
      return "sigtrap";
    case Facility::bpf:
      return "bpf";
    case Facility::clock:
      return "clock";
  }
  return "";
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::seen:
      return "seen";
    case Outcome::never_fired:
      return "never-fired";
    case Outcome::refused:
      return "refused";
  }
  return "";
}

bool is_pretended_broken(Facility facility) {
  const char* value = std::getenv("CAUSALCTL_PRETEND_BROKEN");
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    if (rest.substr(0, comma) == name_of(facility)) return true;
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return false;
}

}  // namespace causalctl
