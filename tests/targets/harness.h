// What every target shares: options, `ready PID`, the end by SIGTERM, time or rounds, the counter
// of rounds, and work that is a number of loop iterations, so that a pause can never count as work.
//
// Output: any number of `per_ms NAME N` lines, `ready PID`, and at the end `rounds N`,
// `elapsed_ns N` and `eintr N` (blocking calls of the main thread that an unseen signal broke).
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Each function has cache lines of its own: while an execution breakpoint is armed, a hot loop in
// the same 64 bytes runs up to four times slower (measured on an AMD EPYC), which would change the
// target.
#ifdef __clang__  // knows no noclone, and makes no clones
#define NOINLINE __attribute__((noinline, aligned(64)))
#else
#define NOINLINE __attribute__((noinline, noclone, no_icf, aligned(64)))
#endif

// A step of work on a register: a chain of multiplications takes the same time wherever code and
// stack happen to lie, which a loop over a volatile does not (store forwarding made it 1.8 times
// slower in one thread than in another). A macro, so that it belongs to the line that uses it.
#define SPIN(step) __asm__ volatile("imul $3, %0, %0" : "+r"(step))

// One own option of a target: exactly one of `number` and `text` is set, and holds the default.
struct own_option {
  const char* name;  // "--a-factor"
  double* number;
  const char** text;
  const char* help;
};

// Parses the options, ours and `own` (ended by a null name), and blocks SIGTERM for all threads to
// come. Ends the program with 2 on a wrong option.
void harness_start(int argc, char** argv, const char* description, const struct own_option* own);

// Iterations of `work` that take a millisecond, measured (or as given by --per-ms).
double calibrate(const char* name, void (*work)(uint64_t));

void ready(void);
// `count` threads that all do `work`; ends the program where they cannot be had.
pthread_t* start_workers(size_t count, void* (*work)(void*));
void join_workers(pthread_t* workers, size_t count);  // and frees them
bool stopping(void);
// Counts a round (in a build with -DUSE_COZ also for Coz: scripts/targets/build-coz); ends the
// program when at least the rounds asked for are done.
void count_round(void);
uint64_t rounds_done(void);
// Main thread: blocks until SIGTERM, the time or the rounds are over; then stopping() is true.
void wait_for_end(void);
// Prints the results; returns the exit status of main.
int finish(void);

// Sleeps like a thread that waits for a device: a timer wakes it, no thread does. 0: returns.
void wait_for_device(double wait_ms);

// The calling thread runs on one core from now on: the `number`th of those that it may use, modulo
// their number.
void bind_to_core(int number);

int64_t now_ns(void);
void die(const char* what);
