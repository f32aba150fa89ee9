#include "controller/commands/db_import.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/number.h"
#include "controller/commands/this_host.h"
#include "controller/continuous/counts/import.h"
#include "controller/continuous/record/database.h"

namespace causalctl::commands {
namespace {

using continuous::Database;

Database database_for(const std::string& path) {
  const continuous::Host host = this_host();
  const std::string file = Database::file_for(path, host);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return Database::record(path, host);
  return Database::is_recording(file) ? Database::beside(file) : Database::take(file, host);
}

}  // namespace

void import_counts(const std::string& path, const std::vector<std::string>& files) {
  const continuous::Imported imported = continuous::import_callgrind(files);
  for (const std::string& text : imported.warnings) log::note("{}", text);
  if (imported.images.empty()) {
    throw Error("nothing is imported: no file that was counted has a build-id here",
                "import where the program was counted, and link it with -Wl,--build-id");
  }
  Database database = database_for(path);
  database.add_exact(imported.images, imported.command, realtime_now());
  const auto percent = [&imported](std::uint64_t part) {
    return 100 * share_of(part, imported.instructions);
  };
  log::note("imported exact counts of {} files, {} executed instructions, into {}",
            imported.images.size(), imported.instructions - imported.left_out - imported.elsewhere,
            database.file());
  if (imported.elsewhere > 0) {
    log::note("{:.2f} % of the instructions are in code without a file",
              percent(imported.elsewhere));
  }
}

}  // namespace causalctl::commands
