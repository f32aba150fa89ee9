// The only place that opens files which others name.
//
// The owner of a target chooses where its debug link, its .dwo names and its names in /tmp lead: to
// a FIFO, where opening waits for ever; to a device, where opening has effects; to /dev/zero, which
// does not end. So the name is looked at before it is opened (O_PATH), and what is opened is what
// was looked at, whatever becomes of the name meanwhile.
//
// Libraries come here as well: elfutils opens .dwo files, alternate debug files and files beside a
// program by name, in functions that take no descriptor. Its calls of open(2) are ours, because the
// program's own definition of that function comes before libc's.
#pragma once

#include <cstdint>
#include <string>

#include "controller/base/fd.h"

namespace causalctl {

// A file that is larger is not read: a sparse one has any size at no cost.
inline constexpr std::uint64_t kLargestRegularFile = 16ULL << 30U;

// Returns the file, open for reading, or none and errno: that of open(2), ENOTSUP if the name does
// not lead to a regular file, ENODATA if that is empty (as all files in /proc and tracefs are),
// EFBIG if it is larger than the above.
Fd open_regular(const std::string& path);
Fd open_regular(const Fd& place);  // what an O_PATH descriptor stands for

// Returns what a name that the user gave has, which may be a pipe as well. Opening it never waits.
// Throws Error if it cannot be read, or has more than `most` bytes; `hint` says what to name.
std::string read_input(const std::string& path, std::uint64_t most, const std::string& hint);

// A file that is mapped may be cut by its owner. From then on what is behind its end reads as zeros
// instead of ending this process by SIGBUS.
void survive_cut_files();

}  // namespace causalctl
