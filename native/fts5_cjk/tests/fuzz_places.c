/* SPDX-License-Identifier: MIT
**
** fuzz_places.c: libFuzzer target for what text_core.c does in pieces. The first byte chooses
** the arguments, the rest is the text. Whatever the bytes:
**
**   - a text that is cut in pieces has the tokens of the whole;
**   - a place in a token is where the slow way finds it, which cuts every beginning of the
**     source anew;
**   - a phrase is found at the same places in pieces, and a pause ends that at once.
*/
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/match.h"
#include "text/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

uint64_t work_done;

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

static int asked, most_asked;

static int ask(void *context) {
  (void)context;
  return asked++ == most_asked ? 99 : TC_OK;
}

static const tc_pause pause_of_tests = {ask, NULL};

/* ---------------------------------------------------------------- pieces */

typedef struct {
  uint64_t hash;
  int count;
} digest;

static void mix(digest *d, int number) {
  d->hash = (d->hash ^ (uint32_t)number) * 1099511628211u;
}

static int digest_token(void *context, int flags, const char *token, int ntoken, int start,
                        int end) {
  digest *d = context;
  mix(d, flags);
  mix(d, start);
  mix(d, end);
  for (int i = 0; i < ntoken; i++) mix(d, token[i]);
  d->count++;
  return TC_OK;
}

static int digest_hit(void *context, int phrase, int position, int start, int end) {
  digest *d = context;
  mix(d, phrase);
  mix(d, position);
  mix(d, start);
  mix(d, end);
  d->count++;
  return TC_OK;
}

static void pieces(const tc_config *config, const char *text, int n) {
  for (int mode = TC_DOCUMENT; mode <= TC_UNITS; mode++) {
    digest whole = {0, 0}, cut = {0, 0};
    most_asked = -1;
    require(tc_tokenize(config, mode, text, n, &whole, digest_token) == TC_OK, "no error");
    require(tc_tokenize_in_pieces(config, mode, text, n, &cut, digest_token, &pause_of_tests) ==
                TC_OK,
            "no error");
    require(whole.hash == cut.hash, "pieces have the tokens of the whole");
  }
}

/* ---------------------------------------------------------------- places */

typedef struct {
  const tc_config *config;
  const char *text;
} source;

typedef struct {
  const char *wanted;
  int nwanted, begins, n;
} measured;

static int measure_token(void *context, int flags, const char *token, int ntoken, int start,
                         int end) {
  measured *m = context;
  (void)flags;
  (void)start;
  (void)end;
  m->n = ntoken;
  m->begins =
      m->wanted && ntoken >= m->nwanted && memcmp(token, m->wanted, (size_t)m->nwanted) == 0;
  return TC_ERROR; /* one is enough */
}

static int measure(const source *s, const char *text, int n) {
  measured m = {NULL, 0, 0, 0};
  (void)tc_tokenize(s->config, TC_QUERY, text, n, &m, measure_token);
  return m.n;
}

static int code_width(const char *text, int n) {
  int width = 1;
  while (width < n && width < 4 && ((uint8_t)text[width] & 0xC0) == 0x80) width++;
  return width;
}

/* Each character is measured behind the first one, since a mark alone is no token. */
static int slow_walk(const source *s, int start, int end, int wanted, int whole) {
  const char *text = s->text + start;
  char pair[8];
  int head = code_width(text, end - start), base, raw = 0, folded = 0;
  memcpy(pair, text, (size_t)head);
  base = measure(s, pair, head);
  while (start + raw < end) {
    int width = code_width(text + raw, end - start - raw), n = base;
    if (raw > 0) {
      memcpy(pair + head, text + raw, (size_t)width);
      n = measure(s, pair, head + width) - base;
    }
    if (n > 0 && (folded >= wanted || (folded + n > wanted && !whole))) break;
    raw += width;
    folded += n > 0 ? n : 0;
  }
  return raw;
}

static int slow_first_end(const source *s, const char *token, int n, int start, int end) {
  measured m = {token, n, 0, 0};
  int at = start;
  while (at < end) {
    at += code_width(s->text + at, end - at);
    (void)tc_tokenize(s->config, TC_QUERY, s->text + start, at - start, &m, measure_token);
    if (m.begins) return at - start;
  }
  return end - start;
}

static int inspect(void *context, int flags, const char *token, int ntoken, int start, int end) {
  const source *s = context;
  int n = end - start;
  most_asked = -1;
  if (ntoken == 0 || ntoken > 48 || n > 96) return TC_OK;
  if (!(flags & (TC_WORD | TC_CLUSTER))) {
    int width = code_width(token, ntoken), found = -1;
    require(tc_first_end(s->config, s->text + start, n, token, width, &found, &pause_of_tests) ==
                TC_OK,
            "no error");
    require(found == slow_first_end(s, token, width, start, end), "the end is the slow one");
    return TC_OK;
  }
  for (int i = 0; i + 3 <= n; i++) {
    /* The slow way knows no composition either. */
    if (memcmp(s->text + start + i, "\u102E", 3) == 0) return TC_OK;
  }
  for (int whole = 0; whole < 2; whole++) {
    tc_walk walk = {0, 0, 0};
    for (int wanted = 0; wanted <= ntoken; wanted++) {
      if (wanted < ntoken && ((uint8_t)token[wanted] & 0xC0) == 0x80) continue;
      if (wanted < (whole ? walk.before + 1 : walk.token)) walk = (tc_walk){0, 0, 0};
      require(tc_walk_on(s->config, flags, s->text + start, n, token, ntoken, wanted, whole, &walk,
                         &pause_of_tests) == TC_OK,
              "no error");
      require(walk.source == slow_walk(s, start, end, wanted, whole), "the place is the slow one");
    }
  }
  return TC_OK;
}

/* ---------------------------------------------------------------- phrases */

typedef struct {
  tm_set *set;
  int left;
} adding;

/* Adds a token, its middle, and what its last character is. */
static int add_token(void *context, int flags, const char *token, int ntoken, int start, int end) {
  adding *a = context;
  tm_token whole = {token, ntoken, flags}, part;
  int from = ntoken / 3;
  (void)start;
  (void)end;
  if (ntoken == 0) return TC_OK;
  while (from > 0 && ((uint8_t)token[from] & 0xC0) == 0x80) from--;
  part = (tm_token){token + from, ntoken - from, flags};
  require(tm_set_add(a->set, &whole, 1, flags & TC_SINGLE ? TM_PREFIX : 0) == TC_OK, "added");
  require(tm_set_add(a->set, &part, 1, TM_PREFIX | TM_INSIDE) == TC_OK, "added");
  return --a->left ? TC_OK : TC_ERROR;
}

static void phrases(const tc_config *config, int mode, const char *text, int n) {
  adding a = {NULL, 6};
  digest whole = {0, 0}, cut = {0, 0}, stopped = {0, 0};
  int length, rc;
  require(tm_set_new(config, mode, &a.set) == TC_OK, "memory");
  (void)tc_tokenize(config, TC_QUERY, text, n, &a, add_token);
  require(tm_scan(a.set, TM_SPANS, text, n, &whole, digest_hit, &length, NULL) == TC_OK, "found");
  most_asked = -1;
  asked = 0;
  rc = tm_scan(a.set, TM_SPANS, text, n, &cut, digest_hit, &length, &pause_of_tests);
  require(rc == TC_OK && whole.hash == cut.hash, "pieces have the phrases of the whole");
  if (asked) {
    most_asked = asked / 2;
    asked = 0;
    rc = tm_scan(a.set, TM_SPANS, text, n, &stopped, digest_hit, &length, &pause_of_tests);
    require(rc == 99 && stopped.count <= whole.count, "a pause ends the scan");
    require(asked == most_asked + 1, "and is not asked again");
  }
  tm_set_free(a.set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char *const arguments[][8] = {
      {"remove_diacritics", "1", "variants", "0"},
      {"remove_diacritics", "2", "variants", "1", "categories", "L* N* Co Mn Mc"},
      {"remove_diacritics", "2", "variants", "1"},
      {"letters", "1", "forms", "1", "invisible", "1", "marks", "1"},
  };
  static const int counts[] = {4, 6, 4, 8};
  static tc_config *configs[4];
  int which = n ? data[0] & 3 : 0;
  const char *error;
  source s;
  char *text;
  if (n == 0 || n > 1 << 16) return 0;
  if (!configs[which]) {
    require(tc_config_new(arguments[which], counts[which], &configs[which], &error) == TC_OK,
            "good arguments");
  }
  text = malloc(n);
  if (n > 1) memcpy(text, data + 1, n - 1);
  pieces(configs[which], text, (int)n - 1);
  s.config = configs[which];
  s.text = text;
  /* The slow way knows no characters that are several. */
  if (which != 3) (void)tc_tokenize(s.config, TC_DOCUMENT, text, (int)n - 1, &s, inspect);
  phrases(s.config, TM_WORDS, text, (int)n - 1);
  phrases(s.config, TM_SUBSTRING, text, (int)n - 1);
  free(text);
  return 0;
}
