#include "controller/callpath/record/event_spec.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/base/printable.h"

namespace causalctl::callpath {
namespace {

// In the order of asm/perf_regs.h, which has flags and segments between RSP and R8.
constexpr std::array<std::string_view, 8> kOld{"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"};
constexpr unsigned kFirstNew = 16;  // R8
constexpr unsigned kNew = 8;

constexpr std::string_view kCall = "syscall:";
constexpr std::string_view kBytes = ":bytes";
constexpr std::string_view kFunction = "uprobe:";

[[noreturn]] void reject(const std::string& text, const char* why) {
  throw UsageError(fmt::format("--event {}: {}", printable(text), why),
                   fmt::format("one of {}", config::kEventForms));
}

}  // namespace

std::optional<Register> register_named(const std::string& name) {
  for (unsigned i = 0; i < kOld.size(); ++i) {
    if (name == fmt::format("r{}", kOld[i])) return Register{i, 64};
    if (name == fmt::format("e{}", kOld[i])) return Register{i, 32};
  }
  for (unsigned i = 0; i < kNew; ++i) {
    if (name == fmt::format("r{}", 8 + i)) return Register{kFirstNew + i, 64};
    if (name == fmt::format("r{}d", 8 + i)) return Register{kFirstNew + i, 32};
  }
  return std::nullopt;
}

std::vector<std::string> register_names() {
  std::vector<std::string> names;
  for (const char* half : {"r", "e"}) {
    for (const std::string_view each : kOld) names.push_back(half + std::string(each));
  }
  for (unsigned i = 0; i < kNew; ++i) names.push_back(fmt::format("r{}", 8 + i));
  for (unsigned i = 0; i < kNew; ++i) names.push_back(fmt::format("r{}d", 8 + i));
  return names;
}

EventSpec parse_event(const std::string& text) {
  EventSpec spec;
  spec.text = text;
  if (text == "page-faults") return spec;
  if (text == "cycles") {
    spec.kind = EventSpec::Kind::cycles;
    return spec;
  }
  if (text.starts_with(kCall)) {
    spec.kind = EventSpec::Kind::system_call;
    spec.name = text.substr(kCall.size());
    spec.bytes = spec.name.ends_with(kBytes);
    if (spec.bytes) spec.name.resize(spec.name.size() - kBytes.size());
    if (spec.name.empty()) reject(text, "no system call is named");
    return spec;
  }
  if (text.starts_with(kFunction)) {
    spec.kind = EventSpec::Kind::function;
    spec.name = text.substr(kFunction.size());
    const auto colon = spec.name.rfind(':');
    if (colon != std::string::npos && colon > 0 && spec.name[colon - 1] != ':') {
      spec.argument = register_named(spec.name.substr(colon + 1));
    }
    if (spec.argument) spec.name.resize(colon);
    if (spec.name.empty()) reject(text, "no function is named");
    return spec;
  }
  reject(text, "unknown");
}

EventSpec parse_count(const std::string& function) {
  if (function.empty()) {
    throw UsageError("--count: no function is named", "for example --count crc32");
  }
  EventSpec spec;
  spec.kind = EventSpec::Kind::function;
  spec.text = spec.name = function;
  spec.counted = true;
  return spec;
}

}  // namespace causalctl::callpath
