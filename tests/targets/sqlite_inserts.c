// The load of the Coz paper's §4.2.3: each thread rapidly inserts rows into its own private table.
// Each has a database of its own, in memory unless --directory is given, so in theory all threads
// are independent. Built by scripts/targets/build-sqlite. `rounds N` counts inserted rows.
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

enum { kRowsKept = 100000, kBatch = 1000 };

static double threads = 2;
static const char* directory = NULL;
static _Atomic uint64_t failed_statements;

static NOINLINE void transaction_done(void) { count_round(); }

// Once in kBatch rows: a progress point that costs the target nothing to speak of.
static NOINLINE void batch_done(void) { __asm__ volatile(""); }

static void execute(sqlite3* database, const char* statement) {
  char* message = NULL;
  if (sqlite3_exec(database, statement, NULL, NULL, &message) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", statement, message);
    exit(1);
  }
}

static void* insert_rows(void* argument) {
  char path[4096] = ":memory:";
  if (directory) snprintf(path, sizeof(path), "%s/%zu.db", directory, (size_t)argument);
  sqlite3* database = NULL;
  if (sqlite3_open(path, &database) != SQLITE_OK) die(path);
  execute(database, "PRAGMA synchronous = OFF");
  execute(database, "CREATE TABLE IF NOT EXISTS entries (id INTEGER, name TEXT, value REAL)");
  sqlite3_stmt* insert = NULL;
  const char* text = "INSERT INTO entries VALUES (?, ?, ?)";
  if (sqlite3_prepare_v2(database, text, -1, &insert, NULL) != SQLITE_OK) die(text);
  for (uint64_t row = 0; !stopping(); row++) {
    sqlite3_bind_int64(insert, 1, (sqlite3_int64)row);
    sqlite3_bind_text(insert, 2, "a name of some length", -1, SQLITE_STATIC);
    sqlite3_bind_double(insert, 3, (double)row / 3);
    if (sqlite3_step(insert) != SQLITE_DONE) atomic_fetch_add(&failed_statements, 1);
    sqlite3_reset(insert);
    transaction_done();
    if (row % kBatch == kBatch - 1) batch_done();
    // Memory stays bounded however long the load runs.
    if (row % kRowsKept == kRowsKept - 1) execute(database, "DELETE FROM entries");
  }
  sqlite3_finalize(insert);
  sqlite3_close(database);
  return NULL;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--threads", &threads, NULL, "threads that insert (2)"},
      {"--directory", NULL, &directory, "directory for the databases (none: in memory)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv,
                "threads that insert rows with SQLite; points: batch_done, transaction_done", own);
  const size_t count = (size_t)threads;
  pthread_t* workers = calloc(count, sizeof(*workers));
  if (!workers) die("calloc");
  ready();
  const int64_t start_ns = now_ns();
  for (size_t i = 0; i < count; i++) {
    if (pthread_create(&workers[i], NULL, insert_rows, (void*)i) != 0) die("pthread_create");
  }
  wait_for_end();
  for (size_t i = 0; i < count; i++) pthread_join(workers[i], NULL);
  const double elapsed_s = (double)(now_ns() - start_ns) / 1e9;
  free(workers);
  printf("failed_statements %llu\n", (unsigned long long)failed_statements);
  printf("inserts_per_s %.0f\n", (double)rounds_done() / elapsed_s);
  return finish();
}
