// A load of searches with SQLite: each thread looks for a word in the texts of its own database, in
// memory, again and again. Most of its time goes into SQLite's instr(). Built by
// scripts/targets/build-sqlite. `rounds N` counts searches, each through all texts.
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

static double threads = 2;
static _Atomic uint64_t wrong_answers;

enum { kBatch = 20 };

// Once in kBatch searches: a progress point that costs the target nothing to speak of.
static NOINLINE void batch_done(void) { __asm__ volatile(""); }

// 1,000 texts, one of which holds the word.
static const char* const kFill =
    "CREATE TABLE texts (body TEXT);"
    "WITH RECURSIVE counter (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter WHERE n < 1000) "
    "INSERT INTO texts SELECT n || ' reports of nights in new towns, none of them known here; ' || "
    "CASE n WHEN 500 THEN 'a needle' ELSE 'nothing new' END FROM counter;";
static const char* const kSearch = "SELECT count(*) FROM texts WHERE instr(body, 'needle')";

static void* search(void* unused) {
  sqlite3* database = NULL;
  sqlite3_stmt* statement = NULL;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
      sqlite3_exec(database, kFill, NULL, NULL, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(database, kSearch, -1, &statement, NULL) != SQLITE_OK) {
    die(sqlite3_errmsg(database));
  }
  for (uint64_t done = 1; !stopping(); done++) {
    if (sqlite3_step(statement) != SQLITE_ROW || sqlite3_column_int(statement, 0) != 1) {
      atomic_fetch_add(&wrong_answers, 1);
    }
    sqlite3_reset(statement);
    count_round();
    if (done % kBatch == 0) batch_done();
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {{"--threads", &threads, NULL, "threads that search (2)"},
                                   {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "threads that search texts with SQLite; point: batch_done", own);
  ready();
  pthread_t* workers = start_workers((size_t)threads, search);
  wait_for_end();
  join_workers(workers, (size_t)threads);
  printf("wrong_answers %llu\n", (unsigned long long)wrong_answers);
  return finish();
}
