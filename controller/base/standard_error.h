// How messages get to standard error (base/log.h).
//
// No call waits for long: a terminal that is stopped, or a pager that nobody scrolls, must not keep
// causalctl from letting go of a target. A thread of its own writes (base/aside.h). Messages that
// standard error does not take wait, up to a bound, behind which they are counted and left out.
#pragma once

#include <string_view>

namespace causalctl::standard_error {

void write(std::string_view text);
// Leaves it out while another message waits, because the next status replaces it.
void write_status(std::string_view text);
// Waits until all messages are written; for ever, except that base/ends.h ends that.
void flush();

}  // namespace causalctl::standard_error
