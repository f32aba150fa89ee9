#include "controller/commands/counted_run.h"

#include <fmt/format.h>

#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"

namespace causalctl::commands {
namespace {

constexpr double kMostRuns = 1e15;

// Its visits in all epochs; 0 if one of them has not counted it.
std::uint64_t visits_in_all(const std::vector<continuous::Epoch>& epochs,
                            const std::string& point) {
  std::uint64_t visits = 0;
  for (const continuous::Epoch& epoch : epochs) {
    if (epoch.recorded_ns <= 0) continue;  // it has just begun
    const auto counted = epoch.visits.find(point);
    if (counted == epoch.visits.end()) return 0;
    visits += counted->second;
  }
  return visits;
}

void find_runs(CountedRun& run, const std::vector<continuous::Epoch>& epochs,
               const continuous::Image& image, continuous::FileNames& names) {
  for (const auto& [point, ignored] : epochs.front().visits) {
    const auto entry = names.entry(image, point);
    const auto executed =
        entry ? run.exact.instructions.find(*entry) : run.exact.instructions.end();
    const std::uint64_t visits = visits_in_all(epochs, point);
    if (executed == run.exact.instructions.end() || executed->second == 0 || visits == 0) continue;
    run.runs = static_cast<double>(visits) / static_cast<double>(executed->second);
    run.runs_by = fmt::format("visits of {}", point);
    return;
  }
}

}  // namespace

double parse_runs(const std::string& text) {
  const auto number = parse_number<double>(text);
  if (number && *number > 0 && *number < kMostRuns) return *number;
  throw UsageError(fmt::format("--runs {}: not a number", printable(text)), "a number above 0");
}

std::optional<CountedRun> counted_run(const continuous::Database& database,
                                      const std::vector<continuous::Epoch>& epochs,
                                      const continuous::Image& image, continuous::FileNames& names,
                                      double told) {
  auto exact = database.exact_counts(image.build_id);
  if (!exact) return std::nullopt;
  CountedRun run{std::move(*exact), {}, 0, told, "--runs"};
  for (const continuous::ExactImport& import : database.exact_imports()) {
    if (import.image.build_id != image.build_id) continue;
    run.command = import.command;
    run.imported_ns = import.imported_ns;
  }
  if (told <= 0) find_runs(run, epochs, image, names);
  return run;
}

}  // namespace causalctl::commands
