// This file is part of the Valgrind tool of causalctl, a program of its own: it is linked with
// Valgrind, and so, other than the rest of causalctl, under the GNU General Public License, version
// 2 or later.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Writes the result: a text file, one item a line, its numbers separated by spaces. Each write
// makes a new file that replaces the old one by rename(2), so that whenever the program is killed,
// a complete one is there. It has the activations that have returned by then.
//
//   causalctl-inputs 1          the format's version
//   cell BYTES
//   total BLOCKS INSTRUCTIONS   of all threads
//   lost EVENTS
//   module INDEX PATH           the path is the rest of the line, with \n and \\ for these two
//   thread NUMBER
//   routine NUMBER MODULE OFFSET
//   row ROUTINE THREAD RMS TRMS CALLS, then min max sum sumsq of blocks, own blocks, instructions
//       and own instructions, then outermost blocks and instructions, external, thread
//   end FINAL                   1 if the program has ended
//
// A sum of squares is the bits of a double.
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "controller/inputs/tool/inputs_tool.h"
#include "controller/inputs/tool/tracking.h"

namespace causalctl::inputs::tool {
namespace {

constexpr std::size_t kMostPath = 4096;
// A write takes at most about a twentieth of the time.
constexpr unsigned kTimesAsLong = 20;

char path[kMostPath];
char path_while_written[kMostPath + 8];
unsigned interval_ms = 0;
unsigned next_ms = 0;

// A file that is written through a buffer.
class Output {
 public:
  explicit Output(const char* name) : file_(inputs_open(name)), failed_(file_ < 0) {}

  void text(const char* bytes) {
    for (; *bytes != '\0'; ++bytes) put(*bytes);
  }
  void rest_of_line(const char* bytes) {
    for (; *bytes != '\0'; ++bytes) {
      if (*bytes == '\n' || *bytes == '\\') put('\\');
      put(*bytes == '\n' ? 'n' : *bytes);
    }
    put('\n');
  }
  void number(std::uint64_t value) {
    char digits[24];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count > 0) put(digits[--count]);
    put(' ');
  }
  void end_line() { put('\n'); }

  // Returns false if it could not be written.
  bool close_as(const char* from, const char* to) {
    flush();
    return file_ >= 0 && inputs_close_as(file_, failed_ ? nullptr : from, to) != 0;
  }

 private:
  void put(char byte) {
    if (used_ == sizeof(buffer_)) flush();
    buffer_[used_++] = byte;
  }
  void flush() {
    if (!failed_ && inputs_write_all(file_, buffer_, used_) == 0) failed_ = true;
    used_ = 0;
  }

  int file_;
  bool failed_;
  std::size_t used_ = 0;
  char buffer_[32768];
};

void write_row(Output& out, std::uint32_t thread, const core::Row& row) {
  out.text("row ");
  for (const std::uint64_t value :
       {std::uint64_t{row.routine}, std::uint64_t{thread}, row.rms, row.trms, row.calls}) {
    out.number(value);
  }
  for (std::size_t unit = 0; unit < core::kUnits; ++unit) {
    for (const core::RowCost* cost : {&row.cost[unit], &row.own[unit]}) {
      out.number(cost->min);
      out.number(cost->max);
      out.number(cost->sum);
      out.number(__builtin_bit_cast(std::uint64_t, cost->sum_of_squares));
    }
  }
  out.number(row.outermost[0]);
  out.number(row.outermost[1]);
  out.number(row.external);
  out.number(row.thread);
  out.end_line();
}

void write_all(Output& out, bool final) {
  const Tracker& tracker = the_tracker();
  std::uint64_t total[core::kUnits] = {};
  for (std::size_t t = 0; t < tracker.threads().size(); ++t) {
    const OneThread* const thread = tracker.threads()[t];
    for (std::size_t unit = 0; unit < core::kUnits; ++unit) {
      total[unit] += thread == tracker.current() ? tracker.cost[unit] : thread->cost[unit];
    }
  }
  out.text("total ");
  out.number(total[0]);
  out.number(total[1]);
  out.text("\nlost ");
  out.number(tracker.lost());
  out.end_line();
  for (unsigned index = 0; inputs_module(index) != nullptr; ++index) {
    out.text("module ");
    out.number(index);
    out.rest_of_line(inputs_module(index));
  }
  for (unsigned number = 1; inputs_routine(number) != nullptr; ++number) {
    out.text("routine ");
    out.number(number);
    out.number(inputs_routine(number)->module);
    out.number(inputs_routine(number)->offset);
    out.end_line();
  }
  for (std::size_t t = 0; t < tracker.threads().size(); ++t) {
    const OneThread& thread = *tracker.threads()[t];
    out.text("thread ");
    out.number(thread.number);
    out.end_line();
    for (std::size_t i = 0; i < thread.rows.all().size(); ++i) {
      write_row(out, thread.number, thread.rows.all()[i]);
    }
  }
  out.text(final ? "end 1\n" : "end 0\n");
}

void copy(char* to, const char* from, const char* suffix) {
  std::size_t at = 0;
  while (at + 1 < kMostPath && *from != '\0') to[at++] = *from++;
  while (*suffix != '\0') to[at++] = *suffix++;
  to[at] = '\0';
}

}  // namespace

void begin_result(const InputsOptions& options) {
  copy(path, options.result, "");
  copy(path_while_written, options.result, ".new");
  interval_ms = static_cast<unsigned>(options.interval_ms);
  next_ms = inputs_now_ms() + interval_ms;
}

}  // namespace causalctl::inputs::tool

using namespace causalctl::inputs::tool;

void inputs_forget_result() { path[0] = '\0'; }

void inputs_write_if_due() {
  if (inputs_now_ms() >= next_ms) inputs_write(0);
}

void inputs_write(int final) {
  if (path[0] == '\0') return;
  const unsigned begun_ms = inputs_now_ms();
  Output out(path_while_written);
  out.text("causalctl-inputs 1\n");
  write_all(out, final != 0);
  out.close_as(path_while_written, path);
  const unsigned now_ms = inputs_now_ms();
  next_ms = now_ms + interval_ms + kTimesAsLong * (now_ms - begun_ms);
}
