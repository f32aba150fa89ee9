#include "unwind/names/function_name.h"

#include <catch2/catch.hpp>

#include "unwind/names/demangle.h"
#include "unwind/names/nearest_functions.h"

namespace causalctl::unwind {
namespace {

Fit fit(const std::string& written, const std::string& symbol) {
  return WrittenName(written).fit(symbol, demangle(symbol));
}

const std::string kRust = "_ZN1w9item_done17hee40db41c9a7d77bE";
const std::string kRustV0 = "_RNvCsbsFkZsjFIc5_1w9item_done";

}  // namespace

TEST_CASE("Symbols of each language become the names that people know", "[unwind]") {
  CHECK(demangle("_ZN2ns5enterEii") == "ns::enter(int, int)");
  CHECK(demangle(kRust) == "w::item_done");
  CHECK(demangle(kRustV0) == "w::item_done");
  CHECK(demangle("_RINvNtCsbsFkZsjFIc5_1w5inner3genmEB4_") == "w::inner::gen::<u32>");
  CHECK(demangle("_ZN34_$LT$w..Sq$u20$as$u20$w..Shape$GT$4area17h0123456789abcdefE") ==
        "<w::Sq as w::Shape>::area");
  CHECK(demangle("_D3app4workFiZi") == "app.work(int)");
  CHECK(demangle("__stuff_MOD_item_done") == "stuff::item_done");
  CHECK(demangle("camlCamlprog__item_done_82") == "Camlprog.item_done_82");
  CHECK(demangle("camlCamlprog__$2b$21_175") == "Camlprog.+!_175");
  CHECK(demangle("camlDune__exe__Main__work_272") == "Dune__exe__Main.work_272");
  CHECK(demangle("camlStdlib__List.map_12") == "Stdlib__List.map_12");
}

TEST_CASE("Symbols that only look mangled stay as they are", "[unwind]") {
  for (const std::string symbol : {"main",
                                   "_Z",
                                   "_R",
                                   "_D",
                                   "_Dmain",
                                   "_Real",
                                   "_D3",
                                   "_Reset_all",
                                   "_ZN1w17h",
                                   "__MOD_",
                                   "camel",
                                   "caml",
                                   "camlX",
                                   "caml_alloc_small",
                                   "camlA__",
                                   "main.(*T).Method",
                                   "",
                                   "_RNvB_1a",
                                   "_D3ap",
                                   "__a_MOD_",
                                   "memcached+0x1a2b0"}) {
    INFO(symbol);
    CHECK(demangle(symbol) == symbol);
  }
}

TEST_CASE("Arguments and return types are cut off", "[unwind]") {
  CHECK(without_arguments("main") == "main");
  CHECK(without_arguments("ns::f(int, char const*)") == "ns::f");
  CHECK(without_arguments("ns::S::f(int) const") == "ns::S::f");
  CHECK(without_arguments("f(int) [clone .cold]") == "f");
  CHECK(without_arguments("void ns::f<int>(char)") == "ns::f<int>");
  CHECK(without_arguments("std::map<int, long> f<int>(int)") == "f<int>");
  CHECK(without_arguments("(anonymous namespace)::f(void (*)(int))") == "(anonymous namespace)::f");
  CHECK(without_arguments("S::operator()(int)") == "S::operator()");
  CHECK(without_arguments("S::operator()") == "S::operator()");
  CHECK(without_arguments("f(int)::{lambda(int)#1}::operator()(int) const") ==
        "f(int)::{lambda(int)#1}::operator()");
  CHECK(without_arguments("operator<<(S&, int)") == "operator<<");
  CHECK(without_arguments(")") == ")");
  CHECK(without_arguments("") == "");
}

TEST_CASE("The simple name is the last component", "[unwind]") {
  CHECK(simple_name("main") == "main");
  CHECK(simple_name("a::b::f") == "f");
  CHECK(simple_name("a::f<x::y>") == "f");
  CHECK(simple_name("a<x::y>::f") == "f");
  CHECK(simple_name("(anonymous namespace)::f") == "f");
  CHECK(simple_name("S::operator<<") == "operator<<");
  CHECK(simple_name("my_operator::run") == "run");
  CHECK(simple_name("S::~S") == "~S");
  CHECK(simple_name("") == "");
}

TEST_CASE("Functions are found as people write them", "[unwind]") {
  struct Case {
    std::string symbol;
    std::vector<std::string> names;
  };
  const std::vector<Case> cases = {
      {"_ZN2ns5enterEii",
       {"_ZN2ns5enterEii", "enter", "ns::enter", "::ns::enter", "ns::enter(int, int)",
        "enter(int,int)"}},
      {"_ZN2ns5leaveIiLi3EEEvv",
       {"leave", "ns::leave", "ns::leave<int, 3>", "leave<int,3>", "ns::leave<int>", "ns::leave()",
        "leave<int, 3>()", "void ns::leave<int, 3>()"}},
      {"_Z10tagged_intB3oldB1xv", {"tagged_int", "tagged_int[abi:old][abi:x]", "tagged_int()"}},
      {"_ZN12_GLOBAL__N_14deep1T3runEv",
       {"(anonymous namespace)::deep::T::run", "deep::T::run", "T::run", "run", "T::run()",
        "{anonymous}::deep::T::run()"}},
      {"_ZN2ns2v19versionedEi", {"ns::v1::versioned(int)", "ns::versioned", "ns::versioned(int)"}},
      {"_ZN2ns6taggedERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt6vectorIPKcSaISA_"
       "EE",
       {"tagged", "ns::tagged(const std::string&, const std::vector<const char*>&)",
        "tagged(std::string const &, std::vector<char const *> const &)",
        "tagged(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > "
        "const&, std::vector<char const*, std::allocator<char const*> > const&)"}},
      {"_ZN2ns3BoxINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEE3putES6_",
       {"put", "Box::put", "ns::Box::put", "ns::Box<std::string>::put", "Box<std::string>::put",
        "ns::Box<std::string>::put(std::string)"}},
      {"_ZN2ns3BoxIiE3getIlEET_RKS3_",
       {"ns::Box<int>::get<long>", "Box::get", "Box<int>::get(const long&)"}},
      {"_ZN2ns1SclEi", {"ns::S::operator()", "S::operator()", "S::operator()(int)", "operator()"}},
      {"_ZN2ns1SltIiEEbT_", {"ns::S::operator< <int>", "ns::S::operator<", "operator< <int>(int)"}},
      {"_ZN2ns1ScvmEv", {"ns::S::operator unsigned long", "S::operator unsigned long()"}},
      {"_ZNK2ns1SixEi", {"S::operator[]", "S::operator[](int)", "S::operator[](int) const"}},
      {"_ZN2ns1SD1Ev", {"ns::S::~S", "S::~S", "~S"}},
      {kRust, {kRust, "item_done", "w::item_done"}},
      {kRustV0, {kRustV0, "item_done", "w::item_done"}},
      {"_RINvNtCsbsFkZsjFIc5_1w5inner3genmEB4_",
       {"gen", "inner::gen", "w::inner::gen", "w::inner::gen::<u32>", "gen<u32>"}},
      {"_RNvXCsbsFkZsjFIc5_1wNtB2_2SqNtB2_5Shape4area",
       {"area", "Sq::area", "w::Sq::area", "<w::Sq as w::Shape>::area"}},
      {"_RNvMs_CsbsFkZsjFIc5_1wNtB4_2Sq5scale", {"scale", "w::Sq::scale", "<w::Sq>::scale"}},
      {"_D3app4workFiZi", {"work", "app.work", "app.work(int)"}},
      {"_D3app3Box3putMFiZv", {"put", "Box.put", "app.Box.put"}},
      {"_D3app__T5twiceTiZQjFNaNbNiNfiZi",
       {"twice", "app.twice", "app.twice!int", "twice!(int)", "app.twice!(int).twice"}},
      {"__stuff_MOD_item_done",
       {"__stuff_MOD_item_done", "item_done", "stuff::item_done", "Stuff::Item_Done"}},
      {"camlCamlprog__item_done_82",
       {"camlCamlprog__item_done_82", "item_done", "Camlprog.item_done", "Camlprog.item_done_82"}},
      {"camlDune__exe__Main__work_272", {"Main.work", "Dune__exe__Main.work", "work"}},
      {"camlCamlprog__$2b$21_175", {"Camlprog.+!", "+!"}},
      {"main.(*T).Method", {"main.(*T).Method", "(*T).Method", "T.Method", "Method"}},
      {"main.gen[go.shape.int_0]",
       {"main.gen[go.shape.int_0]", "main.gen[...]", "main.gen[int]", "main.gen", "gen"}},
      {"main.(*List[go.shape.int_0]).Push", {"main.(*List[...]).Push", "List.Push"}},
      {"example.com/x%2ey/gsrc/store.Get", {"store.Get", "Get"}},
  };
  for (const Case& one : cases) {
    for (const std::string& name : one.names) {
      INFO(one.symbol << " as " << name);
      CHECK(fit(name, one.symbol) != Fit::none);
      CHECK(WrittenName(name).may_fit(one.symbol));
    }
  }
}

TEST_CASE("Where const stands does not matter", "[unwind]") {
  CHECK(fit("tagged(const char*)", "_Z6taggedPKc") != Fit::none);
  CHECK(fit("tagged(char const *)", "_Z6taggedPKc") != Fit::none);
  CHECK(fit("tagged(char* const)", "_Z6taggedPKc") == Fit::none);
  // Types of nothing but words that belong to something have an answer, too.
  for (const std::string senseless :
       {"(const )", "(const const)", "(const const const )", "(const, const const)"}) {
    INFO(senseless);
    CHECK(fit("tagged" + senseless, "_Z6taggedPKc") == Fit::none);
  }
}

TEST_CASE("Other functions are not meant", "[unwind]") {
  CHECK(fit("ns::enter(int)", "_ZN2ns5enterEii") == Fit::none);
  CHECK(fit("ent", "_ZN2ns5enterEii") == Fit::none);
  CHECK(fit("s::enter", "_ZN2ns5enterEii") == Fit::none);
  CHECK(fit("other::ns::enter", "_ZN2ns5enterEii") == Fit::none);
  CHECK(fit("ns::leave<long>", "_ZN2ns5leaveIiLi3EEEvv") == Fit::none);
  CHECK(fit("ns::leave<int, 4>", "_ZN2ns5leaveIiLi3EEEvv") == Fit::none);
  CHECK(fit("S::operator<<", "_ZN2ns1SltIiEEbT_") == Fit::none);
  CHECK(fit("operator", "_ZN2ns1SltIiEEbT_") == Fit::none);
  CHECK(fit("work", "work_2") == Fit::none);  // only OCaml appends numbers
  CHECK(fit("Main.f", "camlOther__f_2") == Fit::none);
  CHECK(fit("main.gen[string]", "main.gen[go.shape.int_0]") == Fit::none);
  CHECK(fit("U.Method", "main.(*T).Method") == Fit::none);
  CHECK(fit("", "main") == Fit::none);
  CHECK(fit("", "") == Fit::exact);
}

TEST_CASE("What is left out makes a name fit less", "[unwind]") {
  CHECK(fit("ns::enter", "_ZN2ns5enterEii") == Fit::exact);
  CHECK(fit("ns::enter(int,int)", "_ZN2ns5enterEii") == Fit::same);
  CHECK(fit("deep::T::run", "_ZN12_GLOBAL__N_14deep1T3runEv") == Fit::same);
  CHECK(fit("enter", "_ZN2ns5enterEii") == Fit::shortened);
  CHECK(fit("ns::leave", "_ZN2ns5leaveIiLi3EEEvv") == Fit::shortened);
  CHECK(fit("ns::versioned", "_ZN2ns2v19versionedEi") == Fit::abridged);
}

TEST_CASE("The nearest functions to a wrong name", "[unwind]") {
  const std::vector<std::string> symbols = {"_ZN2ns5enterEii",
                                            "_ZN5other5enterEv",
                                            kRust,
                                            "camlCamlprog__item_done_82",
                                            "__stuff_MOD_work",
                                            "main.itemDone",
                                            "_ZN2ns5leaveIiLi3EEEvv",
                                            "_ZN5entry4mainEv",
                                            "zebra"};
  const auto near = [&](const std::string& name) {
    NearestFunctions nearest(name);
    for (const std::string& symbol : symbols) nearest.consider(symbol);
    return nearest.names(3);
  };
  using Names = std::vector<std::string>;
  CHECK(near("ns::entre") == Names{"ns::enter", "other::enter"});
  CHECK(near("other::entre(int)") == Names{"other::enter", "ns::enter"});
  CHECK(near("item_dne") == Names{"w::item_done", "Camlprog.item_done_82", "main.itemDone"});
  CHECK(near("stuff::wrok") == Names{"stuff::work"});
  CHECK(near("ns::leav<int>") == Names{"ns::leave<int, 3>"});
  CHECK(near("item") == Names{"w::item_done", "main.itemDone", "Camlprog.item_done_82"});
  CHECK(near("xylophone").empty());
}

TEST_CASE("A crate's hash hides no word of its symbols", "[unwind]") {
  NearestFunctions nearest("item_dne");
  nearest.consider("_RNvCs26eDovkGAz7_1w9item_done");
  CHECK(nearest.names(3) == std::vector<std::string>{"w::item_done"});
}

}  // namespace causalctl::unwind
