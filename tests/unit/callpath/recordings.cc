#include "tests/unit/callpath/recordings.h"

#include <array>

namespace causalctl::callpath {

LocationId add_location(Recording& recording, std::uint32_t module, Address offset, bool is_call,
                        std::vector<SourceFrame> frames) {
  recording.locations.push_back({module, offset, is_call, std::move(frames)});
  return static_cast<LocationId>(recording.locations.size() - 1);
}

Recording small_recording() {
  Recording r;
  r.id = "run-1";
  r.host = "host";
  r.pid = 4711;
  r.executable = "/srv/bin/server";
  r.build_id = "abcd";
  r.started_ns = 1763690000000000000;
  r.config_json = R"({"target":{"pid":4711}})";
  r.seed = 42;
  r.period_ns = 1'000'000;
  r.modules = {{"/srv/bin/server", "abcd"}, {"/usr/lib/libz.so.1", "ef01"}};
  const LocationId main_a = add_location(r, 0, 0x1010, true, {{"main", "/src/main.c", 10}});
  const LocationId main_c = add_location(r, 0, 0x1020, true, {{"main", "/src/main.c", 12}});
  const LocationId a_b_c =
      add_location(r, 0, 0x1110, true, {{"b(int)", "/src/b.h", 30}, {"a(int)", "/src/a.c", 21}});
  const LocationId c_c = add_location(r, 0, 0x1210, true, {{"c", "/src/c.c", 41}});
  const LocationId in_c = add_location(r, 0, 0x1204, false, {{"c", "/src/c.c", 40}});
  const LocationId c_z = add_location(r, 0, 0x1218, true, {{"c", "/src/c.c", 42}});
  const LocationId in_z = add_location(r, 1, 0x5000, false, {});
  r.groups = {{"all"}};
  r.epochs = {{0, "start"}};
  const auto sample = [&](std::vector<LocationId> path, std::uint64_t count) {
    const NodeId node = r.tree.path(path);
    r.add({0, 0, Metric::samples}, node, count);
    r.add({0, 0, Metric::cpu_ns}, node, count * 1'000'000);
  };
  sample({main_a, a_b_c, in_c}, 50);
  sample({main_a, a_b_c, c_c, in_c}, 20);
  sample({main_c, in_c}, 20);
  sample({main_c, c_z, in_z}, 10);
  r.chains = {98, 2, 1, 1, 0};
  r.losses.samples_total = 100;
  r.wall_ns = 2'000'000'000;
  r.ended = true;
  r.reason = EndReason::duration;
  r.digest = DigestResult::same;
  r.controller_cpu_share = 0.02;
  return r;
}

Recording set_recording() {
  Recording r = small_recording();
  r.pid = 100;
  r.executable = "/usr/bin/make";
  r.processes = {{100, "make"}, {101, "cc1"}, {102, "cc1"}, {0, "as"}};
  r.programs = {{"make", 1}, {"cc1", 2}, {"as", 40}};
  r.account.processes = 43;
  r.account.processes_merged = 40;
  r.groups.clear();
  for (std::uint32_t process = 0; process < 4; ++process) {
    r.groups.push_back({"all", {}, process});
  }
  r.slices.clear();
  const auto sample = [&](std::uint32_t group, NodeId node, std::uint64_t count) {
    r.add({0, group, Metric::samples}, node, count);
    r.add({0, group, Metric::cpu_ns}, node, count * 1'000'000);
  };
  const NodeId a_c = 3, a_c_c = 5, main_c = 7, z = 9;  // ends of the small recording's paths
  sample(0, a_c, 10);
  sample(1, a_c, 40);
  sample(1, main_c, 20);
  sample(2, a_c_c, 20);
  sample(3, z, 10);
  r.add({0, 0, Metric::blocked_ns}, a_c, 500'000'000);
  r.add({0, 0, Metric::waits}, a_c, 4);
  return r;
}

void cut(Recording& recording, std::size_t parts) {
  for (std::size_t i = 0; i < parts; ++i) {
    Part& part = recording.parts.emplace_back();
    part.begin_ns =
        recording.wall_ns * static_cast<Nanoseconds>(i) / static_cast<Nanoseconds>(parts);
    part.end_ns =
        recording.wall_ns * static_cast<Nanoseconds>(i + 1) / static_cast<Nanoseconds>(parts);
    for (const auto& [key, slice] : recording.slices) {
      for (const auto& [node, value] : slice) {
        part.slices[key][node] = value * (i + 1) / parts - value * i / parts;
      }
    }
  }
}

Recording other_build(std::uint64_t times) {
  Recording r = small_recording();
  r.id = "run-2";
  r.pid = 4812;
  r.executable = "/srv/v2/bin/server";
  r.modules = {{"/usr/lib/libz.so.1.3", "99aa"}, {"/srv/v2/bin/server", "8877"}};
  for (Location& location : r.locations) {
    location.module = 1 - location.module;
    location.offset += 0x730;
    for (SourceFrame& frame : location.frames) frame.file = "/build/v2" + frame.file;
  }
  for (auto& [key, slice] : r.slices) {
    for (auto& [node, value] : slice) {
      const Location& end = r.locations[r.tree.node(node).location];
      if (!end.frames.empty() && end.frames[0].function == "c") value *= times;
    }
  }
  return r;
}

}  // namespace causalctl::callpath
