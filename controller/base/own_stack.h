// Room on the stacks of causalctl, whatever the limit of stacks (ulimit -s) is.
//
// The limit that causalctl was started with holds for the first thread, and glibc gives each
// further thread a stack of that size. Libraries need more than a small one: to read the lines of a
// file, libdw puts some 190 KiB on the stack. The limit itself stays as it is, because programs
// that causalctl starts inherit it, and because only root may raise one that is hard.
#pragma once

namespace causalctl {

// Returns what `function` returns. Where the limit is below 8 MiB, it runs on a stack of that size,
// as do the threads that are started from now on. REQUIRES: no other thread runs, and nothing is
// thrown by `function`.
int with_own_stack(int (*function)(int, char**), int argc, char** argv);

}  // namespace causalctl
