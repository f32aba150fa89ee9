// Tests which image a place in memory is of.
#include "controller/continuous/collect/image_table.h"

#include <catch2/catch.hpp>

namespace causalctl::continuous {
namespace {

constexpr const char* kSymbols =
    "ffffffff81000000 T startup_64\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000100 T sys_read\n"
    "ffffffff81000200 T sys_write\n"
    "ffffffffc0000010 t in_module\t[ext4]\n"
    "ffffffffc0000090 t another\t[ext4]\n";

KernelCode kernel() {
  return {symbols::KernelSymbols::parse(kSymbols),
          parse_modules("ext4 4096 2 - Live 0xffffffffc0000000\n"
                        "hidden 4096 0 - Live 0x0000000000000000\n"),
          [](const std::string& module) { return module.empty() ? "aa" : "bb"; }};
}

ProcessMaps some_maps() {
  ProcessMaps maps;
  procfs::Map program;
  program.start = 0x400000;
  program.end = 0x500000;
  program.executable = true;
  program.offset = 0x1000;
  program.path = "/usr/bin/node";
  procfs::Map anonymous = program;
  anonymous.start = 0x700000;
  anonymous.end = 0x800000;
  anonymous.path = "";
  anonymous.offset = 0;
  procfs::Map vdso = program;
  vdso.start = 0x600000;
  vdso.end = 0x601000;
  vdso.path = "[vdso]";
  maps.take(7, {program, anonymous, vdso});
  maps.set_name(7, "node");
  return maps;
}

struct Sources {
  int files_read = 0;
  std::string build_id = "cafe";
  Names stored;

  ImageSources functions() {
    ImageSources sources;
    sources.build_id = [this](Pid, const ProcessMaps::Found& found) {
      ++files_read;
      return found.code->path == "/usr/bin/python3" ? "abba" : build_id;
    };
    sources.compiled = [](Pid, Address address) {
      return address < 0x710000 || address > 0x800000 ? "" : address < 0x720000 ? "JS:f" : "JS:g";
    };
    sources.names = [this](const Image&) { return stored; };
    return sources;
  }
};

perf::CountedPlace counted(Address address, std::uint64_t samples = 1) {
  perf::CountedPlace place;
  place.address = place.latest = address;
  place.process = 7;
  place.samples = samples;
  place.time_ns = static_cast<Nanoseconds>(samples) * kMillisecond;
  return place;
}

}  // namespace

TEST_CASE("A place in a file is one offset, however the kernel told it", "[continuous]") {
  Sources sources;
  ImageTable table(kernel(), sources.functions());
  perf::CountedPlace by_build_id = counted(0x1234, 3);
  by_build_id.build_id = padded_build_id("cafe");
  by_build_id.latest = 0x400234;
  Profile profile;
  CHECK(table.add({by_build_id, counted(0x400234, 2), counted(0x400235)}, some_maps(), "",
                  profile) == 0);
  const Image node = {ImageKind::file, "/usr/bin/node", padded_build_id("cafe")};
  REQUIRE(profile.size() == 1);
  CHECK(profile.at({node}).at(0x1234).samples == 5);
  CHECK(profile.at({node}).at(0x1235).samples == 1);
  CHECK(sources.files_read == 1);
}

TEST_CASE("A file is named by the program that had it", "[continuous]") {
  // At one address, first node and then python3.
  ProcessMaps maps = some_maps();
  perf::ThreadStartEvent start;
  start.thread = {7, 1};
  start.process = 7;
  maps.take(perf::Event(start));
  maps.take(perf::Event(perf::ExecEvent{{7, 1}, 0, 7}));
  perf::MapEvent mapping;
  mapping.process = 7;
  mapping.start = 0x400000;
  mapping.length = 0x100000;
  mapping.path = "/usr/bin/python3";
  mapping.inode = 5;
  maps.take(perf::Event(mapping));
  Sources sources;
  ImageTable table(kernel(), sources.functions());
  perf::CountedPlace earlier = counted(0x1234), later = counted(0x234);
  earlier.build_id = padded_build_id("cafe");
  later.build_id = padded_build_id("abba");
  earlier.latest = later.latest = 0x400234;
  CHECK(table.needs_maps(earlier));
  Profile profile;
  table.add({earlier, later}, maps, "", profile);
  CHECK(profile.contains({{ImageKind::file, "/usr/bin/node", earlier.build_id}}));
  CHECK(profile.contains({{ImageKind::file, "/usr/bin/python3", later.build_id}}));
  CHECK_FALSE(table.needs_maps(earlier));
}

TEST_CASE("Code that the kernel has made is none of its own", "[continuous]") {
  const KernelCode code = {
      symbols::KernelSymbols::parse(std::string("ffffffff81000300 T _etext\n") + kSymbols),
      {},
      [](const std::string&) { return "aa"; }};
  CHECK(code.at(0xffffffff81000150).image.kind == ImageKind::kernel);
  CHECK(code.at(0xffffffff81000300).image.kind == ImageKind::anonymous);
  CHECK(code.at(0xffffffffc0000020).offset == 0);
}

TEST_CASE("The kernel and its modules have places of their own, and names", "[continuous]") {
  Sources sources;
  ImageTable table(kernel(), sources.functions());
  perf::CountedPlace in_kernel = counted(0xffffffff81000150);
  perf::CountedPlace in_module = counted(0xffffffffc0000020);
  in_kernel.in_kernel = in_module.in_kernel = true;
  Profile profile;
  table.add({in_kernel, in_module}, some_maps(), "", profile);
  const Image image = {ImageKind::kernel, "[kernel]", "aa"};
  const Image module = {ImageKind::module, "[ext4]", "bb"};
  CHECK(profile.at({image}).contains(0x150));
  CHECK(profile.at({module}).contains(0x20));
  const auto names = table.take_names();
  CHECK(names.at(image) == Names{{0x100, {0x100, "sys_read"}}});
  CHECK(names.at(module) == Names{{0x10, {0x80, "in_module"}}});
  table.add({in_kernel}, some_maps(), "", profile);
  CHECK(table.take_names().empty());  // they are told once
  table.tell_names_again();
  CHECK(table.take_names() == names);
}

TEST_CASE("Compiled code is counted by name, as earlier recorders did", "[continuous]") {
  Sources sources;
  sources.stored = {{0, {1, "JS:old"}}, {1, {1, "JS:g"}}};
  ImageTable table(kernel(), sources.functions());
  Profile profile;
  const auto unknown =
      table.add({counted(0x700010), counted(0x715000), counted(0x716000), counted(0x725000)},
                some_maps(), "", profile);
  CHECK(unknown == 0);
  const Image jit = {ImageKind::compiled, "[jit] node", ""};
  CHECK(profile.at({jit}) == Counts{{1, {1, kMillisecond}}, {2, {2, 2 * kMillisecond}}});
  CHECK(table.take_names().at(jit) == Names{{2, {1, "JS:f"}}});
  table.tell_names_again();
  CHECK(table.take_names().at(jit) ==
        Names{{0, {1, "JS:old"}}, {1, {1, "JS:g"}}, {2, {1, "JS:f"}}});
  const Image anonymous = {ImageKind::anonymous, "[anonymous] node", ""};
  CHECK(profile.at({anonymous}).at(0).samples == 1);
}

TEST_CASE("Code that is nowhere is unknown", "[continuous]") {
  Sources sources;
  ImageTable table(kernel(), sources.functions());
  Profile profile;
  CHECK(table.add({counted(0x100, 4)}, some_maps(), "", profile) == 4);
  CHECK(profile.empty());
  CHECK(table.add({counted(0x600010)}, some_maps(), "", profile) == 0);
  CHECK(profile.contains({{ImageKind::anonymous, "[vdso]", ""}}));
}

TEST_CASE("A build-id is found among other notes", "[continuous]") {
  const std::string other("\4\0\0\0\4\0\0\0\1\0\0\0GNU\0abcd", 20);
  const std::string id("\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\x01\xab\xff\0", 20);
  CHECK(build_id_in_notes(other + id) == "01abff");
  CHECK(build_id_in_notes(id) == "01abff");
  CHECK(build_id_in_notes(other).empty());
  CHECK(build_id_in_notes(id.substr(0, 15)).empty());
  CHECK(build_id_in_notes("").empty());
}

}  // namespace causalctl::continuous
