#include "controller/commands/epochs_as_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/printable.h"
#include "controller/base/printable_list.h"
#include "controller/continuous/analysis/epoch_choice.h"
#include "controller/continuous/analysis/file_names.h"

namespace causalctl::commands {
namespace {

using callpath::Recording;

constexpr double kManyUnknown = 0.01;  // share of all samples

class PathsOfEpochs {
 public:
  PathsOfEpochs(const ChosenHost& host, const std::string& label, const std::string& per)
      : host_(host), label_(label), per_(per), names_(host.database) {
    if (!per.empty()) recording_.events.push_back({per, "visits", "Visits of " + per});
  }

  Recording take(std::vector<Warning>& warnings);

 private:
  void add(const continuous::Epoch& epoch, const continuous::Profile& profile);
  std::uint32_t group_of(const std::string& label);
  callpath::NodeId node_of(const continuous::Image& image, Address offset);
  callpath::Location location_of(const continuous::Image& image, Address offset);
  std::uint32_t module_of(const continuous::Image& image);

  const ChosenHost& host_;
  const std::string& label_;
  const std::string& per_;
  continuous::FileNames names_;
  Recording recording_;
  continuous::Count sum_;
  std::map<std::string, std::uint32_t> groups_;
  std::map<continuous::Image, std::map<Address, callpath::NodeId>> nodes_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> modules_;  // by path and build-id
};

Recording PathsOfEpochs::take(std::vector<Warning>& warnings) {
  const std::string host = host_.database.host().name;
  recording_.host = recording_.executable = host;
  recording_.ended = true;
  if (!host_.epochs.empty()) recording_.started_ns = host_.epochs.front().begin_ns;
  std::vector<std::string> texts;
  continuous::Losses losses;
  for (const continuous::Epoch& epoch : host_.epochs) {
    if (epoch.recorded_ns <= 0) continue;  // it has just begun
    add(epoch, continuous::with_label(host_.database.profile({epoch.id}, texts), label_));
    for (const auto& [kind, count] : epoch.losses) losses[kind] += count;
  }
  if (sum_.samples > 0) {
    recording_.period_ns = sum_.time_ns / static_cast<Nanoseconds>(sum_.samples);
  }
  recording_.losses.samples_total = sum_.samples;
  for (std::string& text : warnings_of(losses, sum_.samples)) texts.push_back(std::move(text));
  for (std::string& text : texts) warnings.emplace_back(host + ": " + text);
  return std::move(recording_);
}

void PathsOfEpochs::add(const continuous::Epoch& epoch, const continuous::Profile& profile) {
  const auto number = static_cast<std::uint32_t>(recording_.epochs.size());
  const Nanoseconds begin_ns = recording_.wall_ns;
  recording_.wall_ns += epoch.recorded_ns;
  recording_.epochs.push_back(
      {begin_ns, fmt::format("{} {}{}{}", epoch.id, continuous::time_text(epoch.begin_ns),
                             epoch.name.empty() ? "" : " ", epoch.name)});
  callpath::Part part{begin_ns, recording_.wall_ns, {}};
  for (const auto& [key, counts] : profile) {
    const std::uint32_t group = group_of(key.label);
    auto& samples = part.slices[{number, group, callpath::Metric::samples}];
    auto& cpu = part.slices[{number, group, callpath::Metric::cpu_ns}];
    for (const auto& [offset, count] : counts) {
      const callpath::NodeId node = node_of(key.image, offset);
      samples[node] += count.samples;
      cpu[node] += static_cast<std::uint64_t>(count.time_ns);
      sum_ += count;
    }
  }
  if (!per_.empty()) {
    part.slices[{number, group_of(label_), callpath::metric_of_event(0)}][callpath::kRoot] =
        visits_of({epoch}, per_);
  }
  for (const auto& [key, slice] : part.slices) {
    for (const auto& [node, value] : slice) recording_.add(key, node, value);
  }
  recording_.parts.push_back(std::move(part));
}

std::uint32_t PathsOfEpochs::group_of(const std::string& label) {
  const auto [known, is_new] =
      groups_.try_emplace(label, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) recording_.groups.push_back({label.empty() ? "all" : label});
  return known->second;
}

callpath::NodeId PathsOfEpochs::node_of(const continuous::Image& image, Address offset) {
  const auto [known, is_new] = nodes_[image].try_emplace(offset);
  if (is_new) {
    const auto location = static_cast<callpath::LocationId>(recording_.locations.size());
    recording_.locations.push_back(location_of(image, offset));
    known->second = recording_.tree.child(callpath::kRoot, location);
  }
  return known->second;
}

callpath::Location PathsOfEpochs::location_of(const continuous::Image& image, Address offset) {
  const continuous::FileNames::Code code = names_.code(image, offset);
  callpath::Location location;
  location.module = module_of(image);
  location.offset = code.address;
  for (const unwind::Frame& frame : code.frames) {
    location.frames.push_back({frame.function, frame.file, frame.line, frame.home});
  }
  return location;
}

std::uint32_t PathsOfEpochs::module_of(const continuous::Image& image) {
  // A module of the kernel is one of its files, but code of the kernel all the same.
  const bool is_kernel =
      image.kind == continuous::ImageKind::kernel || image.kind == continuous::ImageKind::module;
  const std::string path = is_kernel ? callpath::kKernel : image.path;
  const auto [known, is_new] =
      modules_.try_emplace({path, image.build_id}, static_cast<std::uint32_t>(modules_.size()));
  if (is_new) recording_.modules.push_back({path, image.build_id});
  return known->second;
}

}  // namespace

std::vector<continuous::Database> open_databases(const std::string& path) {
  std::vector<continuous::Database> databases;
  const std::vector<std::string> files = continuous::Database::files_in(path);
  for (const std::string& file : files) {
    try {
      databases.push_back(continuous::Database::read(file));
    } catch (const Error& error) {
      if (files.size() == 1) throw;
      log::note("{}; it is left out", printable(error.what()));
    }
  }
  if (databases.empty()) throw Error(path + ": no file can be read");
  return databases;
}

std::vector<ChosenHost> choose_hosts(const std::vector<continuous::Database>& databases,
                                     const std::string& text) {
  std::vector<ChosenHost> hosts;
  std::optional<UsageError> refused;
  for (const continuous::Database& database : databases) {
    std::vector<continuous::Epoch> epochs = database.epochs();
    try {
      const auto chosen = continuous::choose_epochs(epochs, text, realtime_now());
      std::erase_if(epochs, [&](const continuous::Epoch& epoch) {
        return std::find(chosen.begin(), chosen.end(), epoch.id) == chosen.end();
      });
      hosts.push_back({database, std::move(epochs)});
    } catch (const UsageError& error) {
      refused = error;
    }
  }
  if (hosts.empty() && refused) throw UsageError(*refused);
  return hosts;
}

callpath::ReadLog as_paths(std::span<const ChosenHost> hosts, const std::string& label,
                           const std::string& per) {
  callpath::ReadLog log;
  for (const ChosenHost& host : hosts) {
    log.runs.push_back(PathsOfEpochs(host, label, per).take(log.warnings));
  }
  return log;
}

ChosenHost only_host(const std::vector<continuous::Database>& databases, const std::string& path,
                     const std::string& text) {
  auto hosts = choose_hosts(databases, text);
  if (hosts.size() == 1) return hosts.front();
  throw UsageError(
      fmt::format("{} has profiles of {} hosts", printable(path), hosts.size()),
      fmt::format("name one host's file, such as {}", printable(hosts.front().database.file())));
}

void require_label(const std::vector<ChosenHost>& hosts, const std::string& label) {
  if (label.empty()) return;
  std::set<std::string> labels;
  for (const ChosenHost& host : hosts) {
    for (const continuous::Epoch& epoch : host.epochs) {
      for (const std::string& each : host.database.labels(epoch.id)) labels.insert(each);
    }
  }
  if (labels.contains(label)) return;
  labels.erase("");
  throw UsageError(fmt::format("--label {}: nothing was recorded with it", printable(label)),
                   labels.empty() ? "these epochs have no labels (record --label)"
                                  : "there are " + printable_list({labels.begin(), labels.end()}));
}

std::uint64_t visits_of(const std::vector<continuous::Epoch>& epochs, const std::string& point) {
  std::uint64_t visits = 0;
  for (const continuous::Epoch& epoch : epochs) {
    if (epoch.recorded_ns <= 0) continue;  // it has just begun
    const auto counted = epoch.visits.find(point);
    if (counted != epoch.visits.end()) {
      visits += counted->second;
      continue;
    }
    std::vector<std::string> points;
    for (const auto& [name, count] : epoch.visits) points.push_back(name);
    throw UsageError(
        fmt::format("--per {}: the point was not counted in epoch {}", printable(point), epoch.id),
        points.empty() ? "causalctl record --progress SPEC counts points"
                       : "it has " + printable_list(points));
  }
  return visits;
}

EpochContents recorded_in(const ChosenHost& host, const std::string& label) {
  EpochContents recorded;
  std::vector<std::int64_t> ids;
  for (const continuous::Epoch& epoch : host.epochs) {
    ids.push_back(epoch.id);
    for (const auto& [kind, count] : epoch.losses) recorded.losses[kind] += count;
  }
  recorded.profile = continuous::with_label(host.database.profile(ids, recorded.damage), label);
  return recorded;
}

std::vector<report::continuous::EpochHead> heads_of(const std::vector<continuous::Epoch>& epochs) {
  std::vector<report::continuous::EpochHead> heads;
  for (const continuous::Epoch& epoch : epochs) {
    heads.push_back({epoch.id, epoch.name, continuous::time_text(epoch.begin_ns),
                     continuous::time_text(epoch.end_ns), epoch.recorded_ns});
  }
  return heads;
}

std::vector<std::string> warnings_of(const continuous::Losses& losses, std::uint64_t samples) {
  std::vector<std::string> warnings;
  const auto count = [&losses](const char* kind) {
    const auto found = losses.find(kind);
    return found == losses.end() ? std::uint64_t{0} : found->second;
  };
  if (const auto damaged = count("damaged"); damaged > 0) {
    warnings.push_back(fmt::format("{} samples were in damaged rows, and are lost", damaged));
  }
  const std::uint64_t unknown = count("unknown");
  if (static_cast<double>(unknown) > kManyUnknown * static_cast<double>(samples + unknown)) {
    warnings.push_back(fmt::format(
        "{} samples are in code of which nothing is known, and are not shown", unknown));
  }
  if (const auto lost = count("unplaced") + count("not written"); lost > 0) {
    warnings.push_back(fmt::format("{} samples were lost for want of room", lost));
  }
  return warnings;
}

}  // namespace causalctl::commands
