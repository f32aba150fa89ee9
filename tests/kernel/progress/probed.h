// Code on which progress points can stand, with lines, functions and probes that the tests know.
#pragma once

namespace probed {

inline volatile int sink = 0;

void function_1();
void function_2();
void function_3();
void function_4();
void function_5();
void overloaded(int value);
void overloaded(double value);

extern const int hit_line_number;
void hit_line();

extern const int inlined_line_number;  // inlined into six_inlined_copies six times
void six_inlined_copies();
extern const int pair_line_number;  // two copies
void two_inlined_copies();
extern const int locked_line_number;  // begins with an instruction that has a lock prefix
void locked();
extern const int everywhere_line_number;  // 66 copies
void everywhere();
extern const int unrolled_line_number;  // executed four times; gcc makes four copies of it
void unrolled();

void call_twin_a();
void call_twin_b();

void plain_probe();    // usdt:causalctl_test:plain, two sites, each of which is passed once
void guarded_probe();  // usdt:causalctl_test:guarded, passed only if its semaphore is not 0
unsigned guarded_semaphore();

}  // namespace probed
