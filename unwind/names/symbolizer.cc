#include "unwind/names/symbolizer.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/base/paths.h"
#include "controller/base/procfs.h"
#include "controller/base/uprobe_page.h"
#include "unwind/modules/module_file.h"
#include "unwind/modules/modules.h"
#include "unwind/modules/target_memory.h"
#include "unwind/names/module_index.h"
#include "unwind/names/names.h"

namespace causalctl::unwind {
namespace {
constexpr std::size_t kMostCachedAddresses = 100'000;
// The kernel puts the page at the end of the address space, above the stack.
constexpr Address kLowestUprobePage = 0x7fff00000000;
constexpr std::size_t kMostLocated = 16;  // of different functions with one name

bool exists_for(Pid target, const std::string& path) {
  struct stat info {};
  return stat(fmt::format("/proc/{}/root{}", target, path).c_str(), &info) == 0;
}
}  // namespace

struct Symbolizer::Impl {
  explicit Impl(Pid process) : target(process), modules(process) {}
  Impl(const std::string& file, const std::string& name) : modules(file, name) {}

  ModuleIndex& index(LoadedModule& module) {
    auto& known = indexes[module.serial];
    if (!known) known = std::make_unique<ModuleIndex>(module);
    return *known;
  }

  void modules_changed() {
    cache.clear();
    std::set<std::uint64_t> alive;
    for (const auto& each : modules.all()) alive.insert(each->serial);
    std::erase_if(indexes, [&](const auto& each) { return !alive.contains(each.first); });
  }

  // The page comes with the first hit, and no perf event tells of it.
  std::optional<Module> uprobe_page(Address address) {
    if (address < kLowestUprobePage) return std::nullopt;
    if (page.start == 0) {
      const auto maps = procfs::maps(target);
      if (!maps) return std::nullopt;
      for (const procfs::Map& map : *maps) {
        if (map.path == kUprobePage) page = {map.path, "", map.start, map.end, false};
      }
    }
    if (address < page.start || address >= page.end) return std::nullopt;
    return page;
  }

  Module describe(LoadedModule& module) {
    return {module.file.path, index(module).build_id(), module.file.start, module.file.end,
            module.file.main};
  }

  // Returns the modules with the executable first.
  std::vector<LoadedModule*> ordered() {
    std::vector<LoadedModule*> all;
    for (const auto& each : modules.all()) all.push_back(each.get());
    std::stable_partition(all.begin(), all.end(),
                          [](const LoadedModule* each) { return each->file.main; });
    return all;
  }

  // Adds the places that `find` (ModuleIndex → vector<Place>) returns for the modules that match
  // the glob. With an empty glob these are the executable, and all other modules if that has
  // nothing.
  template <typename Find>
  std::vector<Place> search(const std::string& binary_glob, Find find) {
    std::vector<Place> places;
    const auto all = ordered();
    const bool named = std::any_of(all.begin(), all.end(), [&](const LoadedModule* module) {
      return path_ends_with(module->file.path, binary_glob);
    });
    for (LoadedModule* module : all) {
      const bool wanted = binary_glob.empty() || (binary_glob == "MAIN" && module->file.main) ||
                          (named ? path_ends_with(module->file.path, binary_glob)
                                 : path_matches(module->file.path, binary_glob));
      if (!wanted) continue;
      const auto found = find(index(*module));
      places.insert(places.end(), found.begin(), found.end());
      if (binary_glob.empty() && module->file.main && !places.empty()) break;
    }
    return places;
  }

  Place place(ModuleIndex& module, Address address) {
    const auto frames = module.frames(address);
    return {address, frames.front().function, frames.front().file, frames.front().line};
  }

  // Returns whether calls through a slot with this value go to a version, not yet to the loader.
  bool is_bound(Address value) {
    LoadedModule* there = modules.at(value);
    return there != nullptr && !index(*there).in_linkage_table(value);
  }

  // Returns the entries of an indirect function that this process calls: by the slots of its own
  // module, which name its resolver; otherwise by those of others, which name it; otherwise all
  // versions that the compiler made.
  std::vector<Address> chosen(ModuleIndex& module, const FunctionSymbol& indirect) {
    std::set<Address> entries;
    const Address resolver = module.link_time(indirect.address);
    for (const BoundSlot& slot : module.slots("")) {
      if (slot.resolver == resolver && is_bound(slot.value)) entries.insert(slot.value);
    }
    if (entries.empty()) {
      for (const auto& other : modules.all()) {
        for (const BoundSlot& slot : index(*other).slots(indirect.symbol)) {
          const bool here = modules.at(slot.value) == modules.at(indirect.address);
          if (slot.symbol == indirect.symbol && here && is_bound(slot.value))
            entries.insert(slot.value);
        }
      }
    }
    entries.erase(indirect.address);
    if (entries.empty()) {
      for (const FunctionSymbol& each : module.target_clones(indirect))
        entries.insert(each.address);
    }
    return {entries.begin(), entries.end()};
  }

  Pid target = 0;  // 0: a file on its own
  Module page;     // that of uprobes, once it is there
  Modules modules;
  std::unordered_map<std::uint64_t, std::unique_ptr<ModuleIndex>> indexes;  // by module serial
  std::unordered_map<Address, std::vector<Frame>> cache;
};

Symbolizer::Symbolizer(Pid target) : impl_(std::make_unique<Impl>(target)) {}
Symbolizer::Symbolizer(const ModuleFile& file)
    : impl_(std::make_unique<Impl>(fmt::format("/proc/self/fd/{}", file.fd.get()), file.path)) {}
Symbolizer::~Symbolizer() = default;

void Symbolizer::refresh() {
  impl_->modules.refresh();
  impl_->modules_changed();
}

void Symbolizer::refresh(std::vector<procfs::Map> maps) {
  impl_->modules.refresh(std::move(maps));
  impl_->modules_changed();
}

void Symbolizer::mapped(const procfs::Map& line) {
  impl_->modules.mapped(line);
  impl_->modules_changed();
}

void Symbolizer::unmap_all() {
  impl_->modules.unmap_all();
  impl_->modules_changed();
}

std::vector<Module> Symbolizer::modules() {
  std::vector<Module> modules;
  for (const auto& each : impl_->modules.all()) modules.push_back(impl_->describe(*each));
  return modules;
}

std::optional<Module> Symbolizer::module_at(Address address) {
  LoadedModule* module = impl_->modules.at(address);
  if (module == nullptr) return impl_->uprobe_page(address);
  return impl_->describe(*module);
}

std::vector<Frame> Symbolizer::frames(Address address) {
  LoadedModule* module = impl_->modules.at(address);
  if (module == nullptr) return {};
  const auto known = impl_->cache.find(address);
  if (known != impl_->cache.end()) return known->second;
  auto frames = impl_->index(*module).frames(address);
  if (impl_->cache.size() >= kMostCachedAddresses) impl_->cache.clear();
  impl_->cache.emplace(address, frames);
  return frames;
}

bool Symbolizer::has_lines(Address address) {
  LoadedModule* module = impl_->modules.at(address);
  return module != nullptr && impl_->index(*module).has_lines();
}

std::optional<std::pair<Address, Address>> Symbolizer::function_range(Address address) {
  LoadedModule* module = impl_->modules.at(address);
  if (module == nullptr) return std::nullopt;
  return impl_->index(*module).function_range(address);
}

std::vector<std::string> Symbolizer::files(Address address) {
  LoadedModule* module = impl_->modules.at(address);
  if (module == nullptr) return {};
  return impl_->index(*module).files();
}

std::vector<std::string> Symbolizer::inlined_at(Address address, const std::string& function,
                                                std::size_t count) {
  LoadedModule* module = impl_->modules.at(address);
  if (module == nullptr) return {};
  return impl_->index(*module).debug_info().inlined_at(function, count);
}

std::vector<Place> Symbolizer::find_function(const std::string& name,
                                             const std::string& binary_glob) {
  std::string unbound;
  auto all = impl_->search(binary_glob, [&](ModuleIndex& module) {
    std::vector<Place> places;
    const auto functions = module.find_function(name);
    const bool one = std::all_of(functions.begin(), functions.end(), [&](const auto& each) {
      return each.display == functions.front().display;
    });
    for (const FunctionSymbol& found : functions) {
      // To find a line reads the unit's debug information.
      const bool located = one || places.size() < kMostLocated;
      std::vector<Address> entries = {found.address};
      const bool indirect = found.kind == FunctionSymbol::Kind::indirect;
      const std::string version = found.suffix.empty() ? module.version_of(found) : "";
      if (indirect) {
        entries = impl_->chosen(module, found);
        if (entries.empty()) unbound = found.display;
      }
      for (const Address entry : entries) {
        Place place = located ? impl_->place(module, entry) : Place{entry, {}, {}, 0};
        place.function = found.display;
        place.symbol = found.symbol;
        place.version = version;
        place.chosen = indirect;
        place.local = found.local;
        if (located) {
          place.declared = module.debug_info().declaration(entry);
          place.unit = module.debug_info().own_unit(entry);
        }
        places.push_back(std::move(place));
      }
    }
    return places;
  });
  if (all.empty() && !unbound.empty()) {
    throw UsageError(
        fmt::format("{} is an indirect function, and this process has not chosen a version of it",
                    unbound),
        "attach when it has been called, or name a version by its offset (binary+0xOFFSET)");
  }
  return all;
}

std::vector<std::string> Symbolizer::other_names(const Place& function) {
  LoadedModule* loaded = impl_->modules.at(function.address);
  if (loaded == nullptr) return {};
  ModuleIndex& module = impl_->index(*loaded);
  std::set<std::string> names;
  if (!function.chosen) {
    for (std::string& name : module.names_at(function.address)) names.insert(std::move(name));
  }
  std::set<Address> resolvers;
  const auto indirect = module.indirect_functions();
  if (function.chosen && !indirect.empty()) {
    for (const BoundSlot& slot : module.slots("")) {
      if (slot.value == function.address) resolvers.insert(slot.resolver);
    }
    for (const FunctionSymbol& each : indirect) {
      if (resolvers.contains(module.link_time(each.address))) names.insert(each.display);
    }
  }
  names.erase(function.function);
  return {names.begin(), names.end()};
}

bool Symbolizer::slot_leads_to(Address slot, const Place& function) {
  Address value = 0;
  LoadedModule* module = impl_->modules.at(slot);
  const bool is_read =
      module != nullptr &&
      read_target(impl_->target, slot, std::as_writable_bytes(std::span(&value, 1)));
  if (!is_read) return false;
  if (value == function.address) return true;
  if (impl_->is_bound(value)) return false;
  LoadedModule* defines = impl_->modules.at(function.address);
  if (defines == nullptr) return false;
  const auto names = impl_->index(*defines).symbols_at(function.address);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto slots = impl_->index(*module).slots(name);
    return std::any_of(slots.begin(), slots.end(), [&](const BoundSlot& each) {
      return each.address == slot && each.symbol == name;
    });
  });
}

bool Symbolizer::is_called_in_module(const Place& function) {
  LoadedModule* module = impl_->modules.at(function.address);
  if (module == nullptr) return false;
  auto slots = impl_->index(*module).slots(function.symbol);
  std::erase_if(slots, [&](const BoundSlot& each) { return each.symbol != function.symbol; });
  return slots.empty() || std::any_of(slots.begin(), slots.end(), [&](const BoundSlot& each) {
           return each.value == function.address;
         });
}

InlinedCalls Symbolizer::inlined_calls(const Place& function, const std::string& written,
                                       Nanoseconds until_ns) {
  LoadedModule* module = impl_->modules.at(function.address);
  if (module == nullptr) return {};
  return impl_->index(*module).debug_info().inlined_calls(function, written, until_ns);
}

InlinedCalls Symbolizer::inlined_calls(const std::string& binary, const std::string& written,
                                       const std::string& declared, Nanoseconds until_ns) {
  Place wanted{0, {}, {}, 0};
  wanted.declared = declared;
  for (LoadedModule* module : impl_->ordered()) {
    if (binary.empty() ? module->file.main : module->file.path == binary) {
      return impl_->index(*module).debug_info().inlined_calls(wanted, written, until_ns);
    }
  }
  return {};
}

std::vector<std::string> Symbolizer::undescribed_functions(Address in_module) {
  LoadedModule* module = impl_->modules.at(in_module);
  if (module == nullptr || !impl_->index(*module).debug_info().has_lines()) return {};
  return impl_->index(*module).undescribed_functions();
}

std::optional<MissingDwo> Symbolizer::missing_dwo(Address address, bool any) {
  LoadedModule* module = impl_->modules.at(address);
  if (module == nullptr) return std::nullopt;
  DebugInfo& info = impl_->index(*module).debug_info();
  auto missing = any ? info.any_missing_dwo() : info.missing_dwo(address);
  if (missing) missing->package = exists_for(module->target, module->file.path + ".dwp");
  return missing;
}

std::vector<Place> Symbolizer::find_line(const std::string& file, int line,
                                         const std::string& binary_glob) {
  return impl_->search(binary_glob, [&](ModuleIndex& module) {
    std::vector<Place> places;
    for (const LineMatch& found : module.find_line(file, line)) {
      Place place = impl_->place(module, found.address);
      // Several lines may begin at one address; the place has the name that was asked for.
      place.file = found.file;
      place.line = line;
      place.returns = found.returns;
      place.unit = module.debug_info().own_unit(found.address, found.file, line);
      places.push_back(std::move(place));
    }
    return places;
  });
}

std::optional<Place> Symbolizer::find_offset(const std::string& binary_glob, std::uint64_t offset) {
  const auto places = impl_->search(binary_glob, [&](ModuleIndex& module) {
    const auto address = module.runtime_address(offset);
    return address ? std::vector{impl_->place(module, *address)} : std::vector<Place>();
  });
  return places.empty() ? std::nullopt : std::optional(places.front());
}

std::vector<std::string> Symbolizer::similar_functions(const std::string& name, std::size_t count) {
  std::vector<std::string> similar;
  for (LoadedModule* module : impl_->ordered()) {
    ModuleIndex& index = impl_->index(*module);
    if (module->file.main) {
      for (const std::string& place : index.debug_info().inlined_at(name, count)) {
        similar.push_back(name + " (inlined: use " + place + ")");
      }
    }
    for (std::string& each : index.similar_functions(name, count)) {
      if (std::find(similar.begin(), similar.end(), each) == similar.end()) {
        similar.push_back(std::move(each));
      }
    }
    if (similar.size() >= count) break;
  }
  if (similar.size() > count) similar.resize(count);
  return similar;
}

std::vector<std::string> Symbolizer::similar_lines(const std::string& file, int line,
                                                   std::size_t count) {
  std::vector<std::string> files;
  for (LoadedModule* module : impl_->ordered()) {
    ModuleIndex& index = impl_->index(*module);
    auto lines = index.debug_info().near_lines(file, line, count);
    if (!lines.empty()) return lines;
    DebugInfo& debug_info = index.debug_info();
    const auto more = debug_info.has_lines() ? debug_info.files_mentioned() : index.files();
    files.insert(files.end(), more.begin(), more.end());
  }
  std::vector<std::string> names;
  for (const std::string& each : files) names.emplace_back(base_name(each));
  std::vector<std::string> similar;
  for (const std::string& name : nearest(base_name(file), names, count)) {
    for (const std::string& each : files) {
      if (base_name(each) == name && similar.size() < count &&
          std::find(similar.begin(), similar.end(), each) == similar.end()) {
        similar.push_back(each);
      }
    }
  }
  return similar;
}

}  // namespace causalctl::unwind
