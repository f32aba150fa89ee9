// `causalctl calc` as JSON (docs/calc-schema.json).
#include <nlohmann/json.hpp>

#include "controller/report/continuous/calc_model.h"
#include "controller/report/continuous/heads.h"
#include "controller/report/json_number.h"

namespace causalctl::report::continuous {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCalcVersion = 1;

void add_share(Json& json, const Interval& share) {
  json["share"] = json_number(share, &Interval::value);
  json["share_low"] = json_number(share, &Interval::low);
  json["share_high"] = json_number(share, &Interval::high);
}

// Of one execution, with the interval of the share.
void add_each(Json& json, const Calc& calc, const Interval& share, double executions) {
  const auto all = static_cast<double>(calc.time_ns);
  const auto ns = ns_each(calc, share.value * all, executions);
  if (!ns) return;
  json["ns_each"] = json_number(*ns);
  json["ns_each_low"] = json_number(ns_each(calc, share.low * all, executions));
  json["ns_each_high"] = json_number(ns_each(calc, share.high * all, executions));
}

Json json_of(const CalcInstruction& each, const Calc& calc, double executions) {
  Json json = {{"address", each.address}, {"text", each.text}};
  if (!each.line.empty()) json["line"] = each.line;
  if (!each.source.empty()) json["source"] = each.source;
  json["samples"] = each.samples;
  json["time_ns"] = json_number(each.time_ns);
  add_share(json, each.share);
  add_each(json, calc, each.share, executions);
  if (!each.culprits.empty()) json["culprits"] = each.culprits;
  return json;
}

Json json_of(const CalcSummary& summary) {
  Json json = {{"has_cycles", summary.has_cycles},
               {"stalls", json_number(summary.stalls)},
               {"unexplained", json_number(summary.unexplained)},
               {"latency", json_number(summary.latency)},
               {"execution", json_number(summary.execution)}};
  json["causes"] = Json::array();
  for (const CalcCause& cause : summary.causes) {
    json["causes"].push_back({{"letter", std::string(1, cause.letter)},
                              {"name", cause.name},
                              {"least", json_number(cause.least)},
                              {"most", json_number(cause.most)}});
  }
  return json;
}

Json json_of(const CalcPart& part, const CalcBlock& block, const Calc& calc) {
  Json json = {{"time_ns", json_number(block.time_ns)}};
  add_share(json, block.share);
  const double executions = part.is_counted ? block.executions : 0;
  if (part.is_counted) {
    json["executions"] = block.executions;
    json["confidence"] = "high";
  }
  add_each(json, calc, block.share, executions);
  json["instructions"] = Json::array();
  for (std::size_t i = block.first; i < block.first + block.count; ++i) {
    json["instructions"].push_back(json_of(part.instructions[i], calc, executions));
  }
  return json;
}

Json place(std::size_t block) { return block == CalcEdge::kOutside ? Json() : Json(block); }

Json json_of(const CalcPart& part, const Calc& calc) {
  Json json = {{"low", part.low}, {"high", part.high}};
  if (part.is_counted) json["calls"] = part.calls;
  json["blocks"] = Json::array();
  for (const CalcBlock& block : part.blocks) json["blocks"].push_back(json_of(part, block, calc));
  json["edges"] = Json::array();
  for (const CalcEdge& edge : part.edges) {
    Json one = {{"from", place(edge.from)}, {"to", place(edge.to)}};
    if (part.is_counted) one["passes"] = edge.passes;
    json["edges"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string render_json(const Calc& calc) {
  Json json = {{"kind", "calc"},
               {"version", kCalcVersion},
               {"host", calc.host},
               {"event", calc.event},
               {"function", calc.function},
               {"image", calc.image},
               {"build_id", calc.build_id},
               {"samples", calc.samples},
               {"time_ns", calc.time_ns}};
  add_share(json, calc.share);
  if (calc.ghz > 0) json["ghz"] = json_number(calc.ghz);
  if (calc.counts) {
    json["counts"] = {{"command", calc.counts->command}, {"imported", calc.counts->imported}};
    if (calc.counts->runs > 0) {
      json["counts"]["runs"] = json_number(calc.counts->runs);
      json["counts"]["runs_by"] = calc.counts->runs_by;
    }
  }
  json["epochs"] = json_of(calc.epochs);
  json["summary"] = json_of(calc.summary);
  json["parts"] = Json::array();
  for (const CalcPart& part : calc.parts) json["parts"].push_back(json_of(part, calc));
  json["warnings"] = calc.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report::continuous
