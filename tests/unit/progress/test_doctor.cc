#include <catch2/catch.hpp>

#include "controller/commands/doctor_checks.h"

using namespace causalctl::commands;

TEST_CASE("kernel versions", "[progress][doctor]") {
  CHECK(parse_kernel_version("6.18.44-fc-v445") == KernelVersion{6, 18});
  CHECK(parse_kernel_version("5.13") == kSigtrapKernel);
  CHECK(parse_kernel_version("5.9.1") < kSigtrapKernel);
  CHECK(parse_kernel_version("5.130.0") > kSigtrapKernel);
  CHECK(parse_kernel_version("7") == KernelVersion{7, 0});
  CHECK(parse_kernel_version("x") == KernelVersion{0, 0});
  CHECK(parse_kernel_version("") == KernelVersion{0, 0});
}

TEST_CASE("the doctor's table", "[progress][doctor]") {
  CHECK(render_checks({{"a", Verdict::ok, "fine", "", false},
                       {"long name", Verdict::limited, "so so", "do this", false},
                       {"c", Verdict::missing, "none", "", true}}) ==
        "ok       a          fine\n"
        "limited  long name  so so\n"
        "                    -> do this\n"
        "missing  c          none\n");
}

TEST_CASE("only a required thing that is missing makes a profile impossible",
          "[progress][doctor]") {
  CHECK(profile_possible({}));
  CHECK(profile_possible({{"a", Verdict::missing, "", "", false}}));
  CHECK(profile_possible({{"a", Verdict::limited, "", "", true}}));
  CHECK_FALSE(
      profile_possible({{"b", Verdict::ok, "", "", true}, {"a", Verdict::missing, "", "", true}}));
}
