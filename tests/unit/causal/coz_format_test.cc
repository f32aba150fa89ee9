#include "controller/causal/analysis/coz_format.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {

TEST_CASE("Coz's profile", "[causal]") {
  Run run;
  run.started_ns = 1763690000000000000;
  run.wall_ns = 60123456789;
  Experiment e;
  e.unit = {"hash.c:217", true, "", "", 0};
  e.speedup = 0.35;
  e.wall_ns = 600000000;
  e.effective_ns = 512000000;
  e.samples = 412;
  e.throughput = {{"process\tcommand", 1034, 5, 500000000}};
  e.latency = {{"request", 1034, 1033, 2, 3, 0, 0, 0}};
  run.experiments = {e, e};
  run.experiments[1].discarded = "controller late";
  run.samples = {{e.unit, 5120}};
  CHECK(coz_profile({run}) ==
        "startup\ttime=1763690000000000000\n"
        "experiment\tselected=hash.c:217\tspeedup=0.35\tduration=512000000\tselected-samples=412\n"
        "throughput-point\tname=process command\tdelta=1034\n"
        "latency-point\tname=request\tarrivals=1034\tdepartures=1033\tdifference=3\n"
        "samples\tlocation=hash.c:217\tcount=5120\n"
        "runtime\ttime=60123456789\n");
}

}  // namespace causalctl::causal
