/* SPDX-License-Identifier: MIT
**
** test_memory.c: memory runs out, at every allocation in turn, once and from there on: of the
** matcher, of the grams, and of the whole extension inside SQLite, whose own allocations fail
** as well. Each gives its answer or says that memory ran out, and nothing is left behind.
*/
#include <sqlite3.h>
#include <string.h>

#include "check.h"
#include "text/grams.h"
#include "text/match.h"

#include "failing.h"

enum { NEVER = -1, MOST = 100000 };

static int left = NEVER; /* allocations until one fails */
static int for_good;     /* and all after it */
static int failed, live;

static int may_allocate(void) {
  if (left == NEVER) return 1;
  if (left > 0) {
    left--;
    return 1;
  }
  failed = 1;
  if (!for_good) left = NEVER;
  return 0;
}

void *failing_malloc(size_t n) {
  if (!may_allocate()) return NULL;
  live++;
  return malloc(n);
}

void *failing_calloc(size_t count, size_t n) {
  if (!may_allocate()) return NULL;
  live++;
  return calloc(count, n);
}

void *failing_realloc(void *old, size_t n) {
  if (!may_allocate()) return NULL;
  if (!old) live++;
  return realloc(old, n);
}

void failing_free(void *p) {
  if (p) live--;
  free(p);
}

/* ---------------------------------------------------------------- the core */

static int hits;

static int on_hit(void *context, int phrase, int position, int start, int end) {
  (void)context;
  (void)phrase;
  (void)position;
  (void)start;
  (void)end;
  hits++;
  return TC_OK;
}

static int add_all(tm_set *set) {
  static const tm_token words[] = {{"alpha", 5, TC_WORD}, {"beta", 4, TC_WORD}};
  int i, rc = TC_OK;
  for (i = 0; i < 40 && rc == TC_OK; i++) {
    rc = tm_set_add(set, words + i % 2, 1 + (i + 1) % 2, i % 3 == 0 ? TM_PREFIX : 0);
  }
  return rc;
}

static int matching(const tc_config *config, int mode) {
  enum { N = 40000 };
  static char text[N];
  tm_set *set = NULL;
  int i, rc, length = 0;
  for (i = 0; i + 11 <= N; i += 11) memcpy(text + i, "alpha beta ", 11);
  rc = tm_set_new(config, mode, &set);
  if (rc != TC_OK) {
    CHECK(set == NULL);
    return rc;
  }
  rc = add_all(set);
  if (rc == TC_OK) rc = tm_scan(set, TM_SPANS, text, N, NULL, on_hit, &length, NULL);
  tm_set_free(set);
  return rc;
}

static int counting(const tc_config *config) {
  static const char query[] = "renewal of the amber quays, ครั้งหนึ่ง";
  uint32_t counts[64] = {0};
  tg_set *set = NULL;
  int rc, length = 0;
  rc = tg_set_new(config, 64, &set);
  if (rc != TC_OK) {
    CHECK(set == NULL);
    return rc;
  }
  rc = tg_set_add(set, query, (int)sizeof query - 1);
  if (rc == TC_OK) rc = tg_count(set, query, (int)sizeof query - 1, counts, &length, NULL);
  tg_set_free(set);
  return rc;
}

static int core(void) {
  static const char *const args[] = {"tokenchars", "-é€", "categories", "L* N* Co Mn Mc"};
  tc_config *config = NULL;
  const char *error = NULL;
  int rc = tc_config_new(args, 4, &config, &error);
  if (rc == TC_OK) rc = matching(config, TM_WORDS);
  if (rc == TC_OK) rc = matching(config, TM_SUBSTRING | TM_ADJACENT);
  if (rc == TC_OK) rc = counting(config);
  tc_config_free(config);
  return rc;
}

/* ---------------------------------------------------------------- inside SQLite */

int sqlite3_ftscjk_init(sqlite3 *db, char **error, const void *routines);

static const sqlite3_mem_methods *system_methods;
static sqlite3_mem_methods methods;

static void *sqlite_malloc(int n) {
  return may_allocate() ? system_methods->xMalloc(n) : NULL;
}

static void *sqlite_realloc(void *old, int n) {
  return may_allocate() ? system_methods->xRealloc(old, n) : NULL;
}

static int extension(void) {
  static const char *const steps[] = {
      "CREATE VIRTUAL TABLE t USING fts5(x, y, tokenize='cjk_unicode61 variants 1')",
      "CREATE VIRTUAL TABLE g USING fts5(x, tokenize='word_trigram')",
      "INSERT INTO t VALUES ('电影订阅成功', 'a'), ('臺灣大學 cacheA', 'รถไฟ'), ('ば 🎉 a', 'b')",
      "INSERT INTO g VALUES ('job_renewal 牙医')",
      "SELECT rowid, recall_rank(t, 1.0, 0.5, 1.0, 2.0) FROM t('大学 OR a') ORDER BY 2",
      "SELECT highlight(t, 0, '[', ']'), fts5_cjk_debug() FROM t('cache*')",
      "SELECT rowid FROM g('newal')",
      "INSERT INTO t(t) VALUES ('integrity-check')",
  };
  sqlite3 *db = NULL;
  char *error = NULL;
  size_t i;
  int rc = sqlite3_open(":memory:", &db);
  if (rc == SQLITE_OK) {
    rc = sqlite3_ftscjk_init(db, &error, NULL);
    if (rc == SQLITE_OK_LOAD_PERMANENTLY) rc = SQLITE_OK;
  }
  sqlite3_free(error);
  for (i = 0; rc == SQLITE_OK && i < sizeof steps / sizeof steps[0]; i++) {
    rc = sqlite3_exec(db, steps[i], NULL, NULL, NULL);
  }
  CHECK(sqlite3_close(db) == SQLITE_OK);
  return rc;
}

/* ---------------------------------------------------------------- every allocation */

static void runs_out_of(const char *what, int (*run)(void), int least) {
  int i, again;
  for (again = 0; again < 2; again++) {
    for (i = 0; i < MOST; i++) {
      sqlite3_int64 used = sqlite3_memory_used();
      int rc;
      left = i;
      for_good = again;
      failed = 0;
      rc = run();
      left = NEVER;
      /* What fails once may be tried again, or be a cache that goes without. */
      CHECK(rc == TC_OK || (failed && rc == TC_NOMEM));
      CHECK(live == 0);
      CHECK(sqlite3_memory_used() == used);
      if (check_failures) fprintf(stderr, "%s, allocation %d: %d\n", what, i, rc);
      if (!failed || check_failures) break;
    }
    CHECK(i >= least && i < MOST);
    printf("%s: %d allocations failed, %s\n", what, i, again ? "and all after" : "each once");
  }
}

int main(void) {
  static sqlite3_mem_methods defaults;
  CHECK(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &defaults) == SQLITE_OK);
  system_methods = &defaults;
  methods = defaults;
  methods.xMalloc = sqlite_malloc;
  methods.xRealloc = sqlite_realloc;
  CHECK(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK);
  CHECK(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK); /* every one counts */
  CHECK(sqlite3_initialize() == SQLITE_OK);
  CHECK(core() == TC_OK && hits > 0);
  CHECK(extension() == SQLITE_OK);
  runs_out_of("the core", core, 20);
  runs_out_of("the extension", extension, 500);
  return CHECK_RESULT();
}
