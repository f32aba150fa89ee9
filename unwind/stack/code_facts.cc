#include "unwind/stack/code_facts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "unwind/modules/target_memory.h"
#include "unwind/stack/signal_frame.h"
#include "unwind/tables/call_site.h"

namespace causalctl::unwind {
namespace {

// Where a traceback of Go's own ends. Source: topofstack() in Go's src/runtime/traceback.go. What
// mcall runs is no longer work of the goroutine that called it.
constexpr std::array<std::string_view, 4> kGoOutermost = {"runtime.goexit", "runtime.mstart",
                                                          "runtime.rt0_go", "runtime.mcall"};
constexpr std::array<std::string_view, 3> kGoSwitches = {"runtime.systemstack", "runtime.morestack",
                                                         "runtime.asmcgocall"};
constexpr std::array<std::string_view, 1> kGoPreempt = {"runtime.asyncPreempt"};

constexpr std::size_t kBefore = 32;  // more than a call, or the code that ends a handler

// Returns whether the code before a return address has the start of what ends a context, so that
// the call is one of that code.
bool in_context_end(std::span<const std::byte> before) {
  for (std::size_t at = 0; at < before.size(); ++at) {
    if (is_context_end(before.subspan(at))) return true;
  }
  return false;
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  constexpr std::string_view kAssembly = ".abi0";
  if (name.ends_with(kAssembly)) name.remove_suffix(kAssembly.size());
  return std::find(names.begin(), names.end(), name) != names.end();
}

// In Go's functions the return address is above the stack in use, and below it the frame pointer.
FrameRule go_rule(std::int32_t stack_in_use) {
  FrameRule rule;
  rule.kind = FrameRule::Kind::simple;
  rule.cfa_offset = stack_in_use + 8;
  rule.bp = stack_in_use >= 8 ? FrameRule::Bp::saved : FrameRule::Bp::same;
  rule.bp_offset = -16;
  return rule;
}

// Returns whether the instruction is one of those that end a handler, or the next one, at which a
// thread is seen while it is in that system call.
bool in_signal_return(std::span<const std::byte> before, std::span<const std::byte> code) {
  if (is_signal_return(code)) return true;
  constexpr std::array<std::size_t, 3> kBehind = {5, 7, kSignalReturnBytes};
  return std::any_of(kBehind.begin(), kBehind.end(), [&](std::size_t size) {
    if (before.size() < size) return false;
    const std::byte* start = before.data() + before.size() - size;
    return is_signal_return({start, size + std::min(code.size(), kSignalReturnBytes - size)});
  });
}

}  // namespace

void CodeCache::clear() { std::fill(entries_.begin(), entries_.end(), Entry()); }

void CodeCache::grow() {
  const std::size_t size = entries_.empty() ? kFewestEntries : 4 * entries_.size();
  entries_.assign(size, Entry());
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(size));
  fills_ = 0;
}

void CodeCache::fill(Entry& entry, Address ip, bool returned, std::uint64_t key) {
  entry.facts = CodeFacts();
  CodeFacts& facts = entry.facts;
  Image* image = images_.at(returned ? ip - 1 : ip);
  const auto around =
      image != nullptr ? images_.constant_bytes(ip - kBefore) : std::span<const std::byte>();
  entry.key = around.size() > kBefore ? key : 0;
  if (entry.key == 0) {
    std::array<std::byte, kLongestCall> bytes{};
    facts.follows_call = returned && images_.is_code(ip) &&
                         read_target(images_.target(), ip - bytes.size(), bytes) &&
                         call_before(bytes, ip);
  } else {
    const auto before = around.first(kBefore);
    const auto code = around.subspan(kBefore);
    facts.follows_call =
        returned && images_.is_code(ip) && call_before(before.last(kLongestCall), ip);
    if (returned ? is_signal_return(code) : in_signal_return(before, code)) {
      facts.kind = CodeFacts::Kind::signal_return;
      return;
    }
    if (returned && !facts.follows_call && is_context_end(code)) {
      facts.kind = CodeFacts::Kind::context_end;
      return;
    }
    const bool ends_stack = in_context_end(before) || is_thread_end(code);
    if (returned && facts.follows_call && ends_stack) {
      facts.kind = CodeFacts::Kind::outermost;
      return;
    }
  }
  if (image != nullptr) by_tables(facts, *image, returned ? ip - 1 : ip);
}

void CodeCache::by_tables(CodeFacts& facts, Image& image, Address code) {
  ImageFile& file = images_.file(image);
  const Address address = code - images_.bias(image);
  if (const auto rule = file.frames().rule_at(address)) {
    facts.rule = *rule;
    facts.kind = rule->kind == FrameRule::Kind::outermost ? CodeFacts::Kind::outermost
                                                          : CodeFacts::Kind::table;
    return;
  }
  const auto function = file.go().valid() ? file.go().function_at(address) : std::nullopt;
  const auto in_use = function ? file.go().stack_at(address) : std::nullopt;
  if (!in_use) return;
  facts.rule = go_rule(*in_use);
  facts.function = function->low + images_.bias(image);
  facts.kind = CodeFacts::Kind::go;
  if (is_one_of(kGoSwitches, function->name)) facts.kind = CodeFacts::Kind::go_switch;
  if (is_one_of(kGoPreempt, function->name)) facts.kind = CodeFacts::Kind::go_preempt;
  if (!is_one_of(kGoOutermost, function->name)) return;
  facts.kind = CodeFacts::Kind::outermost;
  // The runtime puts the address behind the first byte of goexit on the stack by hand.
  facts.follows_call |= function->name.starts_with(kGoOutermost[0]);
}

}  // namespace causalctl::unwind
