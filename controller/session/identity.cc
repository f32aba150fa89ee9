#include "controller/session/identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <random>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/tracee/process.h"

namespace causalctl::session {
namespace {

std::string host_name() {
  std::string name(256, '\0');
  if (gethostname(name.data(), name.size()) != 0) return "unknown";
  name.resize(name.find('\0'));
  return name;
}

}  // namespace

void identify_first(const std::vector<Pid>& processes, Recording& recording) {
  std::random_device random;
  recording.id = fmt::format("{:08x}{:08x}", random(), random());
  recording.host = host_name();
  recording.started_ns = realtime_now();
  if (processes.empty()) return;
  recording.pid = processes.front();
  recording.executable = procfs::executable(recording.pid);
  recording.started_as = tracee::started_as(recording.pid);
}

void identify(Pid target, unwind::Symbolizer& symbolizer, Recording& recording) {
  identify_first({target}, recording);
  for (const unwind::Module& module : symbolizer.modules()) {
    if (module.main) recording.build_id = module.build_id;
  }
}

}  // namespace causalctl::session
