// What the unwinder must know of an address of code, remembered for the addresses met last: the
// rule that leads to the caller, and whether the code before it is a call.
//
// All of it is constant for code of a file, and read from the file. Of other code nothing is
// remembered, as it may be made anew at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/base/types.h"
#include "unwind/stack/target_images.h"
#include "unwind/tables/frame_rule.h"

namespace causalctl::unwind {

struct CodeFacts {
  enum class Kind : std::uint8_t {
    unknown,        // no table describes it
    table,          // the rule is that of the unwind table
    go,             // the rule is that of Go's table, which tells how much stack is in use
    go_switch,      // as `go`, of a function that goes on on another stack
    go_preempt,     // as `go`, but called by nobody: the runtime went there from a signal
    outermost,      // nothing called it
    signal_return,  // a handler returns to it (signal_frame.h)
    context_end,    // a context returns to it
  };

  FrameRule rule;
  Kind kind = Kind::unknown;
  bool follows_call = false;  // of an address to return to
  Address function = 0;       // where the function begins; only of Go's

  bool is_go() const {
    return kind == Kind::go || kind == Kind::go_switch || kind == Kind::go_preempt;
  }
};

class CodeCache {
 public:
  explicit CodeCache(TargetImages& images) : images_(images) {}

  // `returned` tells that the address is one to return to, so that the code before it counts. The
  // facts are valid until the next call.
  const CodeFacts& at(Address ip, bool returned) {
    const std::uint64_t key = ip << 1U | (returned ? 1U : 0U);
    if (fills_ == entries_.size() && fills_ < kMostEntries) grow();
    Entry& entry = entries_[(key * 0x9e3779b97f4a7c15U) >> shift_];
    if (entry.key != key) {
      ++fills_;
      fill(entry, ip, returned, key);
    }
    return entry.facts;
  }
  void clear();

 private:
  // A process that has few samples needs few.
  static constexpr std::size_t kFewestEntries = 1U << 7U;
  static constexpr std::size_t kMostEntries = 1U << 13U;

  struct Entry {
    std::uint64_t key = 0;
    CodeFacts facts;
  };

  void grow();
  void fill(Entry& entry, Address ip, bool returned, std::uint64_t key);
  void by_tables(CodeFacts& facts, Image& image, Address code);

  TargetImages& images_;
  std::vector<Entry> entries_;  // a power of two, or none yet
  unsigned shift_ = 0;          // from a hash to an index
  std::size_t fills_ = 0;       // since they were made
};

}  // namespace causalctl::unwind
