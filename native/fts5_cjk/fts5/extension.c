/* SPDX-License-Identifier: MIT
**
** extension.c: the loadable extension. Registers, on one connection:
**
**   tokenizers      cjk_unicode61, word_trigram (tokenizer.c)
**   FTS5 function   recall_rank (rank.c)
**   SQL functions   fts5_cjk_version() -> TEXT, the version of this build
**                   fts5_cjk_debug() -> TEXT, a JSON object: version, rules_version,
**                   unicode_version, sqlite_built, sqlite_running, compiler
**
** Works with SQLite 3.40 and newer that has FTS5; uses version 1 of FTS5's tokenizer
** interface, which every such SQLite has.
**
** Exports its entry points and nothing else. SQLite derives the first name from the
** file name libfts5_cjk.so; the second is what it tries when asked for none.
*/
#include "fts5/extension.h"
#include "fts5/rank.h"
#include "text/core.h"

SQLITE_EXTENSION_INIT1

#ifndef MNEMOGRAM_VERSION
#error "MNEMOGRAM_VERSION is set by the build"
#endif

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)
#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#elif defined(_MSC_VER)
#define COMPILER "msvc " TEXT_OF(_MSC_VER)
#else
#define COMPILER "unknown"
#endif

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

static void version_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  (void)argv;
  sqlite3_result_text(context, MNEMOGRAM_VERSION, -1, SQLITE_STATIC);
}

static void debug_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  char *text = sqlite3_mprintf(
      "{\"version\":\"%s\",\"rules_version\":%d,\"unicode_version\":\"%s\","
      "\"sqlite_built\":\"%s\",\"sqlite_running\":\"%s\",\"compiler\":\"%s\"}",
      MNEMOGRAM_VERSION, TC_RULES_VERSION, tc_unicode_version(), SQLITE_VERSION,
      sqlite3_libversion(), COMPILER);
  (void)argc;
  (void)argv;
  if (!text) {
    sqlite3_result_error_nomem(context);
    return;
  }
  sqlite3_result_text(context, text, -1, sqlite3_free);
}

/* FTS5 hands its interface out through a SQL function; *api stays NULL without FTS5. */
static int get_fts5_api(sqlite3 *db, fts5_api **api) {
  sqlite3_stmt *statement = NULL;
  int rc;
  *api = NULL;
  rc = sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &statement, NULL);
  if (rc == SQLITE_ERROR) return SQLITE_OK; /* no such function */
  if (rc != SQLITE_OK) return rc;
  rc = sqlite3_bind_pointer(statement, 1, (void *)api, "fts5_api_ptr", NULL);
  if (rc == SQLITE_OK) sqlite3_step(statement);
  {
    int rc2 = sqlite3_finalize(statement);
    return rc == SQLITE_OK ? rc2 : rc;
  }
}

static int register_all(sqlite3 *db, char **error) {
  const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  fts5_api *api;
  int rc = get_fts5_api(db, &api);
  if (rc != SQLITE_OK) return rc;
  if (!api) {
    *error = sqlite3_mprintf("fts5_cjk: this SQLite (%s) was built without FTS5",
                             sqlite3_libversion());
    return SQLITE_ERROR;
  }
  rc = sqlite3_create_function_v2(db, "fts5_cjk_version", 0, flags, NULL, version_function, NULL,
                                  NULL, NULL);
  if (rc == SQLITE_OK) {
    rc = sqlite3_create_function_v2(db, "fts5_cjk_debug", 0, flags, NULL, debug_function, NULL,
                                    NULL, NULL);
  }
  if (rc == SQLITE_OK) rc = fts5_cjk_register_tokenizers(api);
  if (rc == SQLITE_OK) rc = rank_register(api);
  /* Never unloaded: a host may still hold a tokenizer of it when its connection is gone. */
  if (rc == SQLITE_OK) rc = SQLITE_OK_LOAD_PERMANENTLY;
  return rc;
}

EXPORT int sqlite3_ftscjk_init(sqlite3 *db, char **error, const sqlite3_api_routines *routines) {
  SQLITE_EXTENSION_INIT2(routines);
  return register_all(db, error);
}

EXPORT int sqlite3_extension_init(sqlite3 *db, char **error,
                                  const sqlite3_api_routines *routines) {
  SQLITE_EXTENSION_INIT2(routines);
  return register_all(db, error);
}
