// Precompiled for the test programs, whose files include what they use all the same: Catch2's
// header costs more to read than most of them.
#include <catch2/catch.hpp>
