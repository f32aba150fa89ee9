#include "controller/continuous/record/blob.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "controller/base/error.h"

namespace causalctl::continuous {
namespace {

// A blob is a header, and what it says of the rest.
struct Header {
  char magic[4];
  std::uint32_t checksum;  // CRC-32 of the rest, as it is stored
  std::uint32_t size;      // of the rest, unpacked
  std::uint32_t packed;    // 1: by zstd
};

constexpr std::string_view kCounts = "CCP1";
constexpr std::string_view kExecutions = "CCX1";
constexpr std::string_view kJumps = "CCJ1";
constexpr int kLevel = 3;
constexpr std::uint32_t kMostBytes = 1U << 28U;  // of one image: some fifty million places
constexpr unsigned kBitsOfByte = 7;
constexpr unsigned kLongest = 10;  // bytes of a number

void put(std::vector<std::byte>& bytes, std::uint64_t number) {
  for (; number >= 1U << kBitsOfByte; number >>= kBitsOfByte) {
    bytes.push_back(static_cast<std::byte>(number | 1U << kBitsOfByte));
  }
  bytes.push_back(static_cast<std::byte>(number));
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool is_at_end() const { return at_ == bytes_.size(); }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < kLongest; ++i) {
      if (is_at_end()) break;
      const auto byte = std::to_integer<std::uint64_t>(bytes_[at_++]);
      number |= (byte & ((1U << kBitsOfByte) - 1)) << i * kBitsOfByte;
      if (byte >> kBitsOfByte == 0) return number;
    }
    throw Error("counts end within a number");
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Returns nothing where packing gains nothing.
std::vector<std::byte> packed(const std::vector<std::byte>& plain) {
  std::vector<std::byte> bytes(ZSTD_compressBound(plain.size()));
  const std::size_t size =
      ZSTD_compress(bytes.data(), bytes.size(), plain.data(), plain.size(), kLevel);
  if (ZSTD_isError(size) != 0U || size >= plain.size()) return {};
  bytes.resize(size);
  return bytes;
}

std::vector<std::byte> unpacked(std::span<const std::byte> bytes, std::uint32_t size) {
  std::vector<std::byte> plain(size);
  const std::size_t got = ZSTD_decompress(plain.data(), plain.size(), bytes.data(), bytes.size());
  if (got != size) throw Error("compressed counts cannot be unpacked");
  return plain;
}

// Signed numbers as unsigned ones: 0, -1, 1, -2 as 0, 1, 2, 3, so that short distances are short.
std::uint64_t folded(std::uint64_t distance) {
  return distance << 1U ^ (std::uint64_t{0} - (distance >> 63U));
}

std::uint64_t unfolded(std::uint64_t number) {
  return number >> 1U ^ (std::uint64_t{0} - (number & 1U));
}

void require_room(const std::vector<std::byte>& plain) {
  if (plain.size() <= kMostBytes) return;
  throw Error("one file has exact counts of too many places", "import fewer files at a time");
}

std::vector<std::byte> blob_of(std::string_view magic, const std::vector<std::byte>& plain) {
  std::vector<std::byte> rest = packed(plain);
  const bool is_packed = !rest.empty();
  if (!is_packed) rest = plain;
  Header header{};
  std::memcpy(header.magic, magic.data(), sizeof header.magic);
  header.checksum = checksum_of(rest);
  header.size = static_cast<std::uint32_t>(plain.size());
  header.packed = is_packed ? 1 : 0;
  std::vector<std::byte> bytes(sizeof header + rest.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!rest.empty()) std::memcpy(bytes.data() + sizeof header, rest.data(), rest.size());
  return bytes;
}

std::vector<std::byte> plain_of(std::string_view magic, std::span<const std::byte> bytes) {
  Header header{};
  if (bytes.size() < sizeof header) throw Error("counts are cut off");
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto rest = bytes.subspan(sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != magic) {
    throw Error("counts do not begin as they should");
  }
  if (checksum_of(rest) != header.checksum) throw Error("the checksum of counts is wrong");
  if (header.size > kMostBytes || header.packed > 1) throw Error("counts are too long");
  if (header.packed == 1) return unpacked(rest, header.size);
  return {rest.begin(), rest.end()};
}

}  // namespace

std::vector<std::byte> encode(const Counts& counts) {
  std::vector<std::byte> plain;
  Address before = 0;
  for (const auto& [offset, count] : counts) {
    put(plain, offset - before);
    put(plain, count.samples);
    put(plain, static_cast<std::uint64_t>(count.time_ns));
    before = offset;
  }
  return blob_of(kCounts, plain);
}

Counts decode(std::span<const std::byte> bytes) {
  const std::vector<std::byte> plain = plain_of(kCounts, bytes);
  Counts counts;
  Address offset = 0;
  for (Reader reader(plain); !reader.is_at_end();) {
    offset += reader.number();
    Count count;
    count.samples = reader.number();
    count.time_ns = static_cast<Nanoseconds>(reader.number());
    counts.insert_or_assign(offset, count);
  }
  return counts;
}

std::vector<std::byte> encode(const Executions& executions) {
  std::vector<std::byte> plain;
  Address before = 0;
  for (const auto& [address, count] : executions) {
    put(plain, address - before);
    put(plain, count);
    before = address;
  }
  require_room(plain);
  return blob_of(kExecutions, plain);
}

Executions decode_executions(std::span<const std::byte> bytes) {
  const std::vector<std::byte> plain = plain_of(kExecutions, bytes);
  Executions executions;
  Address address = 0;
  for (Reader reader(plain); !reader.is_at_end();) {
    address += reader.number();
    executions.insert_or_assign(executions.end(), address, reader.number());
  }
  return executions;
}

std::vector<std::byte> encode(const Jumps& jumps) {
  std::vector<std::byte> plain;
  Address before = 0;
  for (const auto& [jump, count] : jumps) {
    put(plain, jump.from - before);
    put(plain, folded(jump.to - jump.from));
    put(plain, count);
    before = jump.from;
  }
  require_room(plain);
  return blob_of(kJumps, plain);
}

Jumps decode_jumps(std::span<const std::byte> bytes) {
  const std::vector<std::byte> plain = plain_of(kJumps, bytes);
  Jumps jumps;
  Address from = 0;
  for (Reader reader(plain); !reader.is_at_end();) {
    from += reader.number();
    const Address to = from + unfolded(reader.number());
    jumps.insert_or_assign(jumps.end(), {from, to}, reader.number());
  }
  return jumps;
}

}  // namespace causalctl::continuous
