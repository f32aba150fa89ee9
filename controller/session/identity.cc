#include "controller/session/identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <random>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/tracee/process.h"

namespace causalctl::session {

std::string host_name() {
  std::string name(256, '\0');
  if (gethostname(name.data(), name.size()) != 0) return "unknown";
  name.resize(name.find('\0'));
  return name;
}

void identify(Recording& recording) {
  std::random_device random;
  recording.id = fmt::format("{:08x}{:08x}", random(), random());
  recording.host = host_name();
  recording.started_ns = realtime_now();
}

void identify(Pid target, Recording& recording) {
  identify(recording);
  recording.pid = target;
  recording.executable = procfs::executable(target);
  recording.started_as = tracee::started_as(target);
}

void identify(Pid target, unwind::Symbolizer& symbolizer, Recording& recording) {
  identify(target, recording);
  for (const unwind::Module& module : symbolizer.modules()) {
    if (module.main) recording.build_id = module.build_id;
  }
}

}  // namespace causalctl::session
