// The file in which a run-time names the code that it compiles (/tmp/perf-PID.map). The first byte
// says into which pieces the file is cut.
#include <algorithm>
#include <string>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/symbols/perf_map.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {

void read_perf_map(Bytes bytes) {
  if (bytes.empty()) return;
  const std::size_t piece = 1 + std::to_integer<std::size_t>(bytes.front());
  const std::string text = as_text(bytes.subspan(1));
  symbols::PerfMap map;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    map.add(std::string_view(text).substr(at, piece));
  }
  std::size_t found = 0;
  for (Address address = 0; address < 0x2000; address += 0x10) {
    const symbols::PerfMap::Function* function = map.find(address);
    if (function == nullptr) continue;
    INVARIANT(function->start <= address && address < function->end);
    INVARIANT(printable(function->name) == function->name);
    symbols::is_runtime_stub(function->name);
    ++found;
  }
  INVARIANT(found == 0 || map.size() > 0);
}

}  // namespace causalctl::fuzz
