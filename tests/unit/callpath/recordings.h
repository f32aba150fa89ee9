// Recordings of call paths for tests.
#pragma once

#include <string>
#include <vector>

#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

// A program of two modules. main calls a (which calls the inlined b, which calls c), and c from
// line 12; c calls itself. libz.so has code without symbols.
Recording small_recording();

// A build of 43 processes: make, two processes of cc1, and 40 of as, which share an entry. make has
// 10 of the 100 samples and waits, cc1 has 60 and 20, as has 10.
Recording set_recording();

// Gives the recording parts of equal length, in which all values grow evenly.
void cut(Recording& recording, std::size_t parts);

// The same program, from another build: in another folder, with other addresses and build-ids, and
// a newer libz. c is dearer: its samples, and those of all that it does itself, are `times` as
// many.
Recording other_build(std::uint64_t times);

// Returns the number of a location, which is added.
LocationId add_location(Recording& recording, std::uint32_t module, Address offset, bool is_call,
                        std::vector<SourceFrame> frames);

}  // namespace causalctl::callpath
