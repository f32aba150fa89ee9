// The second function of the same name; see ambiguous.c.
#include "harness.h"

void other_round(void);

static _Atomic uint64_t calls;

static NOINLINE void same_name(void) { atomic_fetch_add(&calls, 1); }

void other_round(void) { same_name(); }
