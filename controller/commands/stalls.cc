// `causalctl stalls DIR` shows the instructions that wait longest (dcpitopstalls).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/base/proportion.h"
#include "controller/commands/commands.h"
#include "controller/commands/counted_run.h"
#include "controller/commands/epochs_as_paths.h"
#include "controller/commands/report.h"
#include "controller/commands/stall_effects.h"
#include "controller/continuous/analysis/culprits.h"
#include "controller/continuous/analysis/file_names.h"
#include "controller/continuous/analysis/image_code.h"
#include "controller/continuous/analysis/rows.h"
#include "controller/report/continuous/stalls_model.h"
#include "disasm/work.h"

namespace causalctl::commands {
namespace {

namespace view = report::continuous;

constexpr const char* kStallsEvent = "cpu";
// Functions with less of all time are not analysed: their instructions have hardly a sample.
constexpr double kLeastAnalysed = 0.001;

struct StallsArguments {
  std::string folder;
  std::string epoch = "last";
  std::string label;
  std::string runs;
  std::string by;  // "cycles" or "effect"
  std::string causal;
  std::string group;
  std::string format = "text";
  std::string path;
  std::optional<std::uint64_t> limit;
  Color color = Color::automatic;
};

class StallsOfHost {
 public:
  StallsOfHost(const ChosenHost& host, const StallsArguments& arguments, double runs)
      : host_(host), arguments_(arguments), runs_(runs), names_(host.database) {
    if (!arguments.causal.empty()) {
      effects_.emplace(host, arguments.label, arguments.causal, arguments.group);
    }
  }

  view::StallTable table();

 private:
  void read();
  void add_image(const continuous::Image& image, const continuous::Counts& places);
  void add_function(continuous::ImageCode& code, const continuous::Image& image, Address low,
                    const continuous::Counts& places, const CountedRun* counted);
  void add_row(const continuous::Image& image, const continuous::FunctionProfile& profile,
               std::size_t block, std::size_t at, const continuous::Stall& stall,
               double executions);

  const ChosenHost& host_;
  const StallsArguments& arguments_;
  double runs_ = 0;
  continuous::FileNames names_;
  std::map<continuous::Image, continuous::Counts> images_;
  double worth_ = 0;  // samples
  double all_ns_ = 1, analysed_ns_ = 0, counted_ns_ = 0;
  std::optional<StallEffects> effects_;  // if rows are ranked by them
  view::StallTable table_;
};

// Returns where samples of an instruction may stand, the likeliest first: behind it, or at itself
// if it is repeated (function_profile.h).
std::vector<Address> places_of(const continuous::FunctionProfile& profile, std::size_t block,
                               std::size_t at) {
  const disasm::Graph& graph = profile.graph;
  const disasm::Instruction& own = graph.code[at];
  if (disasm::work_of(own) == disasm::Work::repeated) return {own.address, own.next()};
  if (at + 1 < graph.blocks[block].first + graph.blocks[block].count) {
    return {own.next(), own.address};
  }
  std::vector<std::pair<double, Address>> heads;  // by how often control goes there
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const disasm::Edge& edge = graph.edges[i];
    if (edge.from != block || edge.to == disasm::kOutside) continue;
    heads.emplace_back(-profile.passes[i], graph.code[graph.blocks[edge.to].first].address);
  }
  std::sort(heads.begin(), heads.end());
  std::vector<Address> places;
  for (const auto& [rare, address] : heads) places.push_back(address);
  places.push_back(own.address);
  return places;
}

void StallsOfHost::read() {
  table_.host = host_.database.host().name;
  table_.ghz = host_.database.host().clock_mhz / 1000.0;
  table_.event = kStallsEvent;
  for (const auto& [letter, name] : continuous::kCulpritNames) {
    table_.causes.emplace_back(letter, name);
  }
  table_.epochs = heads_of(host_.epochs);
  EpochContents recorded = recorded_in(host_, arguments_.label);
  table_.warnings = std::move(recorded.damage);
  continuous::Count all;
  for (const auto& [key, counts] : recorded.profile) {
    if (key.event != kStallsEvent) continue;
    all += continuous::sum_of(counts);
    if (key.image.kind == continuous::ImageKind::file) add(images_[key.image], counts);
  }
  table_.samples = all.samples;
  table_.time_ns = all.time_ns;
  all_ns_ = static_cast<double>(std::max<Nanoseconds>(1, all.time_ns));
  worth_ = continuous::samples_worth(recorded.profile, kStallsEvent);
  for (std::string& text : warnings_of(recorded.losses, all.samples)) {
    table_.warnings.push_back(std::move(text));
  }
}

void StallsOfHost::add_row(const continuous::Image& image,
                           const continuous::FunctionProfile& profile, std::size_t block,
                           std::size_t at, const continuous::Stall& stall, double executions) {
  const disasm::Instruction& instruction = profile.graph.code[at];
  view::StallRow row;
  const auto frames = names_.frames(image, instruction.address);
  row.function = frames.empty() || frames.back().function.empty()
                     ? fmt::format("{}+{:#x}", base_name(image.path), instruction.address)
                     : frames.back().function;
  row.line = continuous::line_text(frames);
  row.image = image.path;
  row.address = instruction.address;
  row.text = disasm::assembly(instruction);
  row.time_ns = stall.dynamic_ns;
  row.share = interval_of_share(std::min(1.0, stall.dynamic_ns / all_ns_), worth_);
  if (executions > 0) row.ns_each = stall.dynamic_ns / executions;
  row.culprits = continuous::letters_of(stall.culprits);
  if (effects_) {
    row.effect =
        effects_->of(image, places_of(profile, block, at), stall.dynamic_ns,
                     worth_ / static_cast<double>(std::max<std::uint64_t>(1, table_.samples)));
    if (!row.effect) return;
  }
  table_.rows.push_back(std::move(row));
}

void StallsOfHost::add_function(continuous::ImageCode& code, const continuous::Image& image,
                                Address low, const continuous::Counts& places,
                                const CountedRun* counted) {
  const auto profile = continuous::profile_of(code.graph(low), places,
                                              counted != nullptr ? &counted->exact : nullptr);
  const double runs = counted != nullptr ? counted->runs : 0;
  const auto stalls = continuous::stalls_of(profile, table_.ghz, runs);
  const bool has_cycles = profile.is_counted && runs > 0;
  const auto time_ns = static_cast<double>(profile.found.time_ns);
  analysed_ns_ += time_ns;
  if (has_cycles) counted_ns_ += time_ns;
  for (std::size_t i = 0; i < profile.graph.blocks.size(); ++i) {
    const disasm::Block& block = profile.graph.blocks[i];
    const double executions = has_cycles ? profile.blocks[i].executions * runs : 0;
    for (std::size_t at = block.first; at < block.first + block.count; ++at) {
      if (stalls[at].dynamic_ns < kLeastAnalysed * all_ns_) continue;
      add_row(image, profile, i, at, stalls[at], executions);
    }
  }
}

void StallsOfHost::add_image(const continuous::Image& image, const continuous::Counts& places) {
  if (static_cast<double>(continuous::sum_of(places).time_ns) < kLeastAnalysed * all_ns_) return;
  std::optional<continuous::ImageCode> code;
  try {
    code.emplace(host_.database, image);
  } catch (const Error& error) {
    table_.warnings.emplace_back(error.what());
    return;
  }
  const auto counted = counted_run(host_.database, host_.epochs, image, names_, runs_);
  for (const auto& [low, own] : code->by_function(places)) {
    if (static_cast<double>(continuous::sum_of(own).time_ns) < kLeastAnalysed * all_ns_) continue;
    add_function(*code, image, low, own, counted ? &*counted : nullptr);
  }
}

view::StallTable StallsOfHost::table() {
  read();
  for (const auto& [image, places] : images_) add_image(image, places);
  table_.analysed = analysed_ns_ / all_ns_;
  table_.counted = counted_ns_ / all_ns_;
  if (effects_) table_.effects = effects_->head();
  std::stable_sort(table_.rows.begin(), table_.rows.end(), [](const auto& one, const auto& other) {
    if (one.effect) return one.effect->gain.value > other.effect->gain.value;
    return one.time_ns > other.time_ns;
  });
  return std::move(table_);
}

// Who names a causal profile wants its order.
void check_order(const StallsArguments& arguments) {
  if (!arguments.by.empty() && arguments.by != "cycles" && arguments.by != "effect") {
    throw UsageError(fmt::format("--by {}: not an order", arguments.by), "use cycles or effect");
  }
  if (arguments.by == "effect" && arguments.causal.empty()) {
    throw UsageError(
        "--by effect: what the program would gain is not known",
        "name a causal profile: --causal profile.jsonl, as causalctl attach writes it");
  }
  if (arguments.by == "cycles" && !arguments.causal.empty()) {
    throw UsageError("--by cycles has no place for --causal", "use --by effect");
  }
  if (arguments.causal.empty() && !arguments.group.empty()) {
    throw UsageError("--group is for --causal", "it chooses one of the profile's groups of runs");
  }
}

ExitCode run(const StallsArguments& arguments) {
  check_format(arguments.format, {"text", "json"});
  check_order(arguments);
  const double runs = arguments.runs.empty() ? 0 : parse_runs(arguments.runs);
  const auto databases = open_databases(arguments.folder);
  const ChosenHost host = only_host(databases, arguments.folder, arguments.epoch);
  require_label({host}, arguments.label);
  const view::StallTable table = StallsOfHost(host, arguments, runs).table();
  const TextLook look = text_look({arguments.format, arguments.path, arguments.color});
  const view::TextOptions options{look.color, look.width,
                                  arguments.limit.value_or(view::kUsualRows)};
  write_output(arguments.path, arguments.format == "json" ? view::render_json(table)
                                                          : view::render_text(table, options));
  return ExitCode::ok;
}

}  // namespace

void add_stalls(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(app, "stalls", "which instructions wait longest, and why",
                                 "Examples:\n"
                                 "  causalctl stalls profiles\n"
                                 "  causalctl stalls profiles --epoch today --limit 100\n"
                                 "  causalctl stalls profiles --causal profile.jsonl    which are "
                                 "worth removing");
  auto arguments = std::make_shared<StallsArguments>();
  add_word(sub, "DIR", arguments->folder, "", kDatabaseHelp);
  OptionGroup choice(sub, "What is shown");
  choice.value("--epoch", arguments->epoch, "EPOCH", kEpochHelp);
  choice.value("--label", arguments->label, "NAME", kLabelHelp);
  choice.value("--runs", arguments->runs, "N", kRunsHelp);
  choice.value("--by", arguments->by, "ORDER",
               "cycles: the longest stalls first; effect: those whose end the program would gain "
               "most from [effect with --causal, else cycles]");
  choice.value("--causal", arguments->causal, "PROFILE",
               "an experiment log of the program, which tells what the program would gain");
  choice.value("--group", arguments->group, "N", "of the groups of runs in PROFILE");
  choice.value("-n,--limit", arguments->limit, "N", "most rows of the text; 0: all [30]");
  OptionGroup output(sub, "Output");
  output.value("--format", arguments->format, "FORMAT", "text|json [text]");
  output.value("-o,--output", arguments->path, "FILE", "write to a file [standard output]");
  output.color(arguments->color);
  on_selected(sub, selected, [arguments] { return run(*arguments); });
}

}  // namespace causalctl::commands
