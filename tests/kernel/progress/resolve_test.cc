// A SPEC that cannot be a progress point is refused, and the message names the nearest names.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <optional>
#include <span>

#include "controller/base/error.h"
#include "controller/progress/boundary.h"
#include "controller/progress/image.h"
#include "controller/progress/progress.h"
#include "controller/progress/syscalls.h"
#include "disasm/decoder.h"
#include "tests/kernel/progress/probed.h"
#include "tests/kernel/progress/probed_child.h"

namespace causalctl::progress {

using Catch::Matchers::Contains;

namespace {

std::string refusal(const std::string& spec, Pid pid, unwind::Symbolizer& symbolizer) {
  try {
    resolve(spec, pid, symbolizer);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted: " + spec;
}

}  // namespace

TEST_CASE("unknown points name the nearest", "[progress]") {
  probed::Child child;
  unwind::Symbolizer symbolizer(child.pid());
  const auto refused = [&](const std::string& spec) {
    return refusal(spec, child.pid(), symbolizer);
  };
  CHECK_THAT(refused("probed::functoin_1"), Contains("no such function") && Contains("nearest:") &&
                                                Contains("probed::function_1"));
  CHECK_THAT(refused("progress/probed.cc:1"), Contains("no code") && Contains("probed.cc:"));
  CHECK_THAT(refused("no_such_file.cc:1"), Contains("no code"));
  CHECK_THAT(refused("libnosuch.so:f"), Contains("no binary 'libnosuch.so'"));
  CHECK_THAT(refused("libnosuch.so+0x12"), Contains("no binary 'libnosuch.so'"));
  CHECK_THAT(refused("usdt:causalctl_test:plane"), Contains("nearest: usdt:causalctl_test:plain"));
  CHECK_THAT(refused("syscall:getpid_"), Contains("nearest: syscall:getpid"));
}

TEST_CASE("ambiguous points list how each is named, and the names work", "[progress]") {
  probed::Child child;
  unwind::Symbolizer symbolizer(child.pid());
  const auto refused = [&](const std::string& spec) {
    return refusal(spec, child.pid(), symbolizer);
  };
  CHECK_THAT(refused("twin.cc:7"),
             Contains("ambiguous") && Contains("twin_a/twin.cc:7") && Contains("twin_b/twin.cc:7"));
  CHECK(resolve("twin_a/twin.cc:7", child.pid(), symbolizer).places.size() == 1);
  const auto twins = refused("probed::twin_function");
  CHECK_THAT(twins, Contains("ambiguous") && Contains("twin_a/twin.cc") &&
                        Contains("twin_b/twin.cc") && Contains("kernel_tests+0x"));
  const auto start = twins.find("kernel_tests+0x");
  REQUIRE(start != std::string::npos);
  const auto spec = twins.substr(start, twins.find(' ', start) - start);
  CHECK(resolve(spec, child.pid(), symbolizer).places.size() == 1);
  CHECK_THAT(refused("probed::overloaded"), Contains("ambiguous"));
  CHECK(resolve("probed::overloaded(int)", child.pid(), symbolizer).places.size() == 1);
}

TEST_CASE("offsets must be instruction boundaries in code", "[progress]") {
  probed::Child child;
  unwind::Symbolizer symbolizer(child.pid());
  const auto pid = child.pid();
  auto start = resolve("probed::function_1", pid, symbolizer).places.at(0).address;
  disasm::Decoder decoder;
  const auto size_at = [&](Address address) {
    const std::span code(reinterpret_cast<const std::byte*>(address), 15);
    return decoder.decode(code, address).value().size;
  };
  while (size_at(start) == 1) ++start;  // push %rbp
  const auto next = name_by_offset(pid, start + size_at(start));
  CHECK_THAT(refusal(name_by_offset(pid, start + 1), pid, symbolizer),
             Contains("not the start of an instruction") &&
                 Contains(fmt::format("nearest: {}, {}", name_by_offset(pid, start), next)));
  CHECK(resolve(next, pid, symbolizer).places.at(0).address == start + size_at(start));

  std::uint64_t data = 0;  // a link-time address in the data segment
  for (const auto& image : mapped_images(pid)) {
    const auto address = reinterpret_cast<Address>(&probed::sink) - image.bias;
    if (image.path.ends_with("kernel_tests")) data = address;
  }
  REQUIRE(data != 0);
  CHECK_THAT(refusal(fmt::format("kernel_tests+0x{:x}", data), pid, symbolizer),
             Contains("outside"));
  CHECK_THAT(refusal("kernel_tests+0xffffffffffff", pid, symbolizer), Contains("outside"));
}

TEST_CASE("images tell offsets, link-time and run-time addresses apart", "[progress]") {
  const auto pid = getpid();
  const auto address = reinterpret_cast<Address>(&probed::function_1);
  const auto place = file_place(pid, address);
  REQUIRE(place);
  bool found = false;
  for (const auto& image : mapped_images(pid)) {
    found = found || (image.path == place->module &&
                      image.file_offset(address - image.bias) == place->offset);
  }
  CHECK(found);
  CHECK_FALSE(file_place(pid, reinterpret_cast<Address>(&place)));  // on the stack
  CHECK_THROWS_AS(mapped_images(0x3ffffff), TargetGone);
}

TEST_CASE("files that are no ELF files are left out", "[progress]") {
  CHECK(ElfFile("/proc/self/maps").get() == nullptr);
  CHECK(ElfFile("/dev/null").get() == nullptr);
  CHECK(ElfFile("/no/such/file").get() == nullptr);
  CHECK(read_segments(nullptr).empty());
}

TEST_CASE("system-call tracepoints", "[progress]") {
  const auto tracefs = tracefs_of_calls().path;
  CHECK(syscall_tracepoint(tracefs, "getppid").value_or(0) > 0);
  CHECK_FALSE(syscall_tracepoint(tracefs, "no_such_call"));
  CHECK(syscall_tracepoint(tracefs, "stat") == syscall_tracepoint(tracefs, "newstat"));
  CHECK(syscall_names(tracefs).size() > 300);
}

}  // namespace causalctl::progress
