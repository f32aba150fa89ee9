#include "controller/progress/function_code.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "controller/base/procfs.h"
#include "controller/progress/boundary.h"
#include "disasm/decoder.h"
#include "unwind/tables/elf_image.h"

namespace causalctl::progress {
namespace {

using unwind::kPageBytes;

constexpr std::size_t kMostDecodedBytes = 256 << 10;

// Reads words of the target by pages, each once.
class Words {
 public:
  explicit Words(Pid target) : target_(target) {}

  template <typename Word>
  std::optional<Word> at(Address address) {
    const Address begin = address / kPageBytes * kPageBytes;
    if (address - begin + sizeof(Word) > kPageBytes) return std::nullopt;  // tables are aligned
    const auto [page, is_new] = pages_.try_emplace(begin);
    if (is_new) page->second = read_memory(target_, begin, kPageBytes);
    if (page->second.size() < kPageBytes) return std::nullopt;
    Word word;
    std::memcpy(&word, page->second.data() + (address - begin), sizeof word);
    return word;
  }

 private:
  Pid target_;
  std::map<Address, std::vector<std::byte>> pages_;
};

}  // namespace

disasm::Constants constants_of(Pid target) {
  const auto words = std::make_shared<Words>(target);
  auto maps = procfs::maps(target).value_or(std::vector<procfs::Map>());
  std::erase_if(maps, [](const procfs::Map& each) { return !each.executable; });
  return {[words](Address address) { return words->at<std::int32_t>(address); },
          [words](Address address) { return words->at<Address>(address); },
          [maps = std::move(maps)](Address address) {
            return std::ranges::any_of(maps, [&](const procfs::Map& each) {
              return each.start <= address && address < each.end;
            });
          }};
}

std::vector<disasm::Instruction> function_code(Address address, Pid target,
                                               unwind::Symbolizer& symbolizer) {
  const auto range = symbolizer.function_range(address);
  if (!range || range->second - range->first > kMostDecodedBytes) return {};
  const auto bytes = read_code(target, range->first, range->second - 1);
  const auto size = std::min<std::size_t>(bytes.size(), range->second - range->first);
  return disasm::Decoder().decode_all(std::span(bytes).first(size), range->first);
}

disasm::Graph function_graph(Address address, Pid target, unwind::Symbolizer& symbolizer) {
  return disasm::graph_of(function_code(address, target, symbolizer), {}, constants_of(target));
}

}  // namespace causalctl::progress
