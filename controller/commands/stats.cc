// `causalctl stats DIR` tells how much functions differ between epochs of a continuous profile
// (dcpistats of DCPI, §3.3).
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/commands/commands.h"
#include "controller/commands/epochs_as_paths.h"
#include "controller/commands/report.h"
#include "controller/continuous/analysis/file_names.h"
#include "controller/continuous/analysis/spread.h"
#include "controller/report/continuous/model.h"

namespace causalctl::commands {
namespace {

namespace view = report::continuous;

constexpr double kLeastShare = 0.001;  // of all, of functions that do not differ

struct StatsArguments {
  std::string folder;
  std::vector<std::string> epochs;
  std::string label, per, path;
  std::string format = "text";
  std::optional<std::uint64_t> limit;
  Color color = Color::automatic;
};

class Sets {
 public:
  Sets(const std::string& label, const std::string& per) : label_(label), per_(per) {}

  // Adds these epochs as one set.
  void add(const ChosenHost& host, const std::string& name) {
    continuous::SampleSet set{fmt::format("{}: {}", host.database.host().name, name)};
    for (const continuous::Epoch& epoch : host.epochs) {
      if (!used_.insert({&host.database, epoch.id}).second) {
        throw UsageError(fmt::format("epoch {} is in two sets", epoch.id), "sets must be apart");
      }
      set.recorded_ns += epoch.recorded_ns;
    }
    if (set.recorded_ns <= 0) return;
    set.units = per_.empty() ? static_cast<double>(set.recorded_ns) / kSecond
                             : static_cast<double>(visits_of(host.epochs, per_));
    if (set.units <= 0) {
      throw UsageError(fmt::format("--per {}: {} has no visit of it", per_, printable(set.name)));
    }
    auto& names = names_.try_emplace(&host.database, host.database).first->second;
    EpochContents recorded = recorded_in(host, label_);
    set.rows = continuous::rows_of(
        recorded.profile, "cpu", continuous::By::function,
        [&names](const auto& image, Address offset) { return names.at(image, offset); });
    std::vector<std::string> texts = std::move(recorded.damage);
    for (std::string& text : warnings_of(recorded.losses, set.rows.all.samples)) {
      texts.push_back(std::move(text));
    }
    for (const std::string& text : texts) warnings_.push_back(set.name + ": " + text);
    sets_.push_back(std::move(set));
  }

  view::SpreadTable table() const {
    if (sets_.size() < 2) {
      throw UsageError("stats compares two sets or more, and there is one",
                       "name each by --epoch, or several epochs by one of them");
    }
    view::SpreadTable table;
    table.per = per_;
    table.warnings = warnings_;
    double all = 0;
    for (const continuous::SampleSet& set : sets_) {
      const continuous::Count& sum = set.rows.all;
      table.sets.push_back({set.name, sum.samples, sum.time_ns, set.recorded_ns, set.units});
      all += static_cast<double>(sum.time_ns) / set.units;
    }
    for (const continuous::Spread& row : continuous::spread_of(sets_, kLeastShare)) {
      table.rows.push_back({row.name, row.image, row.range, row.sum, all > 0 ? row.sum / all : 0,
                            row.mean, row.deviation, row.least, row.most, row.adjusted_p,
                            row.differs(), row.is_compared});
    }
    return table;
  }

 private:
  const std::string& label_;
  const std::string& per_;
  std::map<const continuous::Database*, continuous::FileNames> names_;
  std::set<std::pair<const continuous::Database*, std::int64_t>> used_;
  std::vector<continuous::SampleSet> sets_;
  std::vector<std::string> warnings_;
};

// One choice of several epochs means a set for each; several choices are a set each.
view::SpreadTable table_of_sets(const StatsArguments& arguments) {
  const auto databases = open_databases(arguments.folder);
  Sets sets(arguments.label, arguments.per);
  if (arguments.epochs.size() > 1) {
    for (const std::string& choice : arguments.epochs) {
      const auto hosts = choose_hosts(databases, choice);
      require_label(hosts, arguments.label);
      for (const ChosenHost& host : hosts) sets.add(host, choice);
    }
    return sets.table();
  }
  const std::string choice = arguments.epochs.empty() ? "all" : arguments.epochs.front();
  const auto hosts = choose_hosts(databases, choice);
  require_label(hosts, arguments.label);
  for (const ChosenHost& host : hosts) {
    for (const continuous::Epoch& epoch : host.epochs) {
      sets.add({host.database, {epoch}},
               fmt::format("{}{}{}", epoch.id, epoch.name.empty() ? "" : " ", epoch.name));
    }
  }
  return sets.table();
}

ExitCode show(const StatsArguments& arguments) {
  check_format(arguments.format, {"text", "json"});
  const view::SpreadTable table = table_of_sets(arguments);
  const TextLook look = text_look({arguments.format, arguments.path, arguments.color});
  const view::TextOptions options{look.color, look.width,
                                  arguments.limit.value_or(view::kUsualRows)};
  write_output(arguments.path, arguments.format == "json" ? view::render_json(table)
                                                          : view::render_text(table, options));
  return ExitCode::ok;
}

}  // namespace

void add_stats(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "stats", "how much functions differ between epochs of a database of profiles",
      "Examples:\n"
      "  causalctl stats profiles\n"
      "  causalctl stats profiles --epoch today\n"
      "  causalctl stats profiles --epoch 'first run' --epoch 'second run' --epoch 'third run'");
  auto arguments = std::make_shared<StatsArguments>();
  add_word(sub, "DIR", arguments->folder, "", kDatabaseHelp);
  OptionGroup choice(sub, "What is shown");
  choice.list("--epoch", arguments->epochs, "EPOCH",
              "one set: last, all, today, a name, a number, or a span of time; may be repeated. If "
              "it is given once, each epoch that it means is a set [all]");
  choice.value("--label", arguments->label, "NAME", kLabelHelp);
  choice.value(
      "--per", arguments->per, "POINT",
      "CPU time per visit of a point that was counted (record --progress), in place of cores");
  choice.value("--limit", arguments->limit, "N", "most rows of the text; 0: all [30]");
  OptionGroup output(sub, "Output");
  output.value("--format", arguments->format, "FORMAT", "text or json [text]");
  output.value("-o,--output", arguments->path, "FILE", "write to a file [standard output]");
  output.color(arguments->color);
  on_selected(sub, selected, [arguments] { return show(*arguments); });
}

}  // namespace causalctl::commands
