#include "controller/progress/usdt.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>

namespace causalctl::progress {

namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& bytes, const void* data, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + size);
}

void pad(Bytes& bytes) {
  while (bytes.size() % 4 != 0) bytes.push_back(std::byte{0});
}

Bytes note(const std::string& owner, std::uint32_t type, const std::string& description) {
  Bytes bytes;
  const Elf64_Nhdr header{static_cast<Elf64_Word>(owner.size()),
                          static_cast<Elf64_Word>(description.size()), type};
  append(bytes, &header, sizeof header);
  append(bytes, owner.data(), owner.size());
  pad(bytes);
  append(bytes, description.data(), description.size());
  pad(bytes);
  return bytes;
}

const std::string kOwner("stapsdt\0", 8);

std::string description(std::uint64_t pc, std::uint64_t base, std::uint64_t semaphore,
                        const std::string& strings) {
  const std::uint64_t addresses[] = {pc, base, semaphore};
  return std::string(reinterpret_cast<const char*>(addresses), sizeof addresses) + strings;
}

Bytes join(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const std::string kStrings("prov\0probe\0-4@%eax 8@%rdx\0", 26);

}  // namespace

TEST_CASE("USDT notes are parsed", "[progress]") {
  const auto notes = parse_usdt_notes(
      join({note("GNU\0", 1, "whatever"), note(kOwner, 3, description(0x1000, 0x2000, 0, kStrings)),
            note(kOwner, 4, "another type"),
            note(kOwner, 3, description(1, 2, 3, std::string("p\0n\0\0", 5)))}));
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].pc == 0x1000);
  CHECK(notes[0].base == 0x2000);
  CHECK(notes[0].semaphore == 0);
  CHECK(notes[0].provider == "prov");
  CHECK(notes[0].name == "probe");
  CHECK(notes[0].arguments == "-4@%eax 8@%rdx");
  CHECK(notes[1].semaphore == 3);
  CHECK(notes[1].name == "n");
  CHECK(notes[1].arguments.empty());
}

TEST_CASE("malformed USDT notes end the list", "[progress]") {
  const auto good = note(kOwner, 3, description(1, 2, 3, kStrings));
  const auto count = [&](const Bytes& bad) { return parse_usdt_notes(join({good, bad})).size(); };
  CHECK(count(note(kOwner, 3, "too short")) == 1);
  CHECK(count(note(kOwner, 3, description(1, 2, 3, "not terminated"))) == 1);
  CHECK(count(note(kOwner, 3, description(1, 2, 3, std::string("p\0not terminated", 16)))) == 1);
  CHECK(count(note(kOwner, 3, description(1, 2, 3, std::string("\0\0\0", 3)))) == 1);
  auto huge = good;
  const std::uint32_t size = 0xffffffff;
  std::memcpy(huge.data(), &size, sizeof size);
  CHECK(count(huge) == 1);
  std::memcpy(huge.data(), good.data(), 4);
  std::memcpy(huge.data() + 4, &size, sizeof size);
  CHECK(count(huge) == 1);
}

TEST_CASE("truncated and mutated USDT notes are read within their bounds", "[progress]") {
  const auto whole = join({note(kOwner, 3, description(1, 2, 3, kStrings)),
                           note(kOwner, 3, description(4, 5, 6, kStrings))});
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto notes = parse_usdt_notes(cut);
    CHECK(notes.size() <= (size + 3) / (whole.size() / 2));  // the last padding may be missing
    for (const auto& each : notes) CHECK(each.name == "probe");
  }
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = whole;
    for (unsigned i = 0; i <= random() % 8; ++i)
      bytes[random() % bytes.size()] = std::byte(random());
    for (const auto& each : parse_usdt_notes(bytes)) {
      if (each.provider.size() + each.name.size() > bytes.size()) FAIL("longer than the section");
    }
  }
}

}  // namespace causalctl::progress
