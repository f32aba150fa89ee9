// What reports and `points` print can be given back, in each place where a name is read.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/text.h"
#include "controller/progress/progress.h"
#include "unwind/names/demangle.h"
#include "unwind/names/function_name.h"

namespace causalctl {

namespace {

const std::vector<std::string> kSymbols = {
    "_Z10tagged_intB3oldB1xv",
    "_Z4makeIPKcESt6vectorIT_SaIS3_EES3_z",
    "_Z4makeIiESt6vectorIT_SaIS1_EES1_z",
    "_ZN12_GLOBAL__N_14deep1T3runEv",
    "_ZN12_GLOBAL__N_16hiddenEPFviE",
    "_ZN2ns1SC1Ev",
    "_ZN2ns1SD1Ev",
    "_ZN2ns1SclEi",
    "_ZN2ns1ScmEi",
    "_ZN2ns1ScvmEv",
    "_ZN2ns1SlsEi",
    "_ZN2ns1SltIS0_EEbT_",
    "_ZN2ns1SltIiEEbT_",
    "_ZN2ns1SnwEm",
    "_ZN2ns1SptEv",
    "_ZN2ns2v19versionedEi",
    "_ZN2ns3BoxINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEE3putES6_",
    "_ZN2ns3BoxIiE3getIlEET_RKS3_",
    "_ZN2ns5enterEii",
    "_ZN2ns5enterEl",
    "_ZN2ns5leaveIiLi3EEEvv",
    "_ZN2ns5leaveIlLi4EEEvv",
    "_ZN2ns6taggedERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt6vectorIPKcSaISA_EE",
    "_ZNK2ns1SixEi",
    "_ZlsRSoRKN2ns1SE",
    "_ZZ4mainENKUliE_clEi",
    "_ZN1w9item_done17hee40db41c9a7d77bE",
    "_RNvCsbsFkZsjFIc5_1w4work",
    "_RNvXCsbsFkZsjFIc5_1wNtB2_2SqNtB2_5Shape4area",
    "_RINvNtCsbsFkZsjFIc5_1w5inner3genmEB4_",
    "_D3app4workFiZi",
    "_D3app__T5twiceTiZQjFNaNbNiNfiZi",
    "__stuff_MOD_item_done",
    "camlCamlprog__item_done_82",
    "main.(*T).Method",
    "main.gen[go.shape.int_0]",
    "main.work",
    "item_done"};

// Returns those that the name fits best.
std::vector<std::string> meant(const std::string& name) {
  const unwind::WrittenName written(name);
  unwind::Fit best = unwind::Fit::none;
  std::vector<std::string> symbols;
  for (const std::string& symbol : kSymbols) {
    const auto fit = written.fit(symbol, unwind::demangle(symbol));
    if (fit == unwind::Fit::none || fit > best) continue;
    if (fit < best) symbols.clear();
    best = fit;
    symbols.push_back(symbol);
  }
  return symbols;
}

std::string function_of(const std::string& spec, const std::string& binary) {
  const auto function = std::get<progress::FunctionSpec>(progress::parse_spec(spec));
  CHECK(function.binary == binary);
  return function.name;
}

std::string in_toml(const std::string& text) {
  const auto config =
      config::parse("[target]\npid = 1\n[progress]\nthroughput = ['" + text + "']", "test");
  return config.progress.throughput.front();
}

}  // namespace

TEST_CASE("printed names are read as the same function everywhere", "[progress]") {
  for (const std::string& symbol : kSymbols) {
    const std::string display = unwind::demangle(symbol);
    const std::string shorter = unwind::without_arguments(display);
    INFO(symbol << ": " << display);
    const std::vector<std::string> same = meant(display);
    CHECK(same == std::vector{symbol});
    for (const std::string& name : {symbol, display, shorter}) {
      INFO(name);
      CHECK(function_of(name, "") == name);
      CHECK(function_of("libx.so.1:" + name, "libx.so.1") == name);
      const auto symbols = meant(name);
      CHECK(std::find(symbols.begin(), symbols.end(), symbol) != symbols.end());
      CHECK(in_toml(name) == name);
      const auto latency = config::parse_latency("q=" + name + ",libx:" + name, "--latency");
      CHECK(latency.begin == name);
      CHECK(latency.end == "libx:" + name);
    }
  }
}

}  // namespace causalctl
