// Whom the kernel's OOM killer ends first where memory has run out (proc(5), oom_score_adj).
#pragma once

namespace causalctl {

// Makes this process, and the processes that it forks from now on, the first to be ended, so that a
// target is not ended for the memory that causalctl needs. Needs no right. A process that may not
// write its own files below /proc, because it has file capabilities, stays as it was.
void be_first_to_be_ended();
// Undoes that for a child that becomes a program which the user has asked for.
void be_ended_as_before();

}  // namespace causalctl
