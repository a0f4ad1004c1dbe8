/* SPDX-License-Identifier: MIT
**
** grapheme.c: extended grapheme clusters by the rules of UAX #29.
**
** A boundary is decided by two neighbours, except in three cases that look
** further back: emoji joined by ZWJ (GB11), pairs of regional indicators (GB12,
** GB13) and Indic conjuncts (GB9c). So a search for a boundary goes back only
** until it meets one that two neighbours decide, and walks forward from there.
*/
#include "text/grapheme.h"

#include "text/grapheme_table.h"
#include "text/work.h"

enum {
  OTHER,
  CR,
  LF,
  CONTROL,
  EXTEND,
  ZWJ,
  REGIONAL,
  PREPEND,
  SPACING,
  HANGUL_L,
  HANGUL_V,
  HANGUL_T,
  HANGUL_LV,
  HANGUL_LVT
};

#define CLASS(p) ((p)&0x0F)
#define PICTOGRAPH 0x10
#define CONJUNCT 0x60
#define CONJUNCT_CONSONANT 0x20
#define CONJUNCT_LINKER 0x60

/* What the clusters before a position leave behind. */
typedef struct {
  uint8_t previous; /* properties of the code point before */
  uint8_t emoji;    /* 1 after a pictograph and its extenders, 2 after ZWJ too */
  uint8_t indic;    /* 1 after a consonant and its extenders, 2 with a linker */
  uint8_t regional; /* 1 after an odd number of regional indicators */
} state;

static uint8_t properties(uint32_t code) {
  WORK(1);
  if (code >= 0xAC00 && code < 0xD7A4) return (code - 0xAC00) % 28 ? HANGUL_LVT : HANGUL_LV;
  if (code > 0x10FFFF) return OTHER;
  return grapheme_stage2[grapheme_stage1[code / GRAPHEME_PAGE]][code % GRAPHEME_PAGE];
}

static uint32_t code_at(gr_text text, ptrdiff_t position) {
  switch (text.width) {
    case 1: return ((const uint8_t *)text.data)[position];
    case 2: return ((const uint16_t *)text.data)[position];
    default: return ((const uint32_t *)text.data)[position];
  }
}

static int is_control(int class) { return class == CR || class == LF || class == CONTROL; }

/* Whether a boundary stands between two code points, where they alone decide;
** -1 where what came before them counts. */
static int pair_break(uint8_t before, uint8_t after) {
  int left = CLASS(before), right = CLASS(after);
  if (left == CR && right == LF) return 0;
  if (is_control(left) || is_control(right)) return 1;
  if (left == HANGUL_L &&
      (right == HANGUL_L || right == HANGUL_V || right == HANGUL_LV || right == HANGUL_LVT))
    return 0;
  if ((left == HANGUL_LV || left == HANGUL_V) && (right == HANGUL_V || right == HANGUL_T)) return 0;
  if ((left == HANGUL_LVT || left == HANGUL_T) && right == HANGUL_T) return 0;
  if (right == EXTEND || right == ZWJ || right == SPACING || left == PREPEND) return 0;
  if ((after & CONJUNCT) == CONJUNCT_CONSONANT && (before & CONJUNCT) > CONJUNCT_CONSONANT)
    return -1;
  if ((after & PICTOGRAPH) && left == ZWJ) return -1;
  if (left == REGIONAL && right == REGIONAL) return -1;
  return 1;
}

/* Moves the state over one code point; returns 1 where a cluster begins there. */
static int step(state *s, uint8_t next) {
  int found = pair_break(s->previous, next);
  if (found < 0) {
    if ((next & CONJUNCT) == CONJUNCT_CONSONANT && s->indic == 2) {
      found = 0;
    } else if ((next & PICTOGRAPH) && s->emoji == 2) {
      found = 0;
    } else {
      found = CLASS(next) != REGIONAL || CLASS(s->previous) != REGIONAL || !s->regional;
    }
  }
  if (next & PICTOGRAPH) {
    s->emoji = 1;
  } else if (s->emoji == 1 && CLASS(next) == ZWJ) {
    s->emoji = 2;
  } else if (s->emoji != 1 || CLASS(next) != EXTEND) {
    s->emoji = 0;
  }
  if ((next & CONJUNCT) == CONJUNCT_CONSONANT) {
    s->indic = 1;
  } else if (s->indic && (next & CONJUNCT) == CONJUNCT_LINKER) {
    s->indic = 2;
  } else if (!(next & CONJUNCT)) {
    s->indic = 0;
  }
  s->regional = (uint8_t)(CLASS(next) == REGIONAL && !s->regional);
  s->previous = next;
  return found;
}

ptrdiff_t gr_floor(gr_text text, ptrdiff_t position, ptrdiff_t known) {
  ptrdiff_t start = position, boundary;
  state s = {0, 0, 0, 0};
  uint8_t after;
  if (position <= 0) return 0;
  if (position >= text.length) return text.length;
  after = properties(code_at(text, start));
  while (start > known) {
    uint8_t before = properties(code_at(text, start - 1));
    if (pair_break(before, after) == 1) break;
    after = before;
    start--;
    if (position - start > GR_REACH) return position;
  }
  if (start == position) return position;
  boundary = start;
  step(&s, after);
  for (ptrdiff_t i = start + 1; i <= position; i++) {
    if (step(&s, properties(code_at(text, i)))) boundary = i;
  }
  return boundary;
}

ptrdiff_t gr_ceil(gr_text text, ptrdiff_t position, ptrdiff_t known) {
  ptrdiff_t start, stop;
  state s = {0, 0, 0, 0};
  if (position <= 0) return 0;
  if (position >= text.length) return text.length;
  start = gr_floor(text, position, known);
  if (start == position) return position;
  stop = text.length - position > GR_REACH ? position + GR_REACH : text.length;
  /* start is a boundary, but a flag sequence or conjunct before it decides
  ** nothing after it: every such rule stays inside one cluster. */
  step(&s, properties(code_at(text, start)));
  for (ptrdiff_t i = start + 1; i < stop; i++) {
    if (step(&s, properties(code_at(text, i)))) return i;
  }
  return stop == text.length ? stop : position;
}
