// Tests the way from Go's system stack back to the goroutine, on a stack made by hand.
#include "unwind/stack/go_stack.h"

#include <catch2/catch.hpp>
#include <map>

namespace causalctl::unwind {
namespace {

constexpr Address kSwitch = 0x401000;     // systemstack
constexpr Address kCaller = 0x402010;     // behind its call of that
constexpr Address kMoreStack = 0x403010;  // behind a call for more stack
constexpr Address kElsewhere = 0x404010;  // behind a call of something else
constexpr Address kStack = 0xc000010000;

struct Stack {
  std::map<Address, Address> words;
  std::map<Address, Address> targets{
      {kCaller, kSwitch}, {kMoreStack, kSwitch}, {kElsewhere, 0x405000}};
  std::map<Address, Address> in_use{{kCaller, 0x40}, {kMoreStack, 0}, {kElsewhere, 0x20}};

  static std::optional<Address> get(const std::map<Address, Address>& from, Address key) {
    const auto found = from.find(key);
    return found == from.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<GoCaller> caller(Address bp) const {
    GoCode code;
    code.word = [this](Address at) { return std::optional(get(words, at).value_or(0)); };
    code.call_target = [this](Address at) { return get(targets, at); };
    code.enters = [](Address target, Address function) { return target == function; };
    code.stack_at = [this](Address at) { return get(in_use, at); };
    return go_caller_on_other_stack(kSwitch, bp, code);
  }
};

}  // namespace

TEST_CASE("the goroutine that switched stacks is found below its frame pointer", "[unwind]") {
  Stack stack;
  stack.words[kStack] = kCaller;
  // The caller has 0x40 bytes in use, of which the last are its saved frame pointer.
  const Address bp = kStack + 8 + 0x40 - 8;
  const auto caller = stack.caller(bp);
  REQUIRE(caller);
  CHECK(caller->return_address == kCaller);
  CHECK(caller->sp == kStack + 8);
  CHECK(caller->bp == bp);
  SECTION("an old return address from which the frame would end elsewhere is passed over") {
    stack.words[kStack + 16] = kCaller;
    CHECK(stack.caller(bp)->sp == kStack + 8);
    CHECK_FALSE(stack.caller(bp + 24));
  }
}

TEST_CASE("the goroutine that asked for more stack is found", "[unwind]") {
  Stack stack;
  stack.words[kStack] = kMoreStack;
  stack.words[kStack + 8] = kElsewhere;
  const auto caller = stack.caller(kStack + 16 + 0x20 - 8);
  REQUIRE(caller);
  CHECK(caller->return_address == kMoreStack);
  CHECK(caller->sp == kStack + 8);
}

TEST_CASE("a switching function that keeps a frame pointer itself is left by it", "[unwind]") {
  Stack stack;
  stack.words[kStack] = kStack + 0x100;
  stack.words[kStack + 8] = kCaller;
  const auto caller = stack.caller(kStack);
  REQUIRE(caller);
  CHECK(caller->return_address == kCaller);
  CHECK(caller->sp == kStack + 16);
  CHECK(caller->bp == kStack + 0x100);
}

TEST_CASE("senseless frame pointers lead to no goroutine", "[unwind]") {
  const Stack stack;
  CHECK_FALSE(stack.caller(0));
  CHECK_FALSE(stack.caller(8));
  CHECK_FALSE(stack.caller(kStack + 1));
  CHECK_FALSE(stack.caller(~Address{7}));
}

}  // namespace causalctl::unwind
