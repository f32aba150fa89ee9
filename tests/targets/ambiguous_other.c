// The second function of the same name; see ambiguous.c.
#include "harness.h"

void other_round(void);

static _Atomic uint64_t calls;

static NOINLINE void same_name(void) { atomic_fetch_add(&calls, 1); }

void other_round(void) { same_name(); }

void same_line_second(void);
// A line that this file and the other one have under one name, in different folders.
#line 7 "second/same.c"
void same_line_second(void) { count_round(); }
