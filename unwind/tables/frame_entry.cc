#include "unwind/tables/frame_entry.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <libelf.h>

#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/byte_reader.h"

namespace causalctl::unwind {
namespace {

constexpr unsigned char kIdent[EI_NIDENT] = {  // NOLINT(modernize-avoid-c-arrays): libdw's type
    ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT};

constexpr std::uint32_t kLargestCie = 1U << 12U;  // each FDE has its CIE read anew
constexpr std::uint32_t kLargestFde = 1U << 20U;

// Reads one entry and moves `offset` to the next. Returns nullopt at the end, and where the entries
// are damaged or larger than any compiler makes.
std::optional<Dwarf_CFI_Entry> read_entry(const FrameBytes& frames, std::uint64_t& offset,
                                          std::uint32_t largest) {
  Elf_Data data{};
  // libelf's type is not const, but nothing is written.
  data.d_buf = const_cast<std::byte*>(frames.bytes.data());  // NOLINT
  data.d_size = frames.bytes.size();
  if (offset >= data.d_size) return std::nullopt;
  ByteReader length(frames.bytes.subspan(offset));
  if (length.number<std::uint32_t>() > largest) return std::nullopt;
  Dwarf_CFI_Entry entry;
  Dwarf_Off next = 0;
  if (dwarf_next_cfi(kIdent, &data, true, offset, &next, &entry) != 0) return std::nullopt;
  offset = next;
  return entry;
}

// Reads a number in one of the formats DW_EH_PE_….
std::uint64_t encoded_number(ByteReader& reader, std::uint8_t encoding, bool& known) {
  switch (encoding & 0x0fU) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return reader.number<std::uint64_t>();
    case DW_EH_PE_uleb128:
      return reader.uleb();
    case DW_EH_PE_udata2:
      return reader.number<std::uint16_t>();
    case DW_EH_PE_udata4:
      return reader.number<std::uint32_t>();
    case DW_EH_PE_sleb128:
      return static_cast<std::uint64_t>(reader.sleb());
    case DW_EH_PE_sdata2:
      return static_cast<std::uint64_t>(std::int64_t{reader.number<std::int16_t>()});
    case DW_EH_PE_sdata4:
      return static_cast<std::uint64_t>(std::int64_t{reader.number<std::int32_t>()});
    default:
      known = false;
      return 0;
  }
}

struct Augmentation {                       // what the letters of a CIE say about its FDEs
  std::uint8_t encoding = DW_EH_PE_absptr;  // of addresses
  bool sized = false;                       // FDEs have data too, behind their length
  bool signal = false;
};

std::optional<Augmentation> augmentation(const Dwarf_CIE& cie) {
  Augmentation found;
  std::string_view letters = cie.augmentation;
  if (letters.empty()) return found;
  if (letters.front() != 'z') return std::nullopt;
  found.sized = true;
  letters.remove_prefix(1);
  ByteReader reader(std::as_bytes(std::span(cie.augmentation_data, cie.augmentation_data_size)));
  bool known = true;
  for (const char letter : letters) {
    if (letter == 'R') {
      found.encoding = reader.byte();
    } else if (letter == 'L') {
      reader.byte();
    } else if (letter == 'P') {
      const std::uint8_t encoding = reader.byte();
      encoded_number(reader, encoding, known);
    } else if (letter == 'S') {
      found.signal = true;
    } else {
      return std::nullopt;
    }
  }
  return known && !reader.failed() ? std::optional(found) : std::nullopt;
}

std::optional<FrameEntry> joined(const FrameBytes& frames, const Dwarf_FDE& fde,
                                 const Dwarf_CIE& cie) {
  const auto letters = augmentation(cie);
  if (!letters) return std::nullopt;
  const auto bytes = std::as_bytes(std::span(fde.start, fde.end));
  ByteReader reader(bytes);
  FrameEntry entry;
  bool known = true;
  entry.low = encoded_number(reader, letters->encoding, known);
  const unsigned relative_to = letters->encoding & 0xf0U;
  if (relative_to == DW_EH_PE_pcrel) {
    entry.low += frames.address + static_cast<Address>(bytes.data() - frames.bytes.data());
  } else if (relative_to != DW_EH_PE_absptr) {
    return std::nullopt;
  }
  // The length has the format of an address, but is never negative.
  const std::uint8_t length = letters->encoding & 0x07U;
  entry.high = entry.low + encoded_number(reader, length, known);
  if (letters->sized) reader.take(reader.uleb());
  if (!known || reader.failed() || entry.high < entry.low) return std::nullopt;
  entry.instructions = reader.rest();
  entry.initial = std::as_bytes(std::span(cie.initial_instructions, cie.initial_instructions_end));
  entry.code_alignment = cie.code_alignment_factor;
  entry.data_alignment = cie.data_alignment_factor;
  entry.return_address = cie.return_address_register;
  entry.signal = letters->signal;
  return entry;
}

std::optional<FrameEntry> described(const FrameBytes& frames, const Dwarf_CFI_Entry& entry) {
  if (dwarf_cfi_cie_p(&entry)) return std::nullopt;
  std::uint64_t cie_offset = entry.fde.CIE_pointer;
  const auto cie = read_entry(frames, cie_offset, kLargestCie);
  if (!cie || !dwarf_cfi_cie_p(&*cie)) return std::nullopt;
  return joined(frames, entry.fde, cie->cie);
}

}  // namespace

std::optional<FrameEntry> frame_entry_at(const FrameBytes& frames, std::uint64_t offset) {
  const auto entry = read_entry(frames, offset, kLargestFde);
  return entry ? described(frames, *entry) : std::nullopt;
}

RangeMap<std::uint64_t> frame_entries(const FrameBytes& section) {
  std::vector<RangeMap<std::uint64_t>::Range> found;
  std::uint64_t offset = 0;
  for (;;) {
    const std::uint64_t at = offset;
    const auto entry = read_entry(section, offset, kLargestFde);
    if (!entry) break;
    const auto function = described(section, *entry);
    if (function) found.push_back({function->low, function->high, at});
  }
  return RangeMap<std::uint64_t>(std::move(found));
}

}  // namespace causalctl::unwind
