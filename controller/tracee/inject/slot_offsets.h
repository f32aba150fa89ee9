// Slot's fields for stub.S, which cannot read C++; stub.cc asserts that they agree.
#pragma once

#define CAUSALCTL_SLOT_OWED_TOTAL 0
#define CAUSALCTL_SLOT_ARMED_AT 8
#define CAUSALCTL_SLOT_STALE_AFTER 16
#define CAUSALCTL_SLOT_PAID_TOTAL 24
#define CAUSALCTL_SLOT_ENTERED 32
#define CAUSALCTL_SLOT_LEFT 40
#define CAUSALCTL_SLOT_ENTERED_AT 48
#define CAUSALCTL_SLOT_LEFT_AT 56
#define CAUSALCTL_SLOT_SIZE 64
#define CAUSALCTL_SLOT_SPINS 1
