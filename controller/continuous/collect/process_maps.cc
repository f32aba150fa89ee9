#include "controller/continuous/collect/process_maps.h"

#include <iterator>
#include <utility>
#include <variant>

#include "controller/base/base_name.h"

namespace causalctl::continuous {

void ProcessMaps::take(Pid process, const std::vector<procfs::Map>& maps) {
  Code& code = processes_[process].code;
  for (const procfs::Map& map : maps) {
    if (!map.executable) continue;
    insert(code, map.start,
           {map.end, map.offset, std::string(without_deleted(map.path)), map.device, map.inode});
  }
}

// What it covers is there no more.
void ProcessMaps::insert(Code& code, Address begin, MappedCode mapped) {
  auto next = code.lower_bound(begin);
  if (next != code.begin() && std::prev(next)->second.end > begin) {
    MappedCode& before = std::prev(next)->second;
    if (before.end > mapped.end) {
      const std::uint64_t rest = before.offset + (mapped.end - std::prev(next)->first);
      MappedCode behind = before;
      behind.offset = rest;
      code.insert_or_assign(mapped.end, std::move(behind));
    }
    before.end = begin;
  }
  while (next != code.end() && next->first < mapped.end) {
    if (next->second.end > mapped.end) {
      MappedCode rest = next->second;
      rest.offset += mapped.end - next->first;
      code.insert_or_assign(mapped.end, std::move(rest));
    }
    next = code.erase(next);
  }
  code.insert_or_assign(begin, std::move(mapped));
}

ProcessMaps::Found ProcessMaps::find(const Code& code, Address address) {
  const auto after = code.upper_bound(address);
  if (after == code.begin()) return {};
  const auto& [begin, mapped] = *std::prev(after);
  return address < mapped.end ? Found{&mapped, begin} : Found{};
}

ProcessMaps::Found ProcessMaps::find(Pid process, Address address) const {
  const auto known = processes_.find(process);
  if (known == processes_.end()) return {};
  const Found found = find(known->second.code, address);
  return found.code != nullptr ? found : find(known->second.before, address);
}

ProcessMaps::Found ProcessMaps::find_earlier(Pid process, Address address) const {
  const auto known = processes_.find(process);
  return known == processes_.end() ? Found{} : find(known->second.before, address);
}

const std::string& ProcessMaps::name(Pid process) const {
  static const std::string kNone;
  const auto known = processes_.find(process);
  return known == processes_.end() ? kNone : known->second.name;
}

ProcessMaps::Process* ProcessMaps::process_of(ThreadId thread) {
  const auto pid = process_of_.find(thread.serial);
  if (pid == process_of_.end()) return nullptr;
  const auto known = processes_.find(pid->second);
  return known == processes_.end() ? nullptr : &known->second;
}

// A child has the mappings of its parent.
void ProcessMaps::begin(const perf::ThreadStartEvent& start) {
  const auto earlier = processes_.find(start.process);
  if (earlier != processes_.end() && earlier->second.has_ended) processes_.erase(earlier);
  const Process* parent = process_of(start.parent);
  Process fresh;
  if (parent != nullptr) {
    fresh.code = parent->code;
    fresh.name = parent->name;
  }
  Process& process = processes_.try_emplace(start.process, std::move(fresh)).first->second;
  ++process.threads;
  process_of_[start.thread.serial] = start.process;
}

void ProcessMaps::end(const perf::ThreadExitEvent& exit) {
  if (Process* process = process_of(exit.thread)) {
    if (process->threads > 0) --process->threads;
    process->has_ended = process->threads == 0;
  }
  process_of_.erase(exit.thread.serial);
}

void ProcessMaps::take(const perf::Event& event) {
  if (const auto* map = std::get_if<perf::MapEvent>(&event)) {
    // The kernel's records call memory without a file "//anon", which /proc does not.
    const bool is_nameless = map->inode == 0 && !map->path.starts_with('[');
    insert(processes_[map->process].code, map->start,
           {map->start + map->length, is_nameless ? 0 : map->file_offset,
            is_nameless ? std::string() : map->path, map->device, map->inode});
  } else if (const auto* start = std::get_if<perf::ThreadStartEvent>(&event)) {
    begin(*start);
  } else if (const auto* exit = std::get_if<perf::ThreadExitEvent>(&event)) {
    end(*exit);
  } else if (const auto* exec = std::get_if<perf::ExecEvent>(&event)) {
    Process& process = processes_[exec->process];
    process.before = std::exchange(process.code, {});
  } else if (const auto* name = std::get_if<perf::NameEvent>(&event)) {
    // The first thread's is that of the program, from each exec on.
    const auto pid = process_of_.find(name->thread.serial);
    if (pid != process_of_.end() && pid->second == name->thread.tid) {
      processes_[pid->second].name = name->name;
    }
  }
}

void ProcessMaps::forget_ended() {
  std::erase_if(processes_,
                [](const auto& each) { return each.second.has_ended || each.second.threads == 0; });
  for (auto& [pid, process] : processes_) process.before.clear();
}

}  // namespace causalctl::continuous
