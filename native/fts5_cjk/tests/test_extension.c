/* SPDX-License-Identifier: MIT
**
** test_extension.c: the built library inside the system's SQLite, from C.
*/
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "text/core.h"

/* The first column of the first row as text, owned by the caller; NULL without a row. */
static char *ask(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  char *answer = NULL;
  CHECK(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
  if (sqlite3_step(statement) == SQLITE_ROW) {
    answer = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
  }
  CHECK(sqlite3_finalize(statement) == SQLITE_OK);
  return answer;
}

static void expect(sqlite3 *db, const char *sql, const char *wanted) {
  char *got = ask(db, sql);
  if (!got || strcmp(got, wanted) != 0) {
    check_failures++;
    fprintf(stderr, "%s\nwanted %s\ngot    %s\n", sql, wanted, got ? got : "nothing");
  }
  sqlite3_free(got);
}

static sqlite3 *open_with_extension(const char *entry) {
  sqlite3 *db = NULL;
  char *error = NULL;
  CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
  CHECK(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) == SQLITE_OK);
  CHECK(sqlite3_load_extension(db, EXTENSION, entry, &error) == SQLITE_OK);
  if (error) fprintf(stderr, "%s\n", error);
  sqlite3_free(error);
  return db;
}

static void functions(sqlite3 *db) {
  char *debug = ask(db, "SELECT fts5_cjk_debug()");
  expect(db, "SELECT json_extract(fts5_cjk_debug(), '$.version') = fts5_cjk_version()", "1");
  expect(db, "SELECT json_extract(fts5_cjk_debug(), '$.sqlite_running') = sqlite_version()", "1");
  CHECK(debug && strstr(debug, "\"rules_version\":") != NULL);
  sqlite3_free(debug);
  expect(db, "SELECT count(*) > 0 FROM pragma_function_list WHERE name = 'fts5_cjk_debug' "
             "AND flags & 0x200000", "1"); /* innocuous */
}

static void searching(sqlite3 *db) {
  CHECK(sqlite3_exec(db,
                     "CREATE VIRTUAL TABLE t USING fts5(x, tokenize='cjk_unicode61 variants 1');"
                     "INSERT INTO t VALUES ('电影订阅成功'), ('今天下雨了'), ('臺灣大學 cacheA');"
                     "CREATE VIRTUAL TABLE g USING fts5(x, tokenize='word_trigram');"
                     "INSERT INTO g VALUES ('job_renewal 牙医'), ('other');",
                     NULL, NULL, NULL) == SQLITE_OK);
  expect(db, "SELECT rowid FROM t('订阅')", "1");
  expect(db, "SELECT rowid FROM t('雨*')", "2");
  expect(db, "SELECT rowid FROM t('了*')", "2");
  expect(db, "SELECT rowid FROM t('台湾大学')", "3");
  expect(db, "SELECT rowid FROM t('cachea')", "3");
  expect(db, "SELECT count(*) FROM t('影阅')", "0");
  expect(db, "SELECT highlight(t, 0, '[', ']') FROM t('大学')", "臺灣[大學] cacheA");
  expect(db, "SELECT rowid FROM g('newal')", "1");
  expect(db, "SELECT count(*) FROM g('牙医')", "0");
  CHECK(sqlite3_exec(db, "INSERT INTO t(t) VALUES ('integrity-check')", NULL, NULL, NULL) ==
        SQLITE_OK);
}

static void bad_arguments(sqlite3 *db) {
  static const char *const rows[] = {"cjk_unicode61 variants", "cjk_unicode61 variants 7",
                                     "cjk_unicode61 nonsense 1", "word_trigram compat x"};
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE bad USING fts5(x, tokenize='%s')", rows[i]);
    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_ERROR);
    sqlite3_free(sql);
  }
}

int main(void) {
  static const char *const entries[] = {NULL, "sqlite3_ftscjk_init", "sqlite3_extension_init"};
  size_t i;
  for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
    sqlite3 *db = open_with_extension(entries[i]);
    functions(db);
    searching(db);
    bad_arguments(db);
    CHECK(sqlite3_close(db) == SQLITE_OK);
  }
  return CHECK_RESULT();
}
