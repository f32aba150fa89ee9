#include "controller/callpath/places/places.h"

#include <fmt/format.h>

#include <utility>

#include "controller/callpath/record/limits.h"
#include "unwind/modules/module_file.h"
#include "unwind/modules/shared_memory.h"
#include "unwind/modules/vdso.h"

namespace causalctl::callpath {
namespace {

constexpr int kMostTries = 8;  // to open a file, each for another process

}  // namespace

Places::Places(Recording& recording) : recording_(recording) {
  module_named(kAnonymous);  // number 0
}

// Returns null if there is none. A file whose generation was not known gets it.
Places::Known* Places::find(std::vector<Known>& files, std::uint64_t generation) {
  if (files.empty()) return nullptr;
  if (generation == 0) return &files.back();
  for (Known& each : files) {
    if (each.generation == 0) each.generation = generation;
    if (each.generation == generation) return &each;
  }
  return nullptr;
}

std::uint32_t Places::module_of(Pid process, const unwind::MappedFile& file,
                                std::uint64_t generation) {
  auto& same_name = modules_[{file.device, file.inode, file.path}];
  Known* known = find(same_name, generation);
  if (known == nullptr) {
    same_name.push_back(open(process, file));
    same_name.back().generation = generation;
    return same_name.back().module;
  }
  // The process that had it first may have been gone.
  if (known->tries == 0 || known->tries == kMostTries) return known->module;
  ++known->tries;
  auto opened = files_.open(process, file);
  if (!opened.fd) return known->module;
  known->tries = 0;
  known->module = static_cast<std::uint32_t>(recording_.modules.size());
  add(std::move(opened), file.path);
  return known->module;
}

Places::Known Places::open(Pid process, const unwind::MappedFile& file) {
  const bool has_file =
      !file.path.empty() && (file.path.front() == '/' || file.path == unwind::kVdso);
  auto opened = has_file ? files_.open(process, file) : unwind::ModuleFile();
  if (unwind::is_shared_memory(file.path) && opened.segments.empty()) return {};
  Known known;
  known.module = static_cast<std::uint32_t>(recording_.modules.size());
  known.tries = has_file && !opened.fd ? 1 : 0;
  add(std::move(opened), file.path);
  return known;
}

void Places::add(unwind::ModuleFile file, const std::string& path) {
  recording_.modules.push_back({path, file.build_id});
  files_.add(std::move(file), path);
  paths_.push_back(path);
}

LocationId Places::location(std::uint32_t module, Address offset, bool is_call) {
  const auto [place, is_new] = locations_.try_emplace(
      {module, offset, is_call}, static_cast<LocationId>(recording_.locations.size()));
  if (is_new) recording_.locations.push_back({module, offset, is_call, {}});
  return place->second;
}

LocationId Places::compiled(const Program& program, Address address, bool is_call,
                            const std::string& name) {
  const std::tuple key(name.empty() ? program.number : 0, address, is_call, name);
  if (const auto known = compiled_.find(key); known != compiled_.end()) return known->second;
  if (compiled_.size() == kMostCompiled) {
    ++recording_.account.code_merged;
    return location(0, 0, is_call);
  }
  const bool is_of_program = name.empty() && !program.name.empty();
  const std::uint32_t module =
      is_of_program ? module_named(fmt::format("[anonymous in {}]", program.name)) : 0;
  const auto number = static_cast<LocationId>(recording_.locations.size());
  recording_.locations.push_back({module, address, is_call, {}});
  if (!name.empty()) recording_.locations.back().frames = {{name, "", 0}};
  return compiled_[key] = number;
}

std::uint32_t Places::module_named(const std::string& name) {
  unwind::MappedFile none;
  none.path = name;
  return module_of(0, none, 0);
}

LocationId Places::in_kernel(const std::string& function) {
  const auto id = static_cast<LocationId>(recording_.locations.size());
  recording_.locations.push_back({module_named(kKernel), 0, false, {{function, "", 0}}});
  return id;
}

LocationId Places::outside(const char* name) { return location(module_named(name), 0, false); }

}  // namespace causalctl::callpath
