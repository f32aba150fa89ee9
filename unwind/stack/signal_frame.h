// Finds what a signal interrupted, by the registers that the kernel saved on the stack. Pure but
// for the reader that it is given.
//
// A handler returns to code that only calls rt_sigreturn(2): that of glibc, which has a table, and
// those of musl and of Go, which have none. The frame that the kernel made is the same for all:
// struct rt_sigframe in arch/x86/include/asm/sigframe.h, of which `ret` has popped the first word.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "controller/base/types.h"
#include "unwind/stack/registers.h"

namespace causalctl::unwind {

inline constexpr std::size_t kSignalReturnBytes = 9;  // the length of that code

// Returns whether the code begins with a call of rt_sigreturn.
bool is_signal_return(std::span<const std::byte> code);

// Returns whether a context made by makecontext(3) ends with this code of glibc, __start_context.
// Nothing called it, and its address on the stack follows no call.
bool is_context_end(std::span<const std::byte> code);

// Returns whether the code behind a call ends the thread by exit(2), as musl's clone() does after
// the function that it was given: nothing called it.
bool is_thread_end(std::span<const std::byte> code);

// Returns the registers at the interrupted instruction. `sp` is the stack pointer after the return
// from the handler.
std::optional<Registers> interrupted(Address sp,
                                     const std::function<std::optional<Address>(Address)>& word);

}  // namespace causalctl::unwind
