/* SPDX-License-Identifier: MIT
**
** test_text_core.c: texts and the tokens they give, through the public interface.
**
** A row's tokens are written one after the other as token@start-end, with "+" for a
** colocated token and "!" for a single unit, divided by spaces.
*/
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "text/core.h"

typedef struct printed {
  char text[4096];
  size_t n;
  int stop_after; /* return 99 from this token on; 0 never */
  int count;
} printed;

static int print(void *context, int flags, const char *token, int ntoken, int start, int end) {
  printed *p = context;
  p->n += (size_t)snprintf(p->text + p->n, sizeof(p->text) - p->n, "%s%.*s@%d-%d%s%s",
                           p->n ? " " : "", ntoken, token, start, end,
                           flags & TC_COLOCATED ? "+" : "", flags & TC_SINGLE ? "!" : "");
  return ++p->count == p->stop_after ? 99 : TC_OK;
}

static tc_config *make(const char *const *args, int nargs) {
  tc_config *config = NULL;
  const char *error = NULL;
  int rc = tc_config_new(args, nargs, &config, &error);
  CHECK(rc == TC_OK);
  CHECK(config != NULL && error == NULL);
  return config;
}

static void expect(const tc_config *config, int mode, const char *text, size_t n,
                   const char *wanted) {
  printed p = {.n = 0};
  /* A copy of exactly that size lets a sanitizer see one byte too many. */
  char *copy = malloc(n ? n : 1);
  memcpy(copy, text, n);
  p.text[0] = 0;
  CHECK(tc_tokenize(config, mode, copy, (int)n, &p, print) == TC_OK);
  if (strcmp(p.text, wanted) != 0) {
    check_failures++;
    fprintf(stderr, "text   %s\nwanted %s\ngot    %s\n", text, wanted, p.text);
  }
  free(copy);
}

static const char *const store[] = {"remove_diacritics", "2", "variants", "1"};

static void documents(void) {
  static const struct {
    const char *text, *tokens;
  } rows[] = {
      {"", ""},
      {" .,\t", ""},
      {"Hello, World", "hello@0-5 world@7-12"},
      {"caf\xC3\xA9 cafe\xCC\x81", "cafe@0-5 cafe@6-12"},
      {"雨", "雨@0-3!"},
      {"牙医复诊", "牙医@0-6 医复@3-9 复诊@6-12 诊@9-12+!"},
      {"把cacheA节点", "把@0-3! cachea@3-9 节点@9-15 点@12-15+!"},
      {"一二、三四", "一二@0-6 二@3-6+! 三四@9-15 四@12-15+!"},
      {"臺灣", "台湾@0-6 湾@3-6+!"},
      {"ｶﾞｽ", "ガス@0-9 ス@6-9+!"},
      {"か\xE3\x82\x99す", "がす@0-9 す@6-9+!"},
      {"ＡＢＣ１", "abc1@0-12"},
      {"\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "한@0-9!"},
      {"⼤学", "大学@0-6 学@3-6+!"},
      {"葛\xF3\xA0\x84\x80城", "葛城@0-10 城@7-10+!"},
      {"Øresund ł", "oresund@0-8 l@9-11"},
      {"ที่นี่", "ที่นี่@0-18 นี่@9-18+!"},
      {"ក្រ", "ក្រ@0-9!"},
      {"a🎉b", "a@0-1 🎉@1-5 b@5-6"},
      {"👍🏽👩‍🚀", "👍@0-8 👩@8-15 🚀@15-19"},
      {"🇯🇵🇰", "🇯🇵@0-8 🇰@8-12"},
      {"ℹ", "ℹ@0-3"},
  };
  size_t i;
  tc_config *config = make(store, 4);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    expect(config, TC_DOCUMENT, rows[i].text, strlen(rows[i].text), rows[i].tokens);
  }
  tc_config_free(config);
}

static void broken_bytes(void) {
  static const struct {
    const char *text;
    size_t n;
    const char *tokens;
  } rows[] = {
      {"a\0b", 3, "a@0-1 b@2-3"},
      {"\xE9\x9B", 2, ""},
      {"雨\xE9\x9B", 5, "雨@0-3!"},
      {"雨\xE9雨", 7, "雨@0-3! 雨@4-7!"},
      {"a\xC0\x80z", 4, "a@0-1 z@3-4"},
      {"\xED\xA0\xBD" "a", 4, "a@3-4"},
      {"\xEF\xBF\xBD" "a", 4, "a@3-4"},
      {"\xF4\x90\x80\x80" "a", 5, "a@4-5"},
      {"\xF0\x9F\x8E", 3, ""},
      {"\xFF\xFE" "a", 3, "a@2-3"},
      {"\x80\x80" "a", 3, "a@2-3"},
  };
  size_t i;
  tc_config *config = make(store, 4);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    expect(config, TC_DOCUMENT, rows[i].text, rows[i].n, rows[i].tokens);
  }
  tc_config_free(config);
}

static void modes(void) {
  static const char *const compat[] = {"compat", "1"};
  tc_config *config = make(store, 4);
  expect(config, TC_QUERY, "牙医", 6, "牙医@0-6");
  expect(config, TC_QUERY, "牙", 3, "牙@0-3!");
  expect(config, TC_UNITS, "ｶﾞa牙医", 13, "ガ@0-6! a@6-7 牙@7-10! 医@10-13!");
  tc_config_free(config);
  config = make(compat, 2);
  expect(config, TC_DOCUMENT, "牙医", 6, "牙医@0-6");
  expect(config, TC_DOCUMENT, "臺灣ＡＢ🎉", 16, "臺灣@0-6 ａｂ@6-12");
  tc_config_free(config);
}

static void trigrams(void) {
  static const struct {
    const char *text, *tokens;
  } rows[] = {
      {"ab 雨雨雨雨", ""},
      {"abc", "abc@0-3"},
      {"ABCD", "abc@0-3 bcd@1-4"},
      {"e\xCC\x81" "cole", "eco@0-5 col@3-6 ole@4-7"},
      {"ＡＢＣ", "abc@0-9"},
      {"job_new1", "job@0-3 new@4-7 ew1@5-8"},
  };
  size_t i;
  tc_config *config = make(store, 4);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    printed p = {.n = 0};
    p.text[0] = 0;
    CHECK(tc_trigrams(config, 0, rows[i].text, (int)strlen(rows[i].text), &p, print) == TC_OK);
    if (strcmp(p.text, rows[i].tokens) != 0) {
      check_failures++;
      fprintf(stderr, "wanted %s\ngot    %s\n", rows[i].tokens, p.text);
    }
  }
  tc_config_free(config);
}

static void callbacks_can_stop(void) {
  static const char text[] = "one two 雨雨雨 ที่นี่ 🎉 three";
  tc_config *config = make(store, 4);
  int i;
  for (i = 1; i <= 9; i++) {
    printed p = {.n = 0, .stop_after = i};
    CHECK(tc_tokenize(config, TC_DOCUMENT, text, (int)strlen(text), &p, print) == 99);
    CHECK(p.count == i);
  }
  CHECK(tc_tokenize(config, TC_DOCUMENT, NULL, 0, NULL, print) == TC_OK);
  CHECK(tc_trigrams(config, 0, NULL, 0, NULL, print) == TC_OK);
  {
    printed p = {.n = 0, .stop_after = 2};
    CHECK(tc_trigrams(config, 0, text, (int)strlen(text), &p, print) == 99);
    CHECK(p.count == 2);
  }
  tc_config_free(config);
}

static int count_flags(void *context, int flags, const char *token, int ntoken, int start, int end) {
  (void)token;
  (void)ntoken;
  (void)start;
  (void)end;
  *(int *)context |= flags;
  return TC_OK;
}

static void bare_flags(void) {
  static const char text[] = "a 雨雨 ที่นี่ 🎉";
  tc_config *config = make(store, 4);
  int flags = 0;
  CHECK(tc_tokenize(config, TC_DOCUMENT, text, (int)strlen(text), &flags, count_flags) == TC_OK);
  CHECK(flags == (TC_COLOCATED | TC_WORD | TC_CJK | TC_CLUSTER | TC_EMOJI | TC_SINGLE));
  flags = 0;
  CHECK(tc_tokenize(config, TC_DOCUMENT | TC_BARE, text, (int)strlen(text), &flags,
                    count_flags) == TC_OK);
  CHECK(flags == TC_COLOCATED);
  tc_config_free(config);
}

static void bad_arguments(void) {
  static const char *const rows[][2] = {
      {"remove_diacritics", "3"}, {"remove_diacritics", ""}, {"remove_diacritics", "1 "},
      {"variants", "2"},          {"compat", "yes"},         {"categories", "Q*"},
      {"categories", "L* Zx"},    {"tokenchar", "x"},        {"", ""},
  };
  size_t i;
  tc_config *config;
  const char *error;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CHECK(tc_config_new(rows[i], 2, &config, &error) == TC_ERROR);
    CHECK(config == NULL && error != NULL && *error);
  }
  CHECK(tc_config_new(store, 3, &config, &error) == TC_ERROR);
  CHECK(config == NULL && error != NULL);
  tc_config_free(NULL);
}

/* One text of n bytes, the pattern again and again, must give this many tokens and the
** sum of the bytes of their spans. */
static int measure(void *context, int flags, const char *token, int ntoken, int start, int end) {
  long long *sums = context;
  (void)flags;
  sums[0]++;
  sums[1] += end - start;
  sums[2] += ntoken + (ntoken ? token[ntoken - 1] == 0 : 0);
  return TC_OK;
}

static void long_runs(void) {
  static const struct {
    const char *pattern;
    int times;
    long long tokens, span, bytes;
  } rows[] = {
      {"x", 1000000, 1, 1000000, 1000000},
      {"Ы", 500000, 1, 1000000, 1000000},
      {"雨", 350000, 350000, 349999LL * 6 + 3, 349999LL * 6 + 3},
      {"\xE0\xB8\xB9", 350000, 1, 1050000, 1050000},
      {"\xE0\xB9\x88\xE0\xB8\xB8", 175000, 1, 1050000, 1050000}, /* out of order */
      {"\xE1\x9F\x92\xE1\x9E\x9A", 175000, 1, 1050000, 1050000}, /* joined for ever */
      {"ก", 350000, 350000, 349999LL * 6 + 3, 349999LL * 6 + 3},
      {"\xEF\xB8\x8F", 350000, 0, 0, 0},
      {"\xFF", 1000000, 0, 0, 0},
      {"🇯", 250000, 125000, 1000000, 1000000},
  };
  size_t i;
  tc_config *config = make(store, 4);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    size_t n = strlen(rows[i].pattern), j;
    long long sums[3] = {0, 0, 0};
    char *text = malloc(n * (size_t)rows[i].times);
    for (j = 0; j < (size_t)rows[i].times; j++) memcpy(text + j * n, rows[i].pattern, n);
    CHECK(tc_tokenize(config, TC_DOCUMENT, text, (int)n * rows[i].times, sums, measure) == TC_OK);
    CHECK(sums[0] == rows[i].tokens);
    CHECK(sums[1] == rows[i].span);
    CHECK(sums[2] == rows[i].bytes);
    free(text);
  }
  tc_config_free(config);
}

int main(void) {
  documents();
  broken_bytes();
  modes();
  trigrams();
  callbacks_can_stop();
  bare_flags();
  bad_arguments();
  long_runs();
  return CHECK_RESULT();
}
