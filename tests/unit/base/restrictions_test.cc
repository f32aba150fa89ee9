#include "controller/base/restrictions.h"

#include <catch2/catch.hpp>

namespace causalctl {

using Catch::Contains;

TEST_CASE("what forbids a call is named, with what to do", "[restrictions]") {
  using Call = GuardedCall;
  RestrictionFacts facts{.filtered = false, .root = true, .has_capability = true, .lockdown = ""};
  CHECK(restriction(Call::perf_event_open, facts).empty());

  facts.filtered = true;
  for (const Call call : {Call::perf_event_open, Call::ptrace, Call::process_vm_readv, Call::bpf}) {
    CHECK_THAT(restriction(call, facts), Contains("seccomp filter forbids"));
    CHECK_THAT(restriction(call, facts), !Contains("as root"));
  }
  facts.filtered = false;

  facts.first_user_namespace = false;
  CHECK_THAT(restriction(Call::perf_event_open, facts), Contains("this user namespace"));
  CHECK_THAT(restriction(Call::bpf, facts), Contains("this user namespace"));
  CHECK_THAT(restriction(Call::bpf, facts), !Contains("paranoid"));  // it does not count for BPF
  CHECK(restriction(Call::ptrace, facts).empty());  // its capabilities count for its processes
  facts.has_capability = false;
  CHECK(restriction(Call::perf_event_open, facts).empty());  // an ordinary user's rights decide
  facts.first_user_namespace = true;

  CHECK_THAT(restriction(Call::perf_event_open, facts), Contains("--cap-add PERFMON"));
  CHECK_THAT(restriction(Call::bpf, facts), Contains("--cap-add BPF"));
  CHECK_THAT(restriction(Call::process_vm_readv, facts), Contains("--cap-add SYS_PTRACE"));
  facts.root = false;
  CHECK(restriction(Call::perf_event_open, facts).empty());

  facts = {.filtered = false,
           .root = true,
           .has_capability = true,
           .lockdown = "none integrity [confidentiality]\n"};
  CHECK_THAT(restriction(Call::perf_event_open, facts), Contains("locked down"));
  facts.lockdown = "[none] integrity confidentiality\n";
  CHECK(restriction(Call::perf_event_open, facts).empty());
}

}  // namespace causalctl
