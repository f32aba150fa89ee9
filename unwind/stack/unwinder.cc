// A chain is followed from frame to frame (frame_steps.h), and over Go's changes of stacks
// (go_stack.h).
//
// For code without a table the caller is searched for on the stack (caller_search.h): of the
// callers that are possible, the first from which the chain is complete is taken, or else the
// likeliest.
//
// Each return address must follow a call, or the chain ends there: what is on the stack is then not
// what the table says.
//
// The chain is complete where a table, or the code itself, says that nothing called the function,
// and where the main thread's stack begins.
#include "unwind/stack/unwinder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/base/procfs.h"
#include "unwind/modules/target_memory.h"
#include "unwind/stack/caller_search.h"
#include "unwind/stack/code_facts.h"
#include "unwind/stack/frame_steps.h"
#include "unwind/stack/go_stack.h"
#include "unwind/stack/outer_part.h"
#include "unwind/stack/sampled_stack.h"
#include "unwind/stack/stack_holes.h"
#include "unwind/stack/target_images.h"
#include "unwind/tables/call_site.h"

namespace causalctl::unwind {
namespace {

constexpr Address kWordBytes = sizeof(Address);
constexpr Address kFarAway = 1U << 16U;  // more than a Go function's frame: another stack
constexpr int kMostAlternatives = 8;     // further callers that are tried for one sample
constexpr std::size_t kShortJump = 16;   // of a function that only jumps on

}  // namespace

struct Unwinder::Impl {
  explicit Impl(Pid pid) : Impl(pid, TargetImages(pid)) { find_stack_begin(); }
  Impl(Pid pid, TargetImages all);

  void mappings_changed(bool other_code) {
    if (other_code) {
      outer_parts.clear();
      code.clear();
      libunwind.mappings_changed();
    }
    holes.mappings_changed();
  }
  // Takes what was told of mappings since the last chain.
  void update() {
    if (images.update()) mappings_changed(true);
    if (!knows_stack_begin) find_stack_begin();
  }
  void find_stack_begin();
  bool is_stack_begin(Address sp) const { return sp != 0 && sp == code_and_stack.stack_begin; }
  bool read(Address address, std::span<std::byte> bytes);
  std::optional<Address> call_target(Address return_address);

  ChainEnd walk(FramePosition at, FrameBase base, std::size_t depth);
  std::optional<ChainEnd> go_to(const FrameStep& step, std::size_t depth);
  ChainEnd search(const FramePosition& at, const FrameBase& base, std::size_t depth);

  bool is_on_other_stack(const FramePosition& at, const CodeFacts& facts);
  ChainEnd over_go_switch(const FramePosition& at, const CodeFacts& facts, FrameBase base,
                          std::size_t depth);
  std::optional<ChainEnd> go_on_as_before(const FramePosition& at, std::size_t depth);
  void keep_outer_part();
  ChainEnd splice(std::span<const Address> callers, std::size_t depth);

  TargetImages images;
  CodeCache code;
  SampledStack stack;
  LibunwindSteps libunwind;
  FrameSteps steps;
  StackHoles holes;
  OuterParts outer_parts;
  std::vector<OuterFrame> beyond_copy;  // of the present walk; the frames are those of the chain
  CodeAndStack code_and_stack;
  bool knows_stack_begin = false;  // as far as it can be known
  GoCode go_code;
  std::span<const Address> kernel_chain;  // that came with the sample
  int alternatives = 0;                   // that may still be tried
  std::size_t from_copy = 0;              // how many frames the copy alone has told
  bool stopped = false;                   // the thread is
  bool spliced = false;                   // the rest is the kernel's chain
  bool went_on = false;                   // the rest is what an earlier walk has found
  Chain chain;                            // the latest
};

Unwinder::Impl::Impl(Pid pid, TargetImages all)
    : images(std::move(all)),
      code(images),
      stack(pid),
      libunwind(images, [this](Address address,
                               std::span<std::byte> bytes) { return read(address, bytes); }),
      steps(stack, libunwind),
      holes(pid),
      outer_parts(pid) {
  code_and_stack.read = [this](Address address, std::span<std::byte> bytes) {
    return read(address, bytes);
  };
  code_and_stack.is_code = [this](Address address) { return images.is_code(address); };
  code_and_stack.last_entry = [this](Address address) -> Address {
    Image* image = images.at(address);
    if (image == nullptr) return 0;
    const Address bias = images.bias(*image);
    const Address entry = images.file(*image).last_call_target(address - bias);
    return entry == 0 ? 0 : entry + bias;
  };
  go_code.word = [this](Address address) { return stack.word(address); };
  go_code.call_target = [this](Address address) { return call_target(address); };
  go_code.enters = [this](Address target, Address function) {
    if (target == function) return true;
    const auto bytes = images.constant_bytes(target);
    return jumps_into(bytes.first(std::min(bytes.size(), kShortJump)), target, function, function);
  };
  go_code.stack_at = [this](Address address) -> std::optional<Address> {
    const CodeFacts& facts = code.at(address, true);
    if (facts.kind != CodeFacts::Kind::go || !facts.follows_call) return std::nullopt;
    return static_cast<Address>(facts.rule.cfa_offset) - kWordBytes;
  };
}

void Unwinder::Impl::find_stack_begin() {
  const auto stat = procfs::thread_stat(images.target(), images.target());
  code_and_stack.stack_begin = stat ? procfs::parse_stack_begin(*stat) : 0;
  knows_stack_begin = true;
}

bool Unwinder::Impl::read(Address address, std::span<std::byte> bytes) {
  const Address offset = address - stack.sp();
  const bool may_be_stack = offset < kLargestUserStack && images.at(address) == nullptr;
  if (may_be_stack || stack.has(address)) return stack.read(address, bytes);
  return images.read_constant(address, bytes) || read_target(images.target(), address, bytes);
}

// Returns where the direct call leads that is before the address.
std::optional<Address> Unwinder::Impl::call_target(Address return_address) {
  const auto bytes = images.constant_bytes(return_address - kLongestCall);
  if (bytes.size() < kLongestCall) return std::nullopt;
  const auto call = call_before(bytes.first(kLongestCall), return_address);
  return call ? call->target : std::nullopt;
}

// Follows the chain from its last frame, which is at `at`.
ChainEnd Unwinder::Impl::walk(FramePosition at, FrameBase base, std::size_t depth) {
  for (;;) {
    if (stack.read_live() && !stopped) {
      if (const auto end = go_on_as_before(at, depth)) return *end;
      beyond_copy.push_back({at, {}});
    }
    const CodeFacts facts = code.at(at.ip, at.returned);
    if (facts.kind == CodeFacts::Kind::unknown) return search(at, base, depth);
    chain.moves = chain.moves || facts.is_go();
    if (is_on_other_stack(at, facts)) return over_go_switch(at, facts, base, depth);
    const FrameStep step = steps.from(at, facts, base);
    if (const auto end = go_to(step, depth)) return *end;
    at = step.caller;
  }
}

// Appends what an earlier walk has found from the last frame on, which is at `at`.
std::optional<ChainEnd> Unwinder::Impl::go_on_as_before(const FramePosition& at,
                                                        std::size_t depth) {
  const std::span<const OuterFrame> known = outer_parts.find(at);
  if (known.empty() || chain.frames.size() + known.size() > depth) return std::nullopt;
  went_on = true;
  chain.frames.back().cfa = known.front().frame.cfa;
  for (const OuterFrame& each : known.subspan(1)) chain.frames.push_back(each.frame);
  beyond_copy.insert(beyond_copy.end(), known.begin(), known.end());
  return ChainEnd::outermost;
}

void Unwinder::Impl::keep_outer_part() {
  constexpr std::size_t few_new = 64;
  const std::size_t all = chain.frames.size();
  if (!chain.complete() || spliced || chain.moves || beyond_copy.size() > all) return;
  std::size_t known = 0;
  while (went_on && known < beyond_copy.size() && beyond_copy[known].frame.ip == 0) ++known;
  if (went_on && known < few_new) return;
  for (std::size_t i = 0; i < beyond_copy.size(); ++i) {
    beyond_copy[i].frame = chain.frames[all - beyond_copy.size() + i];
    if (beyond_copy[i].frame.ip != beyond_copy[i].at.ip) return;  // a search has come back
  }
  outer_parts.keep(beyond_copy);
}

// Appends the frame that the step leads to. Returns how the chain ends if it does so.
std::optional<ChainEnd> Unwinder::Impl::go_to(const FrameStep& step, std::size_t depth) {
  chain.frames.back().cfa = step.cfa;
  if (step.end) return step.end;
  // A compiler's table for the program's first function takes argc for a return address.
  if (is_stack_begin(step.cfa - kWordBytes)) return ChainEnd::outermost;
  if (step.caller.ip == 0 && step.caller.returned) return ChainEnd::outermost;
  FrameHow how = step.how;
  if (step.caller.returned) {
    const CodeFacts& facts = code.at(step.caller.ip, true);
    if (facts.kind == CodeFacts::Kind::context_end) return ChainEnd::outermost;
    if (facts.kind == CodeFacts::Kind::signal_return) {
      how = FrameHow::signal;
    } else if (!facts.follows_call) {
      return ChainEnd::no_call;
    }
  }
  if (chain.frames.size() == depth) return ChainEnd::depth;
  chain.frames.push_back({step.caller.ip, 0, how});
  if (!stack.read_live()) from_copy = chain.frames.size();
  return std::nullopt;
}

// Returns whether a function of Go's has gone on to the system stack of its thread, so that its
// caller is on another stack than it is.
bool Unwinder::Impl::is_on_other_stack(const FramePosition& at, const CodeFacts& facts) {
  if (facts.kind == CodeFacts::Kind::go) {
    // nanotime does so to call the vdso. RBP still points to where this frame saved it.
    const bool may_be = at.returned && facts.rule.bp == FrameRule::Bp::saved && at.bp != 0 &&
                        (at.bp < at.sp || at.bp - at.sp > kFarAway);
    const auto return_address = may_be ? stack.word(at.bp + kWordBytes) : std::nullopt;
    return return_address && code.at(*return_address, true).follows_call;
  }
  if (facts.kind != CodeFacts::Kind::go_switch) return false;
  const FrameStep step = steps.by_rule(at, facts.rule);
  const auto target = step.end ? std::nullopt : call_target(step.caller.ip);
  return !target || !go_code.enters(*target, facts.function);
}

// The goroutine's stack is in no copy, and the goroutine runs on. Its callers are those that the
// kernel found by frame pointers when it took the sample. These lack the function that called the
// switching one if that keeps no frame pointer; it is taken from the stack if that has not changed.
ChainEnd Unwinder::Impl::over_go_switch(const FramePosition& at, const CodeFacts& facts,
                                        FrameBase base, std::size_t depth) {
  std::optional<GoCaller> caller;
  if (facts.kind == CodeFacts::Kind::go_switch) {
    caller = go_caller_on_other_stack(facts.function, at.bp, go_code);
  } else if (const auto return_address = stack.word(at.bp + kWordBytes)) {
    caller = GoCaller{*return_address, at.bp + 2 * kWordBytes, stack.word(at.bp).value_or(0)};
  }
  auto known = std::find(kernel_chain.begin(), kernel_chain.end(), at.ip);
  if (known == kernel_chain.end() && chain.frames.size() > 1) {
    // The kernel passes over the caller of a function without a frame.
    known = std::find(kernel_chain.begin(), kernel_chain.end(), (chain.frames.end() - 2)->ip);
  }
  const bool has_kernels = kernel_chain.end() - known > 1;
  if (!caller && !has_kernels) return ChainEnd::unreadable;
  FrameStep step;
  step.how = FrameHow::frame_pointer;
  if (caller) {
    step.cfa = caller->sp;
    step.caller = {caller->return_address, caller->sp, caller->bp, true};
  }
  const bool is_next = has_kernels && caller && *(known + 1) == caller->return_address;
  const bool leads_there =
      has_kernels && caller && stack.word(caller->bp + kWordBytes) == *(known + 1);
  if (!has_kernels || leads_there) {
    if (const auto end = go_to(step, depth)) return *end;
    base.move_to(step.caller);
    if (!has_kernels) return walk(step.caller, base, depth);
  } else if (is_next) {
    chain.frames.back().cfa = step.cfa;
  }
  return splice({known + 1, kernel_chain.end()}, depth);
}

// Appends callers that the kernel has found. Their canonical addresses are not known.
ChainEnd Unwinder::Impl::splice(std::span<const Address> callers, std::size_t depth) {
  spliced = true;
  for (const Address each : callers) {
    FrameStep step;
    step.cfa = chain.frames.back().cfa;
    step.caller = {each, 0, 0, true};
    step.how = FrameHow::frame_pointer;
    if (const auto end = go_to(step, depth)) return *end;
  }
  const CodeFacts& last = code.at(chain.frames.back().ip, true);
  return last.kind == CodeFacts::Kind::outermost ? ChainEnd::outermost : ChainEnd::copy_short;
}

// Follows the chain from its last frame, which is in code without a table.
ChainEnd Unwinder::Impl::search(const FramePosition& at, const FrameBase& base, std::size_t depth) {
  if (is_stack_begin(at.sp)) return ChainEnd::outermost;
  const UnknownFrame frame{at.returned ? at.ip - 1 : at.ip, at.sp, at.bp, !at.returned};
  const auto last = static_cast<std::ptrdiff_t>(chain.frames.size()) - 1;
  std::vector<UnwoundFrame> best;
  ChainEnd best_end = ChainEnd::no_table;
  for (const PossibleCaller& caller : possible_callers(frame, code_and_stack)) {
    const bool first = best.empty() && caller.likely;
    if (!first && alternatives-- <= 0) break;
    chain.frames.back().cfa = caller.sp;
    if (chain.frames.size() == depth) return ChainEnd::depth;
    const FramePosition there{caller.return_address, caller.sp, caller.bp, true};
    FrameBase from = base;
    from.move_to(there);
    stack.has_return_address(caller.sp - kWordBytes, caller.return_address);
    chain.frames.push_back({there.ip, 0, FrameHow::guess});
    const ChainEnd end = walk(there, from, depth);
    if (end == ChainEnd::outermost) return end;
    if (first) {
      best.assign(chain.frames.begin() + last, chain.frames.end());
      best_end = end;
    }
    chain.frames.resize(static_cast<std::size_t>(last) + 1);
  }
  if (!best.empty()) {
    chain.frames.pop_back();
    chain.frames.insert(chain.frames.end(), best.begin(), best.end());
    return best_end;
  }
  chain.frames.back().cfa = 0;
  return is_outermost(frame, code_and_stack) ? ChainEnd::outermost : ChainEnd::no_table;
}

Unwinder::Unwinder(Pid target) : impl_(std::make_unique<Impl>(target)) {}
Unwinder::Unwinder(Pid target, std::shared_ptr<ImageFiles> files, std::vector<procfs::Map> maps)
    : impl_(std::make_unique<Impl>(target,
                                   TargetImages(target, std::move(files), std::move(maps)))) {}
Unwinder::~Unwinder() = default;

void Unwinder::refresh() {
  impl_->mappings_changed(impl_->images.load());
  impl_->find_stack_begin();
}

void Unwinder::refresh(std::vector<procfs::Map> maps) {
  impl_->mappings_changed(impl_->images.load(std::move(maps)));
  impl_->find_stack_begin();
}

void Unwinder::mapped(const procfs::Map& line) {
  impl_->images.mapped(line);
  impl_->holes.mappings_changed();
}

void Unwinder::unmap_all() {
  impl_->images.unmap_all();
  impl_->holes.mappings_changed();
  impl_->knows_stack_begin = false;
}

const std::vector<procfs::Map>& Unwinder::maps() { return impl_->images.maps(); }

std::size_t Unwinder::mend_stacks() { return impl_->holes.mend_all(); }

void Unwinder::set_stopped(bool stopped) { impl_->stopped = stopped; }

bool Unwinder::last_complete() const { return impl_->chain.complete(); }

const Chain& Unwinder::unwind_chain(const Registers& registers, std::span<const std::byte> stack,
                                    std::size_t depth, std::span<const Address> kernel_chain,
                                    const StackCopy& interrupted) {
  Chain& chain = impl_->chain;
  chain.frames.clear();
  chain.end = ChainEnd::depth;
  chain.from_copy = true;
  chain.moves = false;
  if (depth == 0) return chain;
  impl_->update();
  const FramePosition at = position_of(registers);
  impl_->stack.start(at.sp, stack, impl_->stopped, interrupted);
  impl_->kernel_chain = kernel_chain;
  impl_->alternatives = kMostAlternatives;
  impl_->holes.mend(at.sp, stack);
  impl_->spliced = impl_->went_on = false;
  impl_->beyond_copy.clear();
  impl_->from_copy = 1;
  chain.frames.push_back({at.ip, 0, FrameHow::instruction});
  chain.end = impl_->walk(at, FrameBase{registers, 0}, depth);
  chain.from_copy = !impl_->stack.read_live();
  if (!chain.from_copy && !impl_->spliced && !impl_->stack.is_still_unchanged()) {
    chain.frames.resize(std::min(impl_->from_copy, chain.frames.size()));
    chain.end = impl_->stack.crossed() ? ChainEnd::unreadable : ChainEnd::copy_short;
  } else if (!chain.from_copy) {
    impl_->keep_outer_part();
  }
  return chain;
}

std::vector<Address> Unwinder::unwind(const Registers& registers, std::span<const std::byte> stack,
                                      std::size_t depth, std::span<const Address> kernel_chain,
                                      const StackCopy& interrupted) {
  std::vector<Address> addresses;
  const Chain& chain = unwind_chain(registers, stack, depth, kernel_chain, interrupted);
  for (const UnwoundFrame& frame : chain.frames) {
    addresses.push_back(frame.ip);
  }
  return addresses;
}

}  // namespace causalctl::unwind
