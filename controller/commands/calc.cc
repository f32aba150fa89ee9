// `causalctl calc DIR FUNCTION` shows where time goes within a function (dcpicalc of DCPI, §3.2).
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/printable_list.h"
#include "controller/base/proportion.h"
#include "controller/commands/commands.h"
#include "controller/commands/counted_run.h"
#include "controller/commands/epochs_as_paths.h"
#include "controller/commands/report.h"
#include "controller/commands/source_lines.h"
#include "controller/continuous/analysis/culprits.h"
#include "controller/continuous/analysis/epoch_choice.h"
#include "controller/continuous/analysis/file_names.h"
#include "controller/continuous/analysis/function_choice.h"
#include "controller/continuous/analysis/function_profile.h"
#include "controller/continuous/analysis/image_code.h"
#include "controller/report/continuous/calc_model.h"

namespace causalctl::commands {
namespace {

namespace view = report::continuous;

constexpr const char* kEvent = "cpu";
constexpr std::size_t kMostListedJumps = 5;
constexpr double kShareToTell = 0.01;  // of the time, in code that the counted run did not execute

struct CalcArguments {
  std::string folder, function;
  std::string epoch = "last";
  std::string label;
  std::string runs;
  std::string cutoff = "0.5";
  bool source = false;
  bool summary = false;
  std::string format = "text";
  std::string path;
  Color color = Color::automatic;
};

double parse_cutoff(const std::string& text) {
  const auto number = parse_number<double>(text);
  if (number && *number >= 0 && *number <= 100) return *number / 100;
  throw UsageError(fmt::format("--cutoff {}: not a share", printable(text)), "a number of percent");
}

// The code of one function, and what is known of it.
class Calculation {
 public:
  Calculation(const ChosenHost& host, const CalcArguments& arguments)
      : host_(host), arguments_(arguments), names_(host.database) {}

  view::Calc result() {
    choose();
    find_counts();
    add_parts();
    add_summary();
    tell();
    return std::move(calc_);
  }

 private:
  void choose();
  void find_counts();
  void add_parts();
  void add_part(continuous::ImageCode& code, Address low, const continuous::Counts& places);
  void add_summary();
  void tell();
  Interval share(double time_ns) const;

  const ChosenHost& host_;
  const CalcArguments& arguments_;
  continuous::FileNames names_;
  continuous::ChosenFunction chosen_;
  std::optional<CountedRun> counted_;
  SourceLines sources_;
  double worth_ = 0;                   // samples
  Nanoseconds never_executed_ns_ = 0;  // in the counted run
  std::vector<Address> unknown_jumps_;
  bool has_gaps_ = false;
  std::vector<continuous::Stall> stalls_;  // of all parts
  bool has_cycles_ = true;                 // each part has counts, and cycles are known
  view::Calc calc_;
};

void Calculation::choose() {
  calc_.host = host_.database.host().name;
  calc_.ghz = host_.database.host().clock_mhz / 1000.0;
  calc_.event = kEvent;
  calc_.epochs = heads_of(host_.epochs);
  EpochContents recorded = recorded_in(host_, arguments_.label);
  calc_.warnings = std::move(recorded.damage);
  const continuous::Profile& profile = recorded.profile;
  continuous::Count all;
  for (const auto& [key, counts] : profile) {
    if (key.event == kEvent) all += continuous::sum_of(counts);
  }
  chosen_ = continuous::choose_function(
      profile, kEvent, arguments_.function,
      [this](const auto& image, Address offset) { return names_.at(image, offset); });
  const continuous::Count sum = continuous::sum_of(chosen_.places);
  calc_.function = chosen_.name;
  calc_.image = chosen_.image.path;
  calc_.build_id = chosen_.image.build_id;
  calc_.samples = sum.samples;
  calc_.time_ns = sum.time_ns;
  calc_.share = interval_of_share(
      static_cast<double>(sum.time_ns) / static_cast<double>(std::max<Nanoseconds>(1, all.time_ns)),
      continuous::samples_worth(profile, kEvent));
  worth_ = continuous::samples_worth({{{chosen_.image, kEvent}, chosen_.places}}, kEvent);
  for (std::string& text : warnings_of(recorded.losses, all.samples)) {
    calc_.warnings.push_back(std::move(text));
  }
}

void Calculation::find_counts() {
  const double told = arguments_.runs.empty() ? 0 : parse_runs(arguments_.runs);
  counted_ = counted_run(host_.database, host_.epochs, chosen_.image, names_, told);
  if (!counted_) return;
  calc_.counts = {counted_->command, continuous::time_text(counted_->imported_ns), counted_->runs,
                  counted_->runs_by};
}

Interval Calculation::share(double time_ns) const {
  const auto all = static_cast<double>(std::max<Nanoseconds>(1, calc_.time_ns));
  return interval_of_share(std::min(1.0, time_ns / all), worth_);
}

void Calculation::add_part(continuous::ImageCode& code, Address low,
                           const continuous::Counts& places) {
  const auto profile =
      continuous::profile_of(code.graph(low), places, counted_ ? &counted_->exact : nullptr);
  const auto stalls =
      continuous::stalls_of(profile, calc_.ghz, calc_.counts ? calc_.counts->runs : 0);
  stalls_.insert(stalls_.end(), stalls.begin(), stalls.end());
  const continuous::FileCode::Function& function = code.function(low);
  view::CalcPart part{function.low, function.high, profile.is_counted, profile.calls, {}, {}, {}};
  for (std::size_t i = 0; i < profile.graph.code.size(); ++i) {
    const disasm::Instruction& each = profile.graph.code[i];
    const continuous::InstructionProfile& own = profile.instructions[i];
    view::CalcInstruction shown{each.address, disasm::assembly(each), {}, {}, own.found.samples,
                                own.time_ns,  share(own.time_ns),     {}};
    shown.culprits = continuous::letters_of(stalls[i].culprits);
    const auto frames = names_.frames(chosen_.image, each.address);
    shown.line = continuous::line_text(frames);
    if (arguments_.source && !frames.empty()) {
      shown.source = sources_.at(frames.front().file, frames.front().line);
    }
    part.instructions.push_back(std::move(shown));
  }
  for (std::size_t i = 0; i < profile.blocks.size(); ++i) {
    const disasm::Block& block = profile.graph.blocks[i];
    const continuous::BlockProfile& own = profile.blocks[i];
    part.blocks.push_back(
        {block.first, block.count, own.time_ns, share(own.time_ns), own.executions});
  }
  for (std::size_t i = 0; i < profile.graph.edges.size(); ++i) {
    const disasm::Edge& edge = profile.graph.edges[i];
    part.edges.push_back({edge.from, edge.to, profile.passes[i]});
  }
  has_cycles_ =
      has_cycles_ && profile.is_counted && calc_.ghz > 0 && calc_.counts && calc_.counts->runs > 0;
  never_executed_ns_ += profile.never_executed_ns;
  has_gaps_ = has_gaps_ || profile.graph.has_gaps;
  unknown_jumps_.insert(unknown_jumps_.end(), profile.graph.unknown_jumps.begin(),
                        profile.graph.unknown_jumps.end());
  calc_.parts.push_back(std::move(part));
}

void Calculation::add_parts() {
  continuous::ImageCode code(host_.database, chosen_.image);
  const auto parts = code.by_function(chosen_.places);
  if (parts.empty()) {
    throw Error(fmt::format("{}: the unwind table of {} does not describe it",
                            printable(calc_.function), printable(calc_.image)),
                "it has no .eh_frame for this code");
  }
  std::vector<std::pair<Nanoseconds, Address>> order;
  for (const auto& [low, places] : parts) {
    order.emplace_back(-continuous::sum_of(places).time_ns, low);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [time_ns, low] : order) add_part(code, low, parts.at(low));
}

void Calculation::add_summary() {
  const auto summary = continuous::summary_of(stalls_);
  const double all = std::max(1.0, summary.execution_ns + summary.latency_ns + summary.dynamic_ns);
  calc_.summary = {{},
                   summary.dynamic_ns / all,
                   summary.unexplained_ns / all,
                   summary.latency_ns / all,
                   summary.execution_ns / all,
                   has_cycles_};
  for (std::size_t i = 0; i < continuous::kCulprits; ++i) {
    const auto& [letter, name] = continuous::kCulpritNames[i];
    const auto& range = summary.culprits[i];
    calc_.summary.causes.push_back(
        {letter, std::string(name), range.least_ns / all, range.most_ns / all});
  }
  std::stable_sort(calc_.summary.causes.begin(), calc_.summary.causes.end(),
                   [](const auto& one, const auto& other) { return one.most > other.most; });
}

void Calculation::tell() {
  const double never = static_cast<double>(never_executed_ns_) /
                       static_cast<double>(std::max<Nanoseconds>(1, calc_.time_ns));
  if (never > kShareToTell) {
    calc_.warnings.push_back(
        fmt::format("{:.1f} % of the time is in blocks that the counted run never executed: it did "
                    "other work than what was recorded",
                    100 * never));
  }
  if (has_gaps_) {
    calc_.warnings.emplace_back(
        "some bytes in the function's code are no instructions, so that blocks and edges may be "
        "missing: compare with objdump -d");
  }
  if (unknown_jumps_.empty()) return;
  std::vector<std::string> places;
  for (const Address jump : unknown_jumps_) {
    if (places.size() < kMostListedJumps) places.push_back(fmt::format("{:#x}", jump));
  }
  calc_.warnings.push_back(
      fmt::format("where some jumps lead is not known, so that edges are missing: {} ({})",
                  unknown_jumps_.size(), printable_list(places)));
}

ExitCode run(const CalcArguments& arguments) {
  check_format(arguments.format, {"text", "json", "dot", "html"});
  if (arguments.function.empty()) {
    throw UsageError("calc: FUNCTION is missing", "causalctl prof DIR lists functions");
  }
  const double cutoff = parse_cutoff(arguments.cutoff);
  if (!arguments.runs.empty()) (void)parse_runs(arguments.runs);
  const auto databases = open_databases(arguments.folder);
  const ChosenHost host = only_host(databases, arguments.folder, arguments.epoch);
  require_label({host}, arguments.label);
  const view::Calc calc = Calculation(host, arguments).result();
  const TextLook look = text_look({arguments.format, arguments.path, arguments.color});
  std::string text;
  if (arguments.format == "json") text = view::render_json(calc);
  if (arguments.format == "dot") text = view::render_dot(calc);
  if (arguments.format == "html") text = view::render_html(calc);
  if (arguments.format == "text") {
    text = view::render_text(calc, {look.color, look.width, cutoff, arguments.summary});
  }
  write_output(arguments.path, text);
  return ExitCode::ok;
}

}  // namespace

void add_calc(CLI::App& app, Command& selected) {
  CLI::App& sub =
      add_subcommand(app, "calc", "where time goes within a function, by instruction",
                     "Examples:\n"
                     "  causalctl calc profiles deflate\n"
                     "  causalctl calc profiles libz.so.1:deflate --epoch all\n"
                     "  causalctl calc profiles deflate --runs 3 --source\n"
                     "  causalctl calc profiles deflate --source --format html -o deflate.html\n"
                     "  causalctl calc profiles deflate --format dot | dot -Tsvg -O");
  auto arguments = std::make_shared<CalcArguments>();
  add_word(sub, "DIR", arguments->folder, "", kDatabaseHelp);
  add_word(sub, "FUNCTION", arguments->function, "",
           "as causalctl prof shows it; FILE:FUNCTION if several files have it");
  OptionGroup choice(sub, "What is shown");
  choice.value("--epoch", arguments->epoch, "EPOCH", kEpochHelp);
  choice.value("--label", arguments->label, "NAME", kLabelHelp);
  choice.value("--runs", arguments->runs, "N", kRunsHelp);
  choice.value("--cutoff", arguments->cutoff, "PERCENT",
               "leave out blocks of the text with a smaller share of the function's time [0.5]");
  choice.flag("--summary", arguments->summary, "show only why its instructions wait");
  choice.flag("--source", arguments->source, "show the lines of the source");
  OptionGroup output(sub, "Output");
  output.value("--format", arguments->format, "FORMAT", "text|json|dot|html [text]");
  output.value("-o,--output", arguments->path, "FILE", "write to a file [standard output]");
  output.color(arguments->color);
  on_selected(sub, selected, [arguments] { return run(*arguments); });
}

}  // namespace causalctl::commands
