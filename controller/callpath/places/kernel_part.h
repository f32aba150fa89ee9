// The kernel's part of a path: below the user code that made a system call or faulted, the
// functions of the kernel that ran, or in which the thread waits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/callpath/places/places.h"
#include "controller/callpath/record/recording.h"
#include "controller/perf/events.h"
#include "controller/symbols/kernel_symbols.h"

namespace causalctl::callpath {

// Returns the part of a kernel's call chain that says something, innermost first as the chain is:
// without the code of the entry from user code and, of a thread that leaves its core, without what
// follows on the scheduler's decision, such as the program that took the sample.
std::span<const std::string_view> telling_part(std::span<const std::string_view> names,
                                               bool leaves);

// Makes locations of the kernel's addresses. A function is one location, whatever the instruction.
class KernelPart {
 public:
  // It adds to the places, which must outlive it.
  KernelPart(symbols::KernelSymbols symbols, Places& places)
      : symbols_(std::move(symbols)), places_(places) {}

  // False if the kernel hides its functions from us: nothing has a kernel's part then.
  bool knows_functions() const { return !symbols_.empty(); }
  // Notes in the recording that paths have one where they lead into the kernel.
  void begin() { places_.begin_kernel(); }
  // Returns the locations of the sample's kernel part, outermost first. They are valid until the
  // next call.
  std::span<const LocationId> of(const perf::SampleEvent& sample);

 private:
  symbols::KernelSymbols symbols_;
  Places& places_;
  std::unordered_map<std::string_view, LocationId> known_;  // the names are the symbols'
  std::vector<std::string_view> names_;                     // of the present sample
  std::vector<LocationId> path_;
};

}  // namespace causalctl::callpath
