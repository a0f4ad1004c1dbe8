/* SPDX-License-Identifier: MIT
**
** test_linear.c: steps of work for texts of nasty shapes, which must be at most so many for
** each byte, whatever the size.
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "text/grams.h"
#include "text/grapheme.h"
#include "text/match.h"
#include "text/core.h"

uint64_t work_done;

/* More than any shape needs (one character may be four words), and a thousandth of what a
** quadratic one takes. */
enum { STEPS_FOR_A_BYTE = 128, SMALL = 1 << 12, LARGE = 1 << 16 };

static const struct {
  const char *before, *repeated, *after;
} shapes[] = {
    {"は", "\uFE00", "\u3099かき"},
    {"", "は\uFE00\u3099", ""},
    {"か", "\u3099", "き"},
    {"ｶ", "ﾞ", "ｷ"},
    {"葛", "\U000E0100", "城"},
    {"", "\u1100", ""},
    {"", "\u1161", ""},
    {"", "\u11A8", ""},
    {"", "\u1100\u1161\u11A8", ""},
    {"가", "\uFE0F", "\u11A8나"},
    {"", "👩\u200D", ""},
    {"👩", "\u200D", "👩"},
    {"👍", "🏽", ""},
    {"", "🇯", ""},
    {"🏴", "\U000E0067", "\U000E007F"},
    {"1", "\uFE0F\u20E3", ""},
    {"a", "\u0301", "b"},
    {"", "a\u0301", ""},
    {"", "é", "z"},
    {"\u0301", "\u0301", ""},
    {"a", "\u00AD", "b"},
    {"a", "\u200B", "b"},
    {"牙", "\u200B", "医"},
    {"ก", "\u0E38\u0E48", "ข"},
    {"ก", "\u0E48\u0E38", "ข"},
    {"", "ก\u0E48", ""},
    {"က", "\u1039က", ""},
    {"ဥ", "\u1037", "\u102E"},
    {"", "ဥ\u102E", ""},
    {"ក", "\u17D2ក", ""},
    {"", "Ⅷ", ""},
    {"", "㍿", ""},
    {"", "ﷺ", ""},
    {"", "ß", ""},
    {"", "ﬃ", "a"},
    {"", "a", "b"},
    {"", "aaaaaaab", ""},
    {"", "a ", "b"},
    {"", "医", "。"},
    {"", "医 ", ""},
    {"", "\"", ""},
    {"", "(", ")"},
    {"", "a/", ""},
    {"", " OR a", ""},
    {"", "\xFF", ""},
    {"", "\xE4\xB8", ""},
    {"", "\x80", ""},
    {"", "\0a", ""},
};

static char *text_of(size_t shape, int size, int *n) {
  size_t before = strlen(shapes[shape].before), after = strlen(shapes[shape].after);
  size_t each = shapes[shape].repeated[0] ? strlen(shapes[shape].repeated) : 2;
  size_t times = (size_t)size / each;
  char *text = malloc(before + times * each + after + 1), *p = text;
  memcpy(p, shapes[shape].before, before);
  p += before;
  for (size_t i = 0; i < times; i++, p += each) memcpy(p, shapes[shape].repeated, each);
  memcpy(p, shapes[shape].after, after);
  *n = (int)(before + times * each + after);
  return text;
}

static int ignore(void *context, int flags, const char *token, int ntoken, int start, int end) {
  (void)flags;
  (void)token;
  (void)ntoken;
  (void)start;
  (void)end;
  ++*(int *)context;
  return TC_OK;
}

static int ignore_hit(void *context, int phrase, int position, int start, int end) {
  (void)phrase;
  (void)position;
  CHECK(start < end);
  ++*(int *)context;
  return TC_OK;
}

typedef struct {
  tm_set *set;
  int left;
} adding;

/* Of the text's first tokens: the whole, as a prefix its beginning, and what is inside it. */
static int add(void *context, int flags, const char *token, int ntoken, int start, int end) {
  adding *a = context;
  int to = ntoken < 16 ? ntoken : 16, half;
  tm_token one[2] = {{token, 0, flags}, {token, 0, flags}};
  (void)start;
  (void)end;
  while (to < ntoken && ((uint8_t)token[to] & 0xC0) == 0x80) to--;
  for (half = to / 2; half > 0 && ((uint8_t)token[half] & 0xC0) == 0x80; half--) continue;
  one[0].ntext = to;
  CHECK(tm_set_add(a->set, one, 1, TM_PREFIX) == TC_OK);
  one[0] = (tm_token){token + half, to - half, flags};
  CHECK(tm_set_add(a->set, one, 1, TM_PREFIX | TM_INSIDE) == TC_OK);
  one[1] = (tm_token){token, to, flags};
  CHECK(tm_set_add(a->set, one, 2, TM_PREFIX) == TC_OK);
  return --a->left ? TC_OK : 99;
}

static void judge(size_t shape, const char *what, int n, uint64_t before) {
  uint64_t done = work_done - before;
  if (done <= (uint64_t)n * STEPS_FOR_A_BYTE + 4096) return;
  check_failures++;
  fprintf(stderr, "%s: %llu steps for %d bytes of shape %zu (%s%s...)\n", what,
          (unsigned long long)done, n, shape, shapes[shape].before, shapes[shape].repeated);
}

static void cutting(const tc_config *config, size_t shape, const char *text, int n) {
  int count = 0;
  for (int mode = TC_DOCUMENT; mode <= TC_UNITS; mode++) {
    uint64_t before = work_done;
    CHECK(tc_tokenize(config, mode, text, n, &count, ignore) == TC_OK);
    judge(shape, "cutting", n, before);
  }
  {
    uint64_t before = work_done;
    CHECK(tc_trigrams(config, 0, text, n, &count, ignore) == TC_OK);
    judge(shape, "trigrams", n, before);
  }
}

static void matching(const tc_config *config, int mode, size_t shape, const char *text, int n) {
  adding a = {NULL, 2};
  uint64_t before;
  int count = 0;
  CHECK(tm_set_new(config, mode, &a.set) == TC_OK);
  (void)tc_tokenize(config, TC_QUERY, text, n, &a, add);
  before = work_done;
  CHECK(tm_scan(a.set, TM_SPANS, text, n, &count, ignore_hit, NULL, NULL) == TC_OK);
  judge(shape, mode & TM_SUBSTRING ? "matching inside" : "matching", n, before);
  tm_set_free(a.set);
}

static void counting(const tc_config *config, size_t shape, const char *text, int n) {
  tg_set *set = NULL;
  uint32_t counts[16] = {0};
  uint64_t before;
  int length = 0;
  CHECK(tg_set_new(config, 16, &set) == TC_OK);
  CHECK(tg_set_add(set, text, n < 64 ? n : 64) == TC_OK);
  before = work_done;
  CHECK(tg_count(set, text, n, counts, &length, NULL) == TC_OK);
  judge(shape, "counting trigrams", n, before);
  tg_set_free(set);
}

/* A boundary costs so much at most, wherever it is asked for. */
static void boundaries(void) {
  static const uint32_t pairs[][2] = {
      {0x1F469, 0x200D}, {0x1100, 0x1100}, {0x11A8, 0x11A8},  {0x1F1EF, 0x1F1EF},
      {0x301, 0x301},    {0xFE0F, 0xFE0F}, {0xE0067, 0xE0067}, {0x915, 0x94D},
      {0x600, 0x600},    {0x200D, 0x200D}, {'a', 'a'},         {'a', 0x301},
  };
  enum { LENGTH = 1 << 16 };
  uint32_t *codes = malloc(LENGTH * sizeof *codes);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    gr_text text = {codes, LENGTH, 4};
    for (int k = 0; k < LENGTH; k++) codes[k] = pairs[i][k & 1];
    for (ptrdiff_t at = 0; at <= LENGTH; at += 4093) {
      uint64_t before = work_done;
      ptrdiff_t floor = gr_floor(text, at, 0), ceil = gr_ceil(text, at, 0);
      CHECK(work_done - before <= 6 * GR_REACH);
      CHECK(floor <= at && at <= ceil && ceil - floor <= 2 * GR_REACH);
    }
  }
  free(codes);
}

int main(void) {
  static const char *const arguments[] = {
      "remove_diacritics", "2",  "variants", "1", "categories", "L* N* Co Mn Mc",
      "invisible",         "1",  "digits",   "1", "marks",      "1",
      "letters",           "1",  "forms",    "1", "han",        "1",
  };
  static const int given[] = {4, 6, 18};
  for (size_t k = 0; k < sizeof given / sizeof given[0]; k++) {
    tc_config *config = NULL;
    const char *error = NULL;
    CHECK(tc_config_new(arguments, given[k], &config, &error) == TC_OK);
    for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++) {
      for (int size = SMALL; size <= LARGE; size = size == SMALL ? LARGE : LARGE + 1) {
        int n;
        char *text = text_of(shape, size, &n);
        cutting(config, shape, text, n);
        matching(config, TM_WORDS, shape, text, n);
        matching(config, TM_SUBSTRING, shape, text, n);
        counting(config, shape, text, n);
        free(text);
      }
    }
    tc_config_free(config);
  }
  boundaries();
  return CHECK_RESULT();
}
