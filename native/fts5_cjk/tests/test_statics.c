/* SPDX-License-Identifier: MIT
**
** test_statics.c: what text/core.c and text/config.c keep to themselves: decoding and
** encoding, every sequence against a slow decoder; and memory running out, at every
** place in turn.
*/
#include <stdlib.h>
#include <string.h>

static int allocations_left = -1; /* fail when it reaches 0; negative: never */
static int live;

static int may_allocate(void) {
  if (allocations_left == 0) return 0;
  if (allocations_left > 0) allocations_left--;
  return 1;
}

static void *test_malloc(size_t n) {
  if (!may_allocate()) return NULL;
  live++;
  return malloc(n);
}

static void *test_calloc(size_t count, size_t n) {
  if (!may_allocate()) return NULL;
  live++;
  return calloc(count, n);
}

static void *test_realloc(void *old, size_t n) {
  if (!may_allocate()) return NULL;
  if (!old) live++;
  return realloc(old, n);
}

static void test_free(void *p) {
  if (p) live--;
  free(p);
}

#define malloc test_malloc
#define calloc test_calloc
#define realloc test_realloc
#define free test_free
#include "text/config.c"
#include "text/core.c"
#undef malloc
#undef calloc
#undef realloc
#undef free

#include "check.h"

/* Table 3-7 of the Unicode standard, read literally: how many bytes of p[0..n) are the
** longest start of a well-formed sequence, and is that the whole sequence? */
static int well_formed(const uint8_t *p, int n, uint32_t *cp) {
  static const struct {
    uint8_t first_low, first_high, second_low, second_high;
    int length;
  } rows[] = {
      {0x00, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
      {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
      {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (p[0] >= rows[i].first_low && p[0] <= rows[i].first_high) {
      int have = 1;
      if (have < rows[i].length && have < n && p[1] >= rows[i].second_low &&
          p[1] <= rows[i].second_high) {
        have++;
        while (have < rows[i].length && have < n && (p[have] & 0xC0) == 0x80) have++;
      }
      if (have < rows[i].length) return -have;
      *cp = rows[i].length == 1   ? p[0]
            : rows[i].length == 2 ? (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu)
            : rows[i].length == 3 ? (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu)
                                  : (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 |
                                        (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
      return have;
    }
  }
  return -1;
}

static void decoding(void) {
  static const uint8_t edges[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0,
                                  0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF};
  const size_t nedges = sizeof(edges);
  unsigned first;
  size_t i, j, k;
  int n;
  for (first = 0; first < 256; first++) {
    for (i = 0; i < nedges; i++) {
      for (j = 0; j < nedges; j++) {
        for (k = 0; k < nedges; k++) {
          uint8_t p[4] = {(uint8_t)first, edges[i], edges[j], edges[k]};
          for (n = 1; n <= 4; n++) {
            uint32_t cp = 0, wanted = 0;
            int valid = 0;
            int got = decode(p, p + n, &cp, &valid);
            int should = well_formed(p, n, &wanted);
            CHECK(got == abs(should));
            CHECK(valid == (should > 0));
            CHECK(!valid || cp == wanted);
          }
        }
      }
    }
  }
}

static void encoding(void) {
  uint32_t cp;
  for (cp = 0; cp < 0x110000; cp++) {
    char z[4];
    uint32_t back = 0;
    int valid = 0, n;
    if (cp >= 0xD800 && cp < 0xE000) continue;
    n = (int)(encode(z, cp) - z);
    CHECK(n == utf8_length(cp));
    CHECK(decode((const uint8_t *)z, (const uint8_t *)z + n, &back, &valid) == n);
    CHECK(valid && back == cp);
  }
}

static int ignore(void *context, int flags, const char *token, int ntoken, int start, int end) {
  (void)context;
  (void)flags;
  (void)token;
  (void)ntoken;
  (void)start;
  (void)end;
  return TC_OK;
}

/* A word, and a cluster with its marks out of order, that both outgrow the stack. */
static int tokenize_long(const tc_config *config) {
  enum { N = 30000 };
  static char text[N];
  int i, rc;
  for (i = 0; i < N; i++) text[i] = 'x';
  rc = tc_tokenize(config, TC_DOCUMENT, text, N, NULL, ignore);
  if (rc != TC_OK) return rc;
  for (i = 0; i + 6 <= N; i += 6) memcpy(text + i, "\xE0\xB9\x88\xE0\xB8\xB8", 6);
  return tc_tokenize(config, TC_DOCUMENT, text, N, NULL, ignore);
}

static void memory_runs_out(void) {
  static const char *const args[] = {"tokenchars", "-é€", "separators", "雨あ"};
  int i;
  for (i = 0; i < 1000; i++) {
    tc_config *config = NULL;
    const char *error = NULL;
    int rc;
    allocations_left = i;
    rc = tc_config_new(args, 4, &config, &error);
    if (rc == TC_OK) {
      rc = tokenize_long(config);
    } else {
      CHECK(config == NULL && error != NULL);
    }
    CHECK(rc == TC_OK || rc == TC_NOMEM);
    tc_config_free(config);
    CHECK(live == 0);
    if (rc == TC_OK) break;
  }
  CHECK(i > 5 && i < 1000);
  allocations_left = -1;
}

static void lengths_stay_in_an_int(void) {
  scanner s;
  s.out = s.first;
  s.capacity = sizeof(s.first);
  CHECK(reserve(&s, sizeof(s.first), (size_t)INT_MAX) == TC_NOMEM);
  CHECK(reserve(&s, 0, SIZE_MAX) == TC_NOMEM);
  s.capacity = INT_MAX; /* never written to: the check comes first */
  CHECK(reserve(&s, INT_MAX, 1) == TC_NOMEM);
  CHECK(s.out == s.first);
}

int main(void) {
  decoding();
  encoding();
  memory_runs_out();
  lengths_stay_in_an_int();
  return CHECK_RESULT();
}
