/* SPDX-License-Identifier: MIT
**
** grams.c: a window of three code points over the words of a text; each gram is one
** number of 63 bits, looked up in an open hash table.
*/
#include "text/grams.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"
#include "text/work.h"

struct tg_set {
  const tc_config *config;
  int most;
  int n;
  uint32_t mask;
  uint64_t *keys; /* of the slots; 0 is empty */
  int *numbers;   /* of the grams in the slots */
};

/* Stands before a word, as no code point does. */
#define EDGE 0x1FFFFFu

/* What a gram is given to. */
typedef struct scan {
  tg_set *adding; /* NULL while counting */
  const tg_set *set;
  uint32_t *counts;
  int length;
  uint64_t window; /* the last three code points of the run */
  int run;         /* code points of the run so far, 3 for more */
  int end;         /* of the token before, where it was a cluster; else -1 */
  const tc_pause *pause;
} scan;

static uint32_t slot_of(uint64_t key, uint32_t mask) {
  return (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) & mask;
}

/* The slot that holds a key, or the empty one where it belongs. */
static uint32_t find(const tg_set *set, uint64_t key) {
  uint32_t slot = slot_of(key, set->mask);
  while (set->keys[slot] != 0 && set->keys[slot] != key) slot = (slot + 1) & set->mask;
  return slot;
}

int tg_set_new(const tc_config *config, int most, tg_set **out) {
  tg_set *set;
  uint32_t slots = 64;
  *out = NULL;
  if (most < 0 || most > INT_MAX / 8) return TC_ERROR;
  while (slots < (uint32_t)most * 4u) slots *= 2;
  set = calloc(1, sizeof *set);
  if (!set) return TC_NOMEM;
  set->config = config;
  set->most = most;
  set->mask = slots - 1;
  set->keys = calloc(slots, sizeof *set->keys);
  set->numbers = calloc(slots, sizeof *set->numbers);
  if (!set->keys || !set->numbers) {
    tg_set_free(set);
    return TC_NOMEM;
  }
  *out = set;
  return TC_OK;
}

void tg_set_free(tg_set *set) {
  if (!set) return;
  free(set->keys);
  free(set->numbers);
  free(set);
}

int tg_set_size(const tg_set *set) {
  return set->n;
}

static void take(scan *s, uint64_t key) {
  uint32_t slot = find(s->set, key);
  s->length++;
  if (s->adding) {
    if (s->set->keys[slot] == 0 && s->adding->n < s->adding->most) {
      s->adding->keys[slot] = key;
      s->adding->numbers[slot] = s->adding->n++;
    }
  } else if (s->set->keys[slot] == key) {
    s->counts[s->set->numbers[slot]]++;
  }
}

/* Ends the run: one of fewer than three code points is a gram by itself. */
static void finish(scan *s) {
  if (s->run > 0 && s->run < 3) take(s, s->window);
  s->run = 0;
  s->window = 0;
}

static int on_token(void *context, int flags, const char *token, int ntoken, int start, int end) {
  scan *s = context;
  const uint8_t *p = (const uint8_t *)token, *stop = p + ntoken;
  int left = TC_PIECE; /* until the next pause */
  if (!(flags & TC_CLUSTER) || start != s->end) finish(s);
  s->end = flags & TC_CLUSTER ? end : -1;
  if (!(flags & (TC_WORD | TC_CLUSTER))) return TC_OK;
  if (flags & TC_WORD) {
    s->window = EDGE;
    s->run = 1;
  }
  while (p < stop) {
    uint32_t cp = 0;
    int valid;
    p += decode(p, stop, &cp, &valid);
    WORK(1);
    /* One more than the code point, so that no gram is 0. */
    s->window = (s->window << 21 | (uint64_t)(valid ? cp + 1 : 1)) & 0x7FFFFFFFFFFFFFFFu;
    if (s->run < 3) s->run++;
    if (s->run == 3) take(s, s->window);
    if (--left == 0 && s->pause) {
      int rc = s->pause->ask(s->pause->context);
      if (rc != TC_OK) return rc;
      left = TC_PIECE;
    }
  }
  return TC_OK;
}

static int run(scan *s, const char *text, int n, const tc_pause *pause) {
  int rc;
  s->pause = pause;
  rc = tc_tokenize_in_pieces(s->set->config, TC_UNITS, text, n, s, on_token, pause);
  finish(s);
  return rc;
}

int tg_set_add(tg_set *set, const char *text, int n) {
  scan s = {.adding = set, .set = set, .end = -1};
  return run(&s, text, n, NULL);
}

int tg_count(const tg_set *set, const char *text, int n, uint32_t *counts, int *length,
             const tc_pause *pause) {
  scan s = {.set = set, .counts = counts, .end = -1};
  int rc = run(&s, text, n, pause);
  *length += s.length;
  return rc;
}
