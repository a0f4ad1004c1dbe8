/* SPDX-License-Identifier: MIT
**
** fuzz_tokenize.c: libFuzzer target for the text core. The first byte chooses the
** arguments, the rest is the text. For every token, whatever the bytes:
**
**   - the span lies in the text, begins and ends at a character, and neither starts
**     nor ends go back;
**   - cutting the source slice, and cutting the token, as queries gives that token alone.
*/
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

typedef struct state {
  const tc_config *config;
  const char *text;
  int n;
  int last_start, last_end;
} state;

typedef struct single {
  const char *token;
  int ntoken;
  int count;
} single;

static int compare(void *context, int flags, const char *token, int ntoken, int start, int end) {
  single *s = context;
  (void)flags;
  (void)start;
  (void)end;
  s->count++;
  require(ntoken == s->ntoken && (ntoken == 0 || memcmp(token, s->token, (size_t)ntoken) == 0),
          "a slice and its token are cut alike");
  return TC_OK;
}

static void cut_again(const state *st, const char *text, int n, const char *token, int ntoken) {
  single s = {token, ntoken, 0};
  require(tc_tokenize(st->config, TC_QUERY, text, n, &s, compare) == TC_OK, "no error");
  require(s.count == 1, "one token comes back");
}

static int inspect(void *context, int flags, const char *token, int ntoken, int start, int end) {
  state *st = context;
  (void)flags;
  require(0 <= start && start < end && end <= st->n, "the span lies in the text");
  require(start >= st->last_start && end >= st->last_end, "spans go forward");
  require((st->text[start] & 0xC0) != 0x80, "the span begins at a character");
  require(end == st->n || (st->text[end] & 0xC0) != 0x80 || (st->text[end - 1] & 0x80) == 0 ||
              (st->text[end - 1] & 0xC0) == 0x80,
          "the span ends at a character");
  st->last_start = start;
  st->last_end = end;
  cut_again(st, st->text + start, end - start, token, ntoken);
  if (ntoken) cut_again(st, token, ntoken, token, ntoken);
  return TC_OK;
}

static int within(void *context, int flags, const char *token, int ntoken, int start, int end) {
  const state *st = context;
  (void)flags;
  require(0 <= start && start < end && end <= st->n, "the span lies in the text");
  require(ntoken >= 3 && token[0] != 0, "a trigram has three characters");
  return TC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char *const arguments[][4] = {
      {"remove_diacritics", "1", "variants", "0"},
      {"remove_diacritics", "2", "variants", "1"},
      {"remove_diacritics", "0", "variants", "1"},
      {"remove_diacritics", "1", "compat", "1"},
  };
  state st = {NULL, NULL, 0, 0, 0};
  static tc_config *configs[4]; /* made once: making one costs more than a short text */
  tc_config **config;
  const char *error;
  char *text;
  int mode;
  if (n == 0 || n > 1 << 20) return 0;
  config = &configs[data[0] & 3];
  if (!*config) {
    require(tc_config_new(arguments[data[0] & 3], 4, config, &error) == TC_OK, "good arguments");
  }
  st.config = *config;
  st.n = (int)(n - 1);
  text = malloc(n);
  if (n > 1) memcpy(text, data + 1, n - 1);
  st.text = text;
  for (mode = TC_DOCUMENT; mode <= TC_UNITS; mode++) {
    st.last_start = st.last_end = 0;
    require(tc_tokenize(*config, mode, text, st.n, &st, inspect) == TC_OK, "no error");
  }
  require(tc_trigrams(*config, 0, text, st.n, &st, within) == TC_OK, "no error");
  free(text);
  return 0;
}
