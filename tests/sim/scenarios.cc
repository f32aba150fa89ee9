#include "tests/sim/scenarios.h"

#include <fmt/format.h>

#include <memory>

#include "tests/sim/programs.h"

namespace causalctl::sim {
namespace {

void add_serial(std::vector<Scenario>& all) {
  all.push_back({"serial", "chain 3/7", serial_chain(3, 7), {1, 2}});
  all.push_back({"serial", "chain 0.03/0.07", serial_chain(0.03, 0.07), {1}});
}

void add_barriers(std::vector<Scenario>& all) {
  for (const double ms : {2.0, 5.0, 12.0, 25.0, 90.0}) {
    all.push_back({"barrier",
                   fmt::format("pair {:g}/{:g}", ms, 0.955 * ms),
                   barrier({ms, 0.955 * ms}),
                   {1, 2}});
  }
  all.push_back({"barrier", "three 4/3/2", barrier({4, 3, 2}), {1, 2}});
  all.push_back({"barrier", "four 4/2/2/2", barrier({4, 2, 2, 2}), {1, 2}});
  all.push_back({"barrier", "four 40/20/20/20", barrier({40, 20, 20, 20}), {1, 2}});
}

void add_queues(std::vector<Scenario>& all) {
  all.push_back({"queue", "mutex 2/4", locked_queue(2, 4, 4), {1, 2}});
  all.push_back({"queue", "mutex 0.1/0.2", locked_queue(0.1, 0.2, 4), {1, 2}});
  all.push_back({"queue", "futex 2/4", pipe(2, 4, 4), {1, 2}});
  all.push_back({"queue", "futex 0.1/0.2", pipe(0.1, 0.2, 4), {1, 2}});
  all.push_back({"queue", "futex 20/40", pipe(20, 40, 4), {1, 2}});
  all.push_back({"queue", "pipe of 64 0.1/0.2", pipe(0.1, 0.2, 64), {1, 2}});
}

void add_locks(std::vector<Scenario>& all) {
  all.push_back({"lock", "held 0.2 outside 0.3, 3 threads", contended_lock(0.2, 0.3, 3), {1, 2}});
  all.push_back({"lock", "held 2 outside 3, 3 threads", contended_lock(2, 3, 3), {1, 2}});
  all.push_back({"lock", "held 20 outside 30, 3 threads", contended_lock(20, 30, 3), {1, 2}});
  all.push_back({"lock", "nested 0.1 in 0.1, outside 0.3", nested_locks(0.1, 0.1, 0.3), {1, 2, 3}});
  all.back().beyond = true;
  all.push_back({"lock", "convoy held 0.2 outside 0.3", convoy(0.2, 0.3, 3), {1, 2}});
}

void add_independent(std::vector<Scenario>& all) {
  all.push_back({"decoy", "chain 3/7 and a hot thread", decoy(), {1, 3}});
  all.push_back({"workers", "two", identical_workers(2), {1}, {0.25, 0.5, 0.75}});
  all.push_back({"workers", "four", identical_workers(4), {1}, {0.25, 0.5, 0.75}});
}

void add_oversubscribed(std::vector<Scenario>& all) {
  for (const double held_ms : {0.0, 0.2}) {
    Scenario pool{"pool",
                  fmt::format("8 threads on 2 cores, 1+1, lock {}", held_ms),
                  pool_of(8, 1, 1, held_ms),
                  {1}};
    if (held_ms > 0) pool.units = {1, 3};
    pool.cores = 2;
    pool.oversubscribed = true;
    all.push_back(pool);
  }
}

// Devices wake these threads, not other threads, but they wait for each other's cores.
void add_woken_by_devices(std::vector<Scenario>& all) {
  all.push_back({"devices", "2 threads 2+1, device 3, 1 core", many_waiting(2, 2, 1, 3), {1, 2}});
  all.back().cores = 1;
  all.back().oversubscribed = true;
  all.push_back({"devices", "6 threads 2+1, device 4, 2 cores", many_waiting(6, 2, 1, 4), {1, 2}});
  all.back().cores = 2;
  all.back().oversubscribed = true;
}

// Some cores are idle now and then, although threads queue for others. The work varies, because
// with constant work such threads fall into a pattern that every disturbance changes.
void add_queues_beside_idle_cores(std::vector<Scenario>& all) {
  struct Queue {
    unsigned threads, cores;
    double device_ms;
  };
  for (const Queue& queue : {Queue{3, 2, 4}, Queue{4, 2, 4}, Queue{5, 2, 4}, Queue{6, 2, 8},
                             Queue{8, 2, 12}, Queue{20, 8, 8}, Queue{24, 8, 8}, Queue{40, 8, 16}}) {
    all.push_back({"spare",
                   fmt::format("{} threads 2+1, device {}, {} cores", queue.threads,
                               queue.device_ms, queue.cores),
                   many_waiting(queue.threads, 2, 1, queue.device_ms),
                   {1},
                   {0.5}});
    all.back().cores = queue.cores;
    all.back().spread = 0.5;
    all.back().oversubscribed = true;
  }
}

// The program is that of tests/truth/programs.py; nearly all of its work is the unit.
void add_pool_of_truth(std::vector<Scenario>& all) {
  Scenario pool{"pool", "8 threads on 2 cores, 0.5, lock 0.02", pool_of(8, 0.5, 0, 0.02), {1, 3}};
  pool.cores = 2;
  pool.oversubscribed = true;
  all.push_back(pool);
}

void add_outside(std::vector<Scenario>& all) {
  all.push_back({"io", "one thread 2, device 3, 1", io_wait(2, 3, 1), {1}});
  all.push_back({"io", "a barrier of 2 + device 3 and 4", io_barrier(2, 3, 4), {1, 2}});
  all.push_back({"io", "one device of 2, 3 threads of 1", device_bound(1, 2, 3), {1}});
  all.back().beyond = true;
  all.push_back({"requests", "every 5, work 1.5+1", requests(5, 1.5, 1), {1}});
  all.push_back({"requests", "every 2, work 1.5+1", requests(2, 1.5, 1), {1}});
  all.back().beyond = true;
  for (const unsigned workers : {2U, 4U, 16U}) {
    for (const double busy : {0.3, 0.5, 0.7}) {
      all.push_back({"requests",
                     fmt::format("{} workers, cores busy {}", workers, busy),
                     requests_of_pool(workers, 1 / (2 * busy), 1),
                     {1},
                     {0.5, 0.75}});
      all.back().cores = 2;
    }
  }
  for (const double busy : {0.3, 0.5, 0.7}) {
    all.push_back({"requests",
                   fmt::format("8 at once, 16 workers, cores busy {}", busy),
                   requests_of_pool(16, 1 / (2 * busy), 1, 8),
                   {1},
                   {0.5, 0.75}});
    all.back().cores = 2;
    all.back().oversubscribed = true;
  }
}

Scenario beside_clients(std::string name, const Service& options, unsigned cores) {
  Scenario scenario{"service", std::move(name), service(options), {1}};
  scenario.cores = cores;
  scenario.oversubscribed = options.workers + options.clients > cores;
  return scenario;
}

// A server and its load generator, on the same machine or on another one.
void add_services(std::vector<Scenario>& all) {
  const Service near{2, 0.016, 0.004, 8, 0.01, 0};
  all.push_back(beside_clients("2 workers 16+4 us, 8 clients beside it", near, 2));
  all.push_back(beside_clients("2 workers 16+4 us, 8 clients on other cores", near, 16));
  Service kept = near;
  kept.housekeeping_ms = 0.02;
  all.push_back(beside_clients("… and housekeeping, beside it", kept, 2));
  kept.locked = true;
  all.push_back(beside_clients("… and locked housekeeping, beside it", kept, 2));
  all.push_back(beside_clients("… and locked housekeeping, on other cores", kept, 16));
  all.back().beyond = true;  // a lock that becomes the bottleneck
  const Service slow{2, 1.6, 0.4, 8, 1, 0};
  all.push_back(beside_clients("2 workers 1.6+0.4, 8 clients of 1 beside it", slow, 2));
  const Service far{2, 0.16, 0.04, 8, 0, 0.5};
  all.push_back({"service", "2 workers .16+.04, 8 clients 0.5 away", service(far), {1}});
  all.back().beyond = true;
  const Service idle{2, 0.16, 0.04, 2, 0, 0.5};
  all.push_back({"service", "2 workers .16+.04, 2 clients 0.5 away", service(idle), {1}});
}

// There are as many clients as workers. Each waits for its partner, and both wait for a core.
void add_services_of_pairs(std::vector<Scenario>& all) {
  const auto add = [&all](const Service& each, unsigned cores) {
    const std::string after = each.after_ms > 0 ? fmt::format(", {:g} after", each.after_ms) : "";
    all.push_back(beside_clients(
        fmt::format("{} workers {:g}+{:g}{}, a client of {:g} each, {} cores", each.workers,
                    each.first_ms, each.second_ms, after, each.client_ms, cores),
        each, cores));
  };
  for (const double scale : {0.001, 0.01, 0.1}) {
    Service pairs{4, 16 * scale, 4 * scale, 4, 20 * scale, 0};
    for (const unsigned cores : {1U, 2U, 4U, 8U}) add(pairs, cores);
    pairs.client_ms = 5 * scale;
    add(pairs, 2);
    pairs = {16, 16 * scale, 4 * scale, 16, 20 * scale, 0};
    add(pairs, 2);
    pairs = {4, 8 * scale, 4 * scale, 4, 20 * scale, 0};
    pairs.after_ms = 8 * scale;
    for (const unsigned cores : {1U, 2U, 4U}) add(pairs, cores);
  }
}

void add_without_wakes(std::vector<Scenario>& all) {
  all.push_back({"spin", "5 against 3", spinning(5, 3), {1, 2}});
  all.push_back({"spin", "5 against 4.775", spinning(5, 4.775), {1, 2}});
  Scenario stocked{"stock", "queue of 8, 2/1.9, spread 50 %", pipe(2, 1.9, 8), {1, 2}};
  stocked.spread = 0.5;
  all.push_back(stocked);
  stocked.name = "queue of 8, 20/19, spread 50 %";
  stocked.program = pipe(20, 19, 8);
  all.push_back(stocked);
  Scenario polled{"stock", "polled, 3/1", polled_queue(3, 1), {1, 2}};
  polled.speedups = {0.5};
  all.push_back(polled);
}

void add_many(std::vector<Scenario>& all) {
  all.push_back(
      {"spawn", "a thread a request, 0.5/2, 4 at once", thread_per_request(0.5, 2, 4), {1, 2}});
  all.back().beyond = true;
  all.push_back(
      {"newborn", "a new thread that waits for its work, 10/10", new_worker_waits(10, 10), {1, 2}});
  std::vector<double> each_ms(64, 4.0);
  each_ms[0] = 5;
  Scenario wide{"many", "barrier of 64, 5 and 63 of 4", barrier(each_ms), {1}};
  wide.cores = 64;
  wide.duration_ns = 20 * kSecond;
  all.push_back(wide);
  Scenario waiting{"many", "1000 threads 1+1, device 38, 128 cores", many_waiting(1000, 1, 1, 38)};
  waiting.cores = 128;
  waiting.duration_ns = 10 * kSecond;
  all.push_back(waiting);
  // They all start at once and stay together: eight for each core, every 54 ms.
  waiting.family = "bunch";
  waiting.program = many_in_a_bunch(1000, 1, 1, 38);
  waiting.oversubscribed = true;
  all.push_back(waiting);
}

// The same families in other sizes, with other numbers of threads and cores.
void add_sizes(std::vector<Scenario>& all) {
  const auto add = [&all](Scenario scenario, unsigned cores) {
    scenario.cores = cores;
    all.push_back(std::move(scenario));
  };
  add({"serial", "chain 30/70, 1 core", serial_chain(30, 70), {1, 2}}, 1);
  add({"workers", "16 on 16 cores", identical_workers(16), {1}, {0.25, 0.5, 0.75}}, 16);
  for (const unsigned threads : {8U, 32U}) {
    std::vector<double> each_ms(threads, 6.0);
    each_ms[0] = 8;
    add({"barrier", fmt::format("{} threads, 8 and 6 each", threads), barrier(each_ms), {1, 2}},
        threads);
  }
  add({"queue", "futex 0.5/1, of 16", pipe(0.5, 1, 16), {1, 2}}, 2);
  add({"queue", "futex 8/16, of 2", pipe(8, 16, 2), {1, 2}}, 2);
  add({"queue", "mutex 1/2, of 16", locked_queue(1, 2, 16), {1, 2}}, 8);
  for (const unsigned threads : {2U, 8U, 16U}) {
    add({"lock",
         fmt::format("held 2 outside 3, {} threads", threads),
         contended_lock(2, 3, threads),
         {1, 2}},
        threads);
    all.back().beyond = threads == 2;  // outside: then the lock is the bottleneck
  }
  add({"io", "one thread 0.2, device 0.3, 0.1", io_wait(0.2, 0.3, 0.1), {1}}, 1);
  add({"io", "one thread 20, device 30, 10", io_wait(20, 30, 10), {1}}, 2);
  add({"spin", "1 against 0.6", spinning(1, 0.6), {1, 2}}, 2);
  add({"spin", "20 against 12", spinning(20, 12), {1, 2}}, 2);
}

void add_pools(std::vector<Scenario>& all) {
  struct Size {
    unsigned threads, cores;
  };
  for (const auto& [threads, cores] :
       {Size{2, 1}, Size{8, 1}, Size{3, 2}, Size{16, 4}, Size{64, 16}}) {
    Scenario pool{"pool",
                  fmt::format("{} threads on {} cores, 1+1", threads, cores),
                  pool_of(threads, 1, 1, 0),
                  {1}};
    pool.cores = cores;
    pool.oversubscribed = true;
    all.push_back(std::move(pool));
  }
}

}  // namespace

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  add_serial(all);
  add_barriers(all);
  add_queues(all);
  add_locks(all);
  add_independent(all);
  add_oversubscribed(all);
  add_pool_of_truth(all);
  add_woken_by_devices(all);
  add_queues_beside_idle_cores(all);
  add_outside(all);
  add_services(all);
  add_services_of_pairs(all);
  add_without_wakes(all);
  add_many(all);
  add_sizes(all);
  add_pools(all);
  return all;
}

}  // namespace causalctl::sim
