#include "tests/sim/machine.h"
