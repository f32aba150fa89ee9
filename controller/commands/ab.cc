// `causalctl ab`: two programs, configurations or processes in interleaved runs, and, with a causal
// log, whether the optimisation delivered what was predicted (docs/ab.md).
#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <memory>

#include "config/load.h"
#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/causal/analysis/predict.h"
#include "controller/causal/record/log.h"
#include "controller/commands/commands.h"
#include "controller/commands/options.h"
#include "controller/commands/output.h"
#include "controller/compare/comparison.h"
#include "controller/compare/runs.h"
#include "controller/compare/schedule.h"
#include "controller/compare/sequential.h"
#include "controller/report/compare/model.h"
#include "controller/report/text.h"
#include "controller/session/status_line.h"

namespace causalctl::commands {
namespace {

constexpr const char* kOutputHint = "name another file with -o";

// Returns the name of the progress point that decides, as the causal log calls it.
std::string deciding_point(const config::Progress& progress) {
  return progress.throughput.empty() ? progress.latency.front().name : progress.throughput.front();
}

// Reads the prediction before the runs, so that a typing error shows before them.
std::optional<report::Prediction> read_prediction(const config::Config& config) {
  const config::Predict& predict = config.ab.predict;
  if (predict.log.empty()) return std::nullopt;
  report::Prediction prediction;
  prediction.point = deciding_point(config.progress);
  prediction.unit = predict.unit;
  prediction.speedup = predict.speedup_percent / 100;
  const causal::ReadLog log = causal::read_logs({predict.log});
  const auto found =
      causal::predicted_effect(log.runs, prediction.point, prediction.unit, prediction.speedup);
  if (found.lowest != found.highest) {
    log::note("the prediction is from {} experiments with speedups from {:.0f} to {:.0f} %",
              found.experiments, 100 * found.lowest, 100 * found.highest);
  }
  prediction.predicted = found.effect;
  return prediction;
}

// Refuses too few pairs if there is a gate that could never fail, or a prediction that could never
// be judged. Otherwise only notes them.
void check_pairs(const config::Ab& ab) {
  const std::size_t fewest = compare::fewest_blocks(ab.until_certain);
  if (compare::blocks_for(compare::planned_pairs(ab)) >= fewest) return;
  if (!ab.fail_if_slower_percent && ab.predict.log.empty() && !ab.until_certain) {
    log::note("{} pairs are too few for an interval, which needs at least {} (--rounds)",
              compare::planned_pairs(ab), compare::kPairsOfBlock * fewest);
    return;
  }
  throw UsageError(
      fmt::format("{} pairs are too few to be certain of anything, which needs at least {}",
                  compare::planned_pairs(ab), compare::kPairsOfBlock * fewest),
      "give more with --rounds");
}

void add_prediction(report::Prediction prediction, report::Comparison& comparison) {
  const auto& effect = comparison.metrics.front().effect;
  if (!effect) {
    comparison.warnings.push_back(fmt::format(
        "the prediction was {} ({} {:.0f} % faster); what was achieved has no interval, because "
        "pairs are too few or too different",
        report::percent_interval(prediction.predicted), prediction.unit, 100 * prediction.speedup));
    return;
  }
  prediction.achieved = *effect;
  compare::judge_prediction(prediction);
  comparison.prediction = prediction;
}

std::string describe(const compare::Progress& progress) {
  std::string text =
      fmt::format("{}, {} of {} pairs", progress.null ? "A against A" : "A against B",
                  progress.pairs, progress.planned);
  if (const auto effect = progress.effect()) {
    text += fmt::format("  {} less in B so far", report::percent_interval(*effect));
  }
  return text;
}

std::string render(const report::Comparison& comparison, const std::string& format, bool color) {
  if (format == "json") return report::render_comparison_json(comparison);
  if (format == "csv") return report::render_comparison_csv(comparison);
  return report::render_comparison_text(comparison, color);
}

ExitCode ab(const AbOptions& options) {
  config::Config config = options.config();
  set_log_level(options.console());
  config::check_ab(config);
  check_pairs(config.ab);
  auto prediction = read_prediction(config);
  check_output(options.output(), kOutputHint);

  compare::Compared compared;
  {
    const Interrupts interrupts;
    session::StatusLine status(options.console().quiet);
    compare::RunsHooks hooks;
    hooks.show = [&](const compare::Progress& progress) {
      if (status.due()) status.show(describe(progress));
    };
    hooks.interrupts = Interrupts::count;
    compared = compare::run_comparison(config.ab, config.progress, hooks);
  }
  report::Comparison& comparison = compared.comparison;
  if (compared.failure && comparison.runs.empty()) std::rethrow_exception(compared.failure);
  if (comparison.runs.empty()) {
    throw Error("interrupted before the first run had ended", "nothing was measured");
  }
  if (prediction) add_prediction(*prediction, comparison);
  const std::string& path = options.output();
  const bool to_terminal = path.empty() || path == "-";
  const Color color = options.console().color;
  write_output(path,
               render(comparison, config.output.format,
                      to_terminal ? use_color(color, STDOUT_FILENO) : color == Color::always),
               kOutputHint);
  if (compared.failure) std::rethrow_exception(compared.failure);
  const bool failed = comparison.gate && comparison.gate->verdict == report::Gate::Verdict::failed;
  if (failed) {
    const auto& effect = *comparison.metrics.front().effect;
    log::note("failed: B is slower than A by {:.2f} % [{:.2f}, {:.2f}], the limit is {:.2f} %",
              -100 * effect.value, -100 * effect.high, -100 * effect.low,
              100 * comparison.gate->limit);
  }
  return failed ? ExitCode::failed : ExitCode::ok;
}

}  // namespace

void add_ab(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "ab", "interleaved A/B runs of two programs or processes",
      "A and B may differ in anything: the binary, its options, its environment, its "
      "configuration.\n"
      "Without a progress point whole runs of the commands are timed. Ctrl-C ends the comparison,\n"
      "ends what it has started, and prints what was measured. docs/ab.md has everything.\n\n"
      "Examples:\n"
      "  causalctl ab --a './sort-old data' --b './sort-new data' --rounds 30\n"
      "  causalctl ab server.toml --progress handle_request --measure 2s --fail-if-slower 2%\n"
      "  causalctl ab fix.toml --predict-log profile.jsonl --predict-unit hash.c:217 \\\n"
      "      --predict-speedup 50");
  auto options = std::make_shared<AbOptions>(sub);
  on_watching(sub, selected, [options] { return ab(*options); });
}

}  // namespace causalctl::commands
