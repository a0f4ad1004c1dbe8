/* SPDX-License-Identifier: MIT
**
** tokenizer.c: the text core as FTS5 tokenizers.
**
**   cjk_unicode61   the tokens of tc_tokenize(); queries are cut without tails
**   word_trigram    the trigrams of tc_trigrams(), alike in documents and queries
**
** Both take the same arguments, those of tc_config_new(). FTS5 gives a tokenizer no
** way to say what is wrong with them, so a bad argument is a bare SQLITE_ERROR.
**
** Text given by an auxiliary function (highlight, snippet) is cut as a document,
** so that positions agree with the index.
*/
#include "fts5/extension.h"
#include "text/core.h"

SQLITE_EXTENSION_INIT3

/* FTS5 knows one of our flags, and the numbers are the same. */
_Static_assert(TC_COLOCATED == FTS5_TOKEN_COLOCATED, "flag numbers differ");
_Static_assert(TC_NOMEM == SQLITE_NOMEM && TC_ERROR == SQLITE_ERROR, "result codes differ");

/* A callback stops the run early, and without an error, by SQLITE_DONE. */
static int finished(int rc) {
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int create(void *unused, const char **args, int nargs, Fts5Tokenizer **out) {
  tc_config *config = NULL;
  const char *error;
  int rc = tc_config_new(args, nargs, &config, &error);
  (void)unused;
  *out = (Fts5Tokenizer *)config;
  return rc;
}

static void destroy(Fts5Tokenizer *tokenizer) {
  tc_config_free((tc_config *)tokenizer);
}

static int tokenize(Fts5Tokenizer *tokenizer, void *context, int flags, const char *text, int n,
                    int (*token)(void *, int, const char *, int, int, int)) {
  int mode = (flags & FTS5_TOKENIZE_QUERY ? TC_QUERY : TC_DOCUMENT) | TC_BARE;
  return finished(tc_tokenize((const tc_config *)tokenizer, mode, text, n, context, token));
}

static int trigrams(Fts5Tokenizer *tokenizer, void *context, int flags, const char *text, int n,
                    int (*token)(void *, int, const char *, int, int, int)) {
  (void)flags;
  return finished(tc_trigrams((const tc_config *)tokenizer, TC_BARE, text, n, context, token));
}

int fts5_cjk_register_tokenizers(fts5_api *api) {
  fts5_tokenizer words = {create, destroy, tokenize};
  fts5_tokenizer parts = {create, destroy, trigrams};
  int rc = api->xCreateTokenizer(api, "cjk_unicode61", NULL, &words, NULL);
  if (rc == SQLITE_OK) rc = api->xCreateTokenizer(api, "word_trigram", NULL, &parts, NULL);
  return rc;
}
