// Tests why instructions may wait, and how a function's time is split.
#include "controller/continuous/analysis/culprits.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <string>

#include "disasm/decoder.h"

namespace causalctl::continuous {
namespace {

constexpr Address kAt = 0x1000;

using Bytes = std::vector<unsigned>;

disasm::Graph graph_of_bytes(const Bytes& bytes, Address address = kAt) {
  std::vector<std::byte> code;
  for (const unsigned byte : bytes) code.push_back(static_cast<std::byte>(byte));
  const disasm::Constants none{[](Address) { return std::nullopt; },
                               [](Address) { return std::nullopt; }, [](Address) { return false; }};
  return disasm::graph_of(disasm::Decoder().decode_all(code, address), {}, none);
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A loop of `body`, which is repeated a thousand times for each of 5 calls.
FunctionProfile loop_of(const Bytes& body, const Counts& places, bool is_counted = true) {
  const Bytes count = {0x48, 0x83, 0xef, 0x01};  // sub rdi, 1
  const auto back = static_cast<unsigned>(256 - body.size() - count.size() - 2);
  const disasm::Graph graph =
      graph_of_bytes(joined({{0x90}, body, count, {0x75, back}, {0xc3}}));  // jne; ret
  ExactCounts counts;
  for (const auto& each : graph.code) counts.instructions[each.address] = 5000;
  counts.instructions[graph.code.front().address] = 5;
  counts.instructions[graph.code.back().address] = 5;
  const auto& jump = graph.code[graph.code.size() - 2];
  counts.jumps[{jump.address, kAt + 1}] = 4995;
  return profile_of(graph, places, is_counted ? &counts : nullptr);
}

Counts at(Address offset) { return {{kAt + offset, {100, 100 * kMicrosecond}}}; }

// The letters of the instruction with the number, where samples stand at `offset`.
std::string letters(const FunctionProfile& profile, std::size_t number) {
  return letters_of(stalls_of(profile, 0, 0).at(number).culprits);
}

}  // namespace

TEST_CASE("An instruction waits for what it does itself", "[continuous]") {
  CHECK(letters(loop_of({0x48, 0x8b, 0x00}, at(4)), 1) == "dD");           // mov rax, [rax]
  CHECK(letters(loop_of({0x48, 0x8b, 0x44, 0x24, 8}, at(6)), 1).empty());  // mov rax, [rsp + 8]
  CHECK(letters(loop_of({0x49, 0x89, 0x04, 0x10}, at(5)), 1) == "wD");     // mov [r8 + rdx], rax
  CHECK(letters(loop_of({0x48, 0x89, 0x04, 0x24}, at(5)), 1).empty());     // mov [rsp], rax
  CHECK(letters(loop_of({0x48, 0x01, 0xf8}, at(4)), 1).empty());           // add rax, rdi
  CHECK(letters(loop_of({0x48, 0xf7, 0xf1}, at(4)), 1) == "v");            // div rcx
  CHECK(letters(loop_of({0xf0, 0x48, 0x83, 0x02, 0x01}, at(6)), 1) == "ydD");  // lock add [rdx], 1
  CHECK(letters(loop_of({0x0f, 0xae, 0xf0}, at(4)), 1) == "y");                // mfence
  CHECK(letters(loop_of({0x0f, 0xae, 0xf0}, at(8)), 2) == "y");                // what is behind it
  CHECK(letters(loop_of({0xf3, 0xa4}, at(1)), 1).starts_with("u"));            // rep movsb
}

TEST_CASE("A load of bytes that a narrower store has changed waits for that", "[continuous]") {
  // mov [rcx + 2], al; mov rdx, [rcx]
  CHECK(letters(loop_of({0x88, 0x41, 0x02, 0x48, 0x8b, 0x11}, at(7)), 2) == "fdD");
  // mov [rcx + 8], al; mov rdx, [rcx]: other bytes
  CHECK(letters(loop_of({0x88, 0x41, 0x08, 0x48, 0x8b, 0x11}, at(7)), 2) == "dD");
  // mov [rcx], rax; mov rdx, [rcx]: all that is read
  CHECK(letters(loop_of({0x48, 0x89, 0x01, 0x48, 0x8b, 0x11}, at(7)), 2) == "dD");
  // mov [rcx + 2], al; add rcx, 8; mov rdx, [rcx]: another place
  CHECK(letters(loop_of({0x88, 0x41, 0x02, 0x48, 0x83, 0xc1, 0x08, 0x48, 0x8b, 0x11}, at(11)), 3) ==
        "dD");
}

TEST_CASE("What is behind a branch may come late because it was mispredicted", "[continuous]") {
  // 0 test edi, edi · 2 je 6 · 4 add eax, 1 · 7 add eax, 2 · 10 ret
  const Bytes code = {0x85, 0xff, 0x74, 0x03, 0x83, 0xc0, 0x01, 0x83, 0xc0, 0x02, 0xc3};
  const ExactCounts counts = {
      {{kAt, 90}, {kAt + 2, 90}, {kAt + 4, 40}, {kAt + 7, 90}, {kAt + 10, 90}},
      {{{kAt + 2, kAt + 7}, 50}}};
  const auto profile = profile_of(graph_of_bytes(code), at(10), &counts);
  CHECK(letters(profile, 3) == "p");
  CHECK(letters(profile_of(graph_of_bytes(code), at(7), &counts), 2) == "p");
  // The first instruction, to which all callers lead.
  CHECK(letters(profile_of(graph_of_bytes(code), at(0), &counts), 0) == "pIi");
}

TEST_CASE("Code in another line than what is before it may be missing in the cache",
          "[continuous]") {
  Bytes code(70, 0x90);
  code.push_back(0xc3);
  // The nop at 64 is the first one of a line. Samples stand at the one behind it.
  CHECK(letters(profile_of(graph_of_bytes(code), at(65), nullptr), 64) == "I");
  CHECK(letters(profile_of(graph_of_bytes(code), at(66), nullptr), 65).empty());
  const disasm::Graph at_page = graph_of_bytes(code, kAt - 10);
  CHECK(letters(profile_of(at_page, at(1), nullptr), 10) == "Ii");
  // A short loop without calls has its code in the cache.
  Bytes body(70, 0x90);
  CHECK(letters(loop_of(body, at(65)), 64).empty());
}

TEST_CASE("Time is split into execution, latency and stalls, and adds up", "[continuous]") {
  // 5,000 executions in 2 recorded runs at 1 cycle/ns: 100 µs are 10 cycles for each.
  const FunctionProfile load = loop_of({0x48, 0x8b, 0x00}, at(4));
  const auto stalls = stalls_of(load, 1, 2);
  const Stall& stall = stalls.at(1);
  CHECK(stall.execution_ns == Approx(10'000.0 / 6));
  CHECK(stall.execution_ns + stall.latency_ns == Approx(60'000));
  CHECK(stall.dynamic_ns == Approx(40'000));
  const StallSummary summary = summary_of(stalls);
  const auto& cache = summary.culprits.at(static_cast<std::size_t>(Culprit::data_cache));
  CHECK(cache.least_ns == 0);
  CHECK(cache.most_ns == Approx(40'000));
  CHECK(summary.unexplained_ns == 0);
  CHECK(summary.execution_ns + summary.latency_ns + summary.dynamic_ns == Approx(100'000));
  // Ten cycles of an addition are not explained but for its own.
  const StallSummary sum = summary_of(stalls_of(loop_of({0x48, 0x01, 0xf8}, at(4)), 1, 2));
  CHECK(sum.unexplained_ns == Approx(90'000));
  CHECK(sum.execution_ns + sum.latency_ns == Approx(10'000));
  // What takes less than its latency does not stall.
  CHECK(stalls_of(load, 0.1, 2).at(1).culprits.empty());
  CHECK(stalls_of(load, 0.1, 2).at(1).dynamic_ns == 0);
}

}  // namespace causalctl::continuous
