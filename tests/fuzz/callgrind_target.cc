// A file of callgrind: the reader, and the blobs of what it has read.
#include "controller/base/error.h"
#include "controller/continuous/counts/callgrind_file.h"
#include "controller/continuous/record/blob.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {

void read_callgrind(Bytes bytes) {
  continuous::CallgrindFile file;
  try {
    file = continuous::read_callgrind(as_text(bytes), "fuzz");
  } catch (const Error&) {
    return;
  }
  for (const auto& [path, object] : file.objects) {
    const auto& [instructions, jumps] = object.counts;
    INVARIANT(continuous::decode_executions(continuous::encode(instructions)) == instructions);
    INVARIANT(continuous::decode_jumps(continuous::encode(jumps)) == jumps);
  }
}

}  // namespace causalctl::fuzz
