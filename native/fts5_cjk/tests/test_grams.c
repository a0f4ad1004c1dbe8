/* SPDX-License-Identifier: MIT
**
** test_grams.c: what counts as a gram, and that any bytes and any number of them do.
*/
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "text/grams.h"

static tc_config *make(void) {
  static const char *const args[] = {"remove_diacritics", "0", "variants", "1"};
  tc_config *config = NULL;
  const char *error = NULL;
  CHECK(tc_config_new(args, 4, &config, &error) == TC_OK);
  return config;
}

/* How many of the grams of `query` stand in text[0..n), and how many the text has. */
static int standing(const tc_config *config, const char *query, const char *text, int n,
                    int *length) {
  tg_set *set = NULL;
  uint32_t *counts;
  int found = 0;
  /* A copy of exactly that size lets a sanitizer see one byte too many. */
  char *copy = malloc(n ? (size_t)n : 1);
  memcpy(copy, text, (size_t)n);
  *length = 0;
  CHECK(tg_set_new(config, 64, &set) == TC_OK);
  CHECK(tg_set_add(set, query, (int)strlen(query)) == TC_OK);
  counts = calloc((size_t)tg_set_size(set) + 1, sizeof *counts);
  CHECK(tg_count(set, copy, n, counts, length, NULL) == TC_OK);
  for (int i = 0; i < tg_set_size(set); i++) found += (int)counts[i];
  CHECK(counts[tg_set_size(set)] == 0);
  free(counts);
  free(copy);
  tg_set_free(set);
  return found;
}

static void words(const tc_config *config) {
  static const struct {
    const char *query, *text;
    int found, length;
  } rows[] = {
      {"", "cache", 0, 4},
      {"cache", "Cache", 4, 4},         /* <ca cac ach che */
      {"cache", "caches recached", 7, 12},
      {"a", "a ab", 1, 2},              /* <a, not <ab */
      {"ab", "ab abc", 2, 3},           /* <ab twice */
      {"牙医 cache", "牙医 复诊", 0, 0}, /* CJK gives none */
      {"กขคง", "กขคง", 2, 2},           /* a run of clusters has no edge */
      {"กขคง", "กข คง", 0, 2},          /* and is broken by a space */
      {"\xF0\x9F\x8E\x89", "\xF0\x9F\x8E\x89 a", 0, 1},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    int length;
    int n = (int)strlen(rows[i].text);
    int found = standing(config, rows[i].query, rows[i].text, n, &length);
    if (found != rows[i].found || length != rows[i].length) {
      check_failures++;
      fprintf(stderr, "%s in %s: wanted %d of %d, got %d of %d\n", rows[i].query, rows[i].text,
              rows[i].found, rows[i].length, found, length);
    }
  }
}

static void any_bytes(const tc_config *config) {
  char bytes[512];
  int length;
  srand(1);
  for (int round = 0; round < 2000; round++) {
    int n = rand() % (int)sizeof(bytes);
    for (int i = 0; i < n; i++) bytes[i] = (char)(rand() % 4 ? rand() % 256 : 'a' + rand() % 3);
    CHECK(standing(config, "abc aab cca", bytes, n, &length) <= length);
  }
}

static void as_many_as_were_asked_for(const tc_config *config) {
  tg_set *set = NULL;
  uint32_t counts[4] = {0};
  char word[8];
  int length = 0;
  CHECK(tg_set_new(config, 4, &set) == TC_OK);
  for (int i = 0; i < 1000; i++) {
    snprintf(word, sizeof(word), "x%03d", i);
    CHECK(tg_set_add(set, word, 4) == TC_OK);
  }
  CHECK(tg_set_size(set) == 4); /* <x0 x00 000, then 001 */
  CHECK(tg_count(set, "x001", 4, counts, &length, NULL) == TC_OK);
  CHECK(counts[0] == 1 && counts[1] == 1 && counts[2] == 0 && counts[3] == 1 && length == 3);
  tg_set_free(set);
  CHECK(tg_set_new(config, -1, &set) == TC_ERROR && set == NULL);
  tg_set_free(NULL);
}

int main(void) {
  tc_config *config = make();
  words(config);
  any_bytes(config);
  as_many_as_were_asked_for(config);
  tc_config_free(config);
  return CHECK_RESULT();
}
