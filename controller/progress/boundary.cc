#include "controller/progress/boundary.h"

#include <elfutils/libdw.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/regular_file.h"
#include "controller/progress/image.h"
#include "disasm/decoder.h"
#include "unwind/modules/target_memory.h"

namespace causalctl::progress {
namespace {

constexpr std::uint64_t kFarthestStart = 16 << 20;  // no function is longer than that

struct Location {
  Image image;
  std::uint64_t link_address = 0;
};

std::optional<Location> locate(Pid target, Address address) {
  const auto place = file_place(target, address);
  if (!place) return std::nullopt;
  for (auto& image : mapped_images(target)) {
    const auto link_address = address - image.bias;
    if (image.path != place->module || image.file_offset(link_address) != place->offset) continue;
    return Location{std::move(image), link_address};
  }
  return std::nullopt;
}

std::optional<Address> nearest_known_boundary(Pid target, Address address,
                                              unwind::Symbolizer& symbolizer) {
  std::optional<Address> best;
  const auto consider = [&](Address start) {
    if (start == 0 || start > address || address - start > kFarthestStart) return;
    if (!best || *best < start) best = start;
  };
  const auto frames = symbolizer.frames(address);
  if (!frames.empty()) consider(frames.back().entry);
  if (const auto location = locate(target, address)) {
    const ElfFile file(location->image.readable);
    if (const auto start = unwind_row_start(file.get(), location->link_address)) {
      consider(*start + location->image.bias);
    }
  }
  return best;
}

}  // namespace

std::vector<std::byte> read_some(const std::string& path, std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> bytes(size);
  const Fd file = open_regular(path);
  const auto count = file ? pread(file.get(), bytes.data(), size, static_cast<off_t>(offset)) : -1;
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

std::vector<std::byte> read_memory(Pid target, Address start, std::size_t size) {
  std::vector<std::byte> bytes(size);
  bytes.resize(unwind::read_target_until_gap(target, start, bytes));
  return bytes;
}

std::vector<std::byte> read_code(Pid target, Address start, Address address) {
  const std::size_t size = address - start + kLongestInstruction;
  if (const auto place = file_place(target, start)) {
    auto bytes = read_some(place->readable, place->offset, size);
    if (bytes.size() > address - start) return bytes;
  }
  return read_memory(target, start, size);
}

namespace {

struct Neighbours {
  std::optional<Address> before;
  std::optional<Address> after;
};

Neighbours neighbours(disasm::Decoder& decoder, std::span<const std::byte> code, Address start,
                      Address address) {
  Neighbours result;
  Address at = start;
  while (at - start < code.size() && at < address) {
    const auto instruction = decoder.decode(code.subspan(at - start), at);
    if (!instruction || instruction->size == 0) return result;
    result.before = at;
    at += instruction->size;
  }
  if (at > address) result.after = at;
  return result;
}

}  // namespace

std::optional<Address> unwind_row_start(Elf* elf, Address link_address) {
  const std::unique_ptr<Dwarf_CFI, int (*)(Dwarf_CFI*)> table(dwarf_getcfi_elf(elf), dwarf_cfi_end);
  Dwarf_Frame* row = nullptr;
  if (!table || dwarf_cfi_addrframe(table.get(), link_address, &row) != 0) return std::nullopt;
  const std::unique_ptr<Dwarf_Frame, void (*)(void*)> owner(row, std::free);
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  bool signal_frame = false;
  if (dwarf_frame_info(row, &start, &end, &signal_frame) < 0) return std::nullopt;
  return start;
}

std::string name_by_offset(Pid target, Address address) {
  const auto location = locate(target, address);
  if (!location) return fmt::format("0x{:x}", address);
  return fmt::format("{}+0x{:x}", std::filesystem::path(location->image.path).filename().string(),
                     location->link_address);
}

void require_boundary(const std::string& what, Pid target, Address address,
                      unwind::Symbolizer& symbolizer) {
  const auto start = nearest_known_boundary(target, address, symbolizer);
  if (!start) {
    throw UsageError(
        fmt::format("{}: no symbol and no unwind information covers {}, so it cannot be proven to "
                    "be the start of an instruction",
                    what, name_by_offset(target, address)),
        "name an address inside a function that has a symbol or an .eh_frame entry");
  }
  disasm::Decoder decoder;
  const auto code = read_code(target, *start, address);
  if (decoder.is_boundary(code, *start, address)) return;
  const auto near = neighbours(decoder, code, *start, address);
  std::vector<std::string> names;
  if (near.before) names.push_back(name_by_offset(target, *near.before));
  if (near.after) names.push_back(name_by_offset(target, *near.after));
  throw UsageError(fmt::format("{}: {} is not the start of an instruction{}{}", what,
                               name_by_offset(target, address),
                               names.empty() ? "" : "; nearest: ", fmt::join(names, ", ")));
}

}  // namespace causalctl::progress
