/* SPDX-License-Identifier: MIT
**
** measure.c: a loadable extension that times FTS5 tokenizers inside the SQLite that
** loads it.
**
**   tokenizer_time(name, args, text, seconds) -> TEXT
**
** args are divided by U+001F. Tokenizes the text as a document, again and again until
** that many seconds have passed, with a callback that only counts. Returns
** "best nanoseconds of one pass, passes, tokens of one pass, bytes of one pass".
*/
#include <sqlite3ext.h>
#include <string.h>
#include <time.h>

SQLITE_EXTENSION_INIT1

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct counter {
  long tokens, bytes;
} counter;

static int count(void *context, int flags, const char *token, int ntoken, int start, int end) {
  counter *c = context;
  (void)flags;
  (void)token;
  (void)start;
  (void)end;
  c->tokens++;
  c->bytes += ntoken;
  return SQLITE_OK;
}

static fts5_api *get_api(sqlite3 *db) {
  fts5_api *api = NULL;
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &statement, NULL) == SQLITE_OK) {
    sqlite3_bind_pointer(statement, 1, (void *)&api, "fts5_api_ptr", NULL);
    sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return api;
}

static void tokenizer_time(sqlite3_context *context, int argc, sqlite3_value **argv) {
  fts5_api *api = get_api(sqlite3_context_db_handle(context));
  const char *name = (const char *)sqlite3_value_text(argv[0]);
  char *args = sqlite3_mprintf("%s", sqlite3_value_text(argv[1]));
  const char *text = (const char *)sqlite3_value_blob(argv[2]);
  int n = sqlite3_value_bytes(argv[2]);
  double budget = sqlite3_value_double(argv[3]) * 1e9;
  const char *list[32];
  int nargs = 0;
  fts5_tokenizer methods;
  Fts5Tokenizer *tokenizer = NULL;
  void *user = NULL;
  (void)argc;
  if (args && *args) {
    char *z = args;
    list[nargs++] = z;
    while ((z = strchr(z, '\x1f')) != NULL && nargs < 32) {
      *z++ = 0;
      list[nargs++] = z;
    }
  }
  if (!api || api->xFindTokenizer(api, name, &user, &methods) != SQLITE_OK ||
      methods.xCreate(user, list, nargs, &tokenizer) != SQLITE_OK) {
    sqlite3_result_error(context, "no such tokenizer, or bad arguments", -1);
  } else {
    double begin = now(), best = 0;
    long passes = 0;
    counter c = {0, 0};
    int rc = SQLITE_OK;
    do {
      double start = now(), took;
      c.tokens = c.bytes = 0;
      rc = methods.xTokenize(tokenizer, &c, FTS5_TOKENIZE_DOCUMENT, text, n, count);
      took = now() - start;
      if (passes == 0 || took < best) best = took;
      passes++;
    } while (rc == SQLITE_OK && now() - begin < budget);
    methods.xDelete(tokenizer);
    if (rc != SQLITE_OK) {
      sqlite3_result_error_code(context, rc);
    } else {
      char *z = sqlite3_mprintf("%.0f,%ld,%ld,%ld", best, passes, c.tokens, c.bytes);
      sqlite3_result_text(context, z, -1, sqlite3_free);
    }
  }
  sqlite3_free(args);
}

__attribute__((visibility("default"))) int sqlite3_extension_init(
    sqlite3 *db, char **error, const sqlite3_api_routines *routines) {
  (void)error;
  SQLITE_EXTENSION_INIT2(routines);
  return sqlite3_create_function_v2(db, "tokenizer_time", 4, SQLITE_UTF8, NULL, tokenizer_time,
                                    NULL, NULL, NULL);
}
