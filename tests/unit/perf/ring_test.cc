#include "controller/perf/ring.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <stdexcept>

#include "tests/unit/perf/bytes.h"

namespace causalctl::perf {

using test::RecordBytes;

namespace {

// A ring in ordinary memory, for which the test plays the kernel.
class FakeRing {
 public:
  FakeRing() {
    void* memory =
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    page_ = static_cast<perf_event_mmap_page*>(memory);
    page_->data_offset = kPage;
    page_->data_size = kPage;
    ring_ = Ring(Mapping(memory, 2 * kPage));
  }

  // false if there is no room
  bool write(const std::vector<std::byte>& record) {
    if (page_->data_head + record.size() - page_->data_tail > kPage) return false;
    auto* data = reinterpret_cast<std::byte*>(page_) + kPage;
    for (const auto byte : record) data[page_->data_head++ % kPage] = byte;
    return true;
  }

  Ring& ring() { return ring_; }
  perf_event_mmap_page& page() { return *page_; }
  static constexpr std::size_t kPage = 4096;

 private:
  perf_event_mmap_page* page_ = nullptr;
  Ring ring_;
};

std::vector<std::byte> numbered(std::uint64_t number, std::size_t words) {
  RecordBytes bytes(PERF_RECORD_SAMPLE, 0);
  bytes.u64(number);
  for (std::size_t i = 0; i < words; ++i) bytes.u64(number * 1000 + i);
  return bytes.done();
}

}  // namespace

TEST_CASE("Records come out whole and in order, across the wrap", "[perf]") {
  FakeRing fake;
  std::uint64_t written = 0, read = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 5; ++i) written += fake.write(numbered(written, written % 37));
    const bool sane = fake.ring().consume([&](std::span<const std::byte> record) {
      const auto expected = numbered(read, read % 37);
      REQUIRE(std::vector(record.begin(), record.end()) == expected);
      ++read;
    });
    REQUIRE(sane);
    REQUIRE(fake.page().data_tail == fake.page().data_head);
  }
  REQUIRE(read == written);
  REQUIRE(written > 900);
}

TEST_CASE("Space is given back up to the record at which reading stopped", "[perf]") {
  FakeRing fake;
  fake.write(numbered(1, 2));
  fake.write(numbered(2, 2));
  REQUIRE_THROWS(fake.ring().consume([](auto) { throw std::runtime_error("stop"); }));
  std::vector<std::uint64_t> rest;
  fake.ring().consume([&](std::span<const std::byte> record) {
    std::uint64_t number = 0;
    std::memcpy(&number, record.data() + 8, sizeof(number));
    rest.push_back(number);
  });
  REQUIRE(rest == std::vector<std::uint64_t>{2});
}

TEST_CASE("A header that makes no sense drops what is there, once", "[perf]") {
  for (const std::uint16_t size : {0, 4, 5000}) {
    FakeRing fake;
    auto record = numbered(1, 2);
    std::memcpy(record.data() + offsetof(perf_event_header, size), &size, sizeof(size));
    fake.write(record);
    REQUIRE_FALSE(fake.ring().consume([](auto) { FAIL("must not be used"); }));
    fake.write(numbered(2, 2));
    int seen = 0;
    REQUIRE(fake.ring().consume([&](auto) { ++seen; }));
    REQUIRE(seen == 1);
  }
  FakeRing fake;
  fake.page().data_head = 1U << 30;  // beyond the length of the ring
  REQUIRE_FALSE(fake.ring().consume([](auto) { FAIL("must not be used"); }));
}

TEST_CASE("No ring, no records", "[perf]") {
  Ring none;
  REQUIRE(none.consume([](auto) { FAIL("must not be used"); }));
}

}  // namespace causalctl::perf
