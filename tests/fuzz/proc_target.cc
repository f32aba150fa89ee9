#include <sys/auxv.h>

#include "controller/base/cgroup.h"
#include "controller/base/idle_core.h"
#include "controller/base/procfs.h"
#include "controller/base/tracefs.h"
#include "controller/compare/ready.h"
#include "controller/compare/usage.h"
#include "controller/perf/tracepoint.h"
#include "controller/session/cgroup_places.h"
#include "controller/session/process_table.h"
#include "controller/tracee/process.h"
#include "tests/fuzz/targets.h"
#include "unwind/modules/mapped_file.h"

namespace causalctl::fuzz {
namespace {

// What a command prints, in which its process id is looked for.
void read_output(const std::string& text) {
  compare::ReadyPattern plain("ready|listening");
  compare::ReadyPattern with_pid("pid[ =]*([0-9]+)");
  const std::size_t half = text.size() / 2;  // it comes piece by piece
  for (const std::string& piece : {text.substr(0, half), text.substr(half)}) {
    plain.find(piece);
    with_pid.find(piece);
  }
}

void read_tracefs(const std::string& text, Bytes bytes) {
  tracefs_in_mounts(text);
  if (const auto format = perf::parse_waking_format(text)) perf::parse_waking(bytes, *format);
}

void read_sets(const std::string& text) {
  session::parse_row(text);
  session::parse_has_memory(text);
  session::is_in_unit(text, session::unit_glob(session::unit_name(text.substr(0, 20))), {""});
  for (const session::Cgroup& each :
       session::cgroups_meant(text.substr(0, 20), session::parse_hierarchies(text))) {
    each.folder();
    session::is_in_cgroup(text, each);
  }
}

}  // namespace

void read_proc(Bytes bytes) {
  const std::string text = as_text(bytes);
  const procfs::Status status = procfs::parse_status(text);
  for (int signal = 1; signal <= 64; ++signal) procfs::has_signal(status.signals_caught, signal);
  const auto maps = procfs::parse_maps(text);
  unwind::mapped_files(maps, maps.empty() ? "" : maps.front().path);
  procfs::parse_parent(text);
  procfs::parse_children_ticks(text);
  procfs::parse_user_ticks(text);
  procfs::parse_start_ticks(text);
  procfs::parse_is_kernel_worker(text, text);
  procfs::parse_auxiliary(text, AT_ENTRY);
  tracee::parse_activity(text);
  cgroup_paths(text, "freezer");
  compare::status_number(text, "VmRSS");
  IdleCore idle(parse_core_times(text));
  idle.poll(parse_core_times(text));
  read_output(text);
  read_tracefs(text, bytes);
  read_sets(text);
}

}  // namespace causalctl::fuzz
