#include "controller/commands/this_host.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <string>

#include "controller/base/procfs.h"
#include "controller/session/identity.h"

namespace causalctl::commands {

continuous::Host this_host() {
  utsname names{};
  uname(&names);
  continuous::Host host;
  host.name = session::host_name();
  host.kernel = names.release;
  const std::string info = procfs::read_text("/proc/cpuinfo").value_or("");
  if (const auto at = info.find("model name"); at != std::string::npos) {
    const auto begin = info.find(": ", at);
    host.processor = info.substr(begin + 2, info.find('\n', begin) - begin - 2);
  }
  host.cores = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_CONF));
  return host;
}

}  // namespace causalctl::commands
