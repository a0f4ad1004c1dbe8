/* SPDX-License-Identifier: MIT
**
** core.c: see core.h for what it promises.
**
** A code point is decoded once and looked up once. The lookup gives the number of
** a record; the configuration (config.h) holds every record resolved to 32 bits:
** what the character does (a kind and three flags) and how far its folded form is away.
**
**   finish_word    what unicode61 would do, plus the folds of text_tables
**   scan_cjk       a run of CJK units: composes, then pairs
**   scan_clusters  a run of Thai, Lao, Khmer or Myanmar clusters: pairs
**   scan_emoji     one emoji with all that hangs on it
**
** Each takes the first character of its token or run and leaves the character
** after it, already decoded, to the caller.
**
** A text is scanned in pieces: `end` is that of the piece, always before a character, and
** whoever meets it asks more() for the next one. So a long token can be left, too, and the
** scanning of characters pays nothing for it.
**
** Broken UTF-8 is a separator (utf8.h). U+FFFE and U+FFFF are U+FFFD, as in SQLite.
*/
#include "text/core.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "text/config.h"
#include "text/utf8.h"
#include "text/work.h"

/* What few characters need is kept out of the way of the others. */
#if defined(__GNUC__)
#define RARE __attribute__((cold, noinline))
#define RARELY(condition) __builtin_expect(!!(condition), 0)
#else
#define RARE
#define RARELY(condition) (condition)
#endif

typedef struct character {
  uint32_t cp;
  uint32_t r; /* resolved record; 0 for separators and broken bytes */
  int n;      /* bytes; 0 at the end of the text, and of a part but the last */
} character;

/* A character of the source that folds to several (TT_MANY) is read as these, its parts,
** one after the other at the same place. Only the last has the bytes of the source, so that
** whatever is said of a place stays true. The code point of a part has this bit, so that it
** is never taken for ASCII that stands in the source. */
#define PART 0x200000u

static inline uint32_t folded(const character *c) {
  return (c->cp + (c->r & TT_DISTANCE)) & TT_DISTANCE;
}

/* ---------------------------------------------------------------- scanning */

#define WORDS_ONLY 3 /* a mode of our own: report words and nothing else */

typedef struct scanner {
  const tc_config *config;
  const uint8_t *text;
  const uint8_t *end;   /* of the piece */
  const uint8_t *limit; /* of the text */
  const tc_pause *pause;
  int rc; /* why the pause ended the run, or TC_OK */
  int mode;
  int flag_mask;
  void *context;
  tc_token_fn callback;
  const uint32_t *parts; /* those still to come of the character at hand, or NULL */
  int width;             /* and its bytes */
  char *out; /* folded text of the token or run being built */
  size_t capacity;
  char first[1024];
} scanner;

static const uint8_t *piece_end(const uint8_t *from, const uint8_t *limit) {
  const uint8_t *end;
  int i;
  if (limit - from <= TC_PIECE) return limit;
  end = from + TC_PIECE;
  /* No character has more than three bytes after its first. */
  for (i = 0; i < 3 && end < limit && is_continuation(*end); i++) end++;
  return end;
}

static int report_nothing(void *context, int flags, const char *token, int ntoken, int start,
                          int end) {
  (void)context;
  (void)flags;
  (void)token;
  (void)ntoken;
  (void)start;
  (void)end;
  return TC_ERROR;
}

static void start_scan(scanner *s, const tc_config *config, const char *text, int n,
                       const tc_pause *pause) {
  s->config = config;
  s->text = (const uint8_t *)text;
  s->limit = s->text + n;
  s->end = pause ? piece_end(s->text, s->limit) : s->limit;
  s->pause = pause;
  s->rc = TC_OK;
  s->parts = NULL;
  s->width = 0;
}

/* At the end of a piece: takes the next one in, or returns 0 where there is none or the run
** is to end. */
static RARE int more(scanner *s) {
  if (s->end == s->limit) return 0;
  s->rc = s->pause->ask(s->pause->context);
  if (s->rc != TC_OK) {
    s->limit = s->end;
    s->callback = report_nothing; /* the token at hand is cut short */
    return 0;
  }
  s->end = piece_end(s->end, s->limit);
  return 1;
}

/* Takes the next part. A part that is itself many (of a fold that is off) is a separator. */
static RARE void take_part(scanner *s, character *c, uint32_t inner) {
  uint32_t cp = *s->parts++;
  uint32_t r;
  if (cp < 0x80) {
    uint8_t f = s->config->ascii[cp];
    if (f) cp = f;
    r = f ? R_WORD | R_MORE : 0;
  } else {
    r = record_of(s->config, cp);
    if (R_KIND(r) == TT_MANY) r = 0;
  }
  c->cp = cp | PART;
  c->r = r | R_PART | inner;
  c->n = *s->parts ? 0 : s->width;
  if (c->n) s->parts = NULL;
}

/* The end of a token before *c, which stands at p. */
static inline const uint8_t *end_before(const scanner *s, const uint8_t *p, const character *c) {
  return c->r & R_INNER ? p + s->width : p;
}

/* Decodes and looks up the character at p; n 0 and r 0 at the end. */
static inline void look(scanner *s, const uint8_t *p, character *c) {
  int valid;
  WORK(1);
  if (RARELY(s->parts)) {
    take_part(s, c, R_INNER);
    return;
  }
  if (RARELY(p >= s->end) && !more(s)) {
    c->cp = 0;
    c->r = 0;
    c->n = 0;
    return;
  }
  c->n = decode(p, s->end, &c->cp, &valid);
  if (RARELY(!valid)) {
    c->cp = 0;
    c->r = 0;
    return;
  }
  if (c->cp < 0x80) {
    c->r = s->config->ascii[c->cp] ? R_WORD | R_MORE : 0;
    return;
  }
  c->r = record_of(s->config, c->cp);
  if (RARELY(R_KIND(c->r) == TT_MANY)) {
    s->parts = tt_expansions + (c->r & TT_DISTANCE);
    s->width = c->n;
    take_part(s, c, 0);
  }
}

/* Makes room for n more bytes after the first used ones. */
static int reserve(scanner *s, size_t used, size_t n) {
  size_t capacity = s->capacity;
  char *grown;
  if (capacity - used >= n) return TC_OK;
  if (n > INT_MAX || used > INT_MAX - n) return TC_NOMEM; /* lengths are reported as int */
  while (capacity - used < n) {
    if (capacity > SIZE_MAX / 2) return TC_NOMEM;
    capacity *= 2;
  }
  if (s->out == s->first) {
    grown = malloc(capacity);
    if (grown) memcpy(grown, s->first, used);
  } else {
    grown = realloc(s->out, capacity);
  }
  if (!grown) return TC_NOMEM;
  WORK(used);
  s->out = grown;
  s->capacity = capacity;
  return TC_OK;
}

static inline int emit(scanner *s, int flags, size_t from, size_t to, const uint8_t *start,
                       const uint8_t *end) {
  WORK(1 + to - from);
  return s->callback(s->context, flags & s->flag_mask, s->out + from, (int)(to - from),
                     (int)(start - s->text), (int)(end - s->text));
}

/* Copies ASCII word characters from p to the used part of out, as far as they and the
** room go; returns where it stopped. */
static inline const uint8_t *copy_ascii(scanner *s, const uint8_t *p, size_t *used) {
  const uint8_t *ascii = s->config->ascii;
  size_t room = s->capacity - *used;
  const uint8_t *stop = (size_t)(s->end - p) > room ? p + room : s->end;
  char *o = s->out + *used;
  while (p < stop) {
    uint8_t f = ascii[*p];
    if ((uint8_t)(f - 1) >= 0x7F) break; /* 0 and 0xFF */
    *o++ = (char)f;
    p++;
  }
  WORK((size_t)(o - s->out) - *used);
  *used = (size_t)(o - s->out);
  return p;
}

/* Copies word characters of two and three bytes, folded, and ASCII ones, as far as they and the
** room go: those that are themselves or fold to one character. Returns where it stopped; what
** stands there, finish_word() looks at. */
static inline const uint8_t *copy_letters(scanner *s, const uint8_t *p, size_t *used) {
  const tc_config *config = s->config;
  const uint8_t *const stop = s->end;
  char *o = s->out + *used;
  const char *const full = s->out + s->capacity - 4;
  while (p < stop && o <= full) {
    uint32_t c = *p, cp, r;
    if (c < 0x80) {
      uint8_t f = config->ascii[c];
      if (f == 0) break;
      *o++ = (char)f;
      p++;
    } else if (c < 0xE0) {
      if (c < 0xC2 || stop - p < 2 || !is_continuation(p[1])) break;
      cp = config->letter[(c & 0x1F) << 6 | (p[1] & 0x3Fu)];
      if (cp == 0) break;
      o = encode(o, cp);
      p += 2;
    } else {
      if (c > 0xEF || stop - p < 3 || !is_continuation(p[1]) || !is_continuation(p[2])) break;
      cp = (c & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
      if (cp < 0x800 || (cp & 0xF800) == 0xD800) break;
      r = record_of(config, cp);
      if (!is_one_letter(r)) break;
      o = encode(o, (cp + (r & TT_DISTANCE)) & TT_DISTANCE);
      p += 3;
    }
  }
  WORK((size_t)(o - s->out) - *used);
  *used = (size_t)(o - s->out);
  return p;
}

/* The word that begins at start, of which *p..start has been copied to used bytes of
** out, and whose next character *c is not a plain ASCII one. *at and *c are moved to
** the first character after it. */
static int finish_word(scanner *s, const uint8_t *start, size_t used, const uint8_t **at,
                       character *c) {
  const uint8_t *p = *at;
  while (c->r & R_MORE) {
    if (s->capacity - used < 4) {
      int rc = reserve(s, used, s->capacity);
      if (rc != TC_OK) return rc;
    }
    if (c->cp >= 0x80) {
      if (!(c->r & TT_DROP)) used = (size_t)(encode(s->out + used, folded(c)) - s->out);
      p += c->n;
    }
    if (!s->parts) p = copy_letters(s, p, &used);
    look(s, p, c);
  }
  *at = p;
  return emit(s, TC_WORD, 0, used, start, end_before(s, p, c));
}

typedef struct unit {
  size_t from, to; /* in the scanner's out */
  const uint8_t *start, *end;
} unit;

/* Reports the unit that has just been finished, the count-th of its run. */
static inline int emit_unit(scanner *s, int family, int count, const unit *before,
                            const unit *now) {
  if (s->mode == TC_UNITS) {
    return emit(s, family | TC_SINGLE, now->from, now->to, now->start, now->end);
  }
  if (count < 2 || s->mode == WORDS_ONLY) return TC_OK;
  return emit(s, family, before->from, now->to, before->start, now->end);
}

/* The end of a run of count units whose last is *last. */
static inline int emit_tail(scanner *s, int family, int count, const unit *last) {
  int flags = family | TC_SINGLE;
  if (s->mode == TC_UNITS || s->mode == WORDS_ONLY) return TC_OK;
  if (count > 1) {
    if (s->mode != TC_DOCUMENT || s->config->compat) return TC_OK;
    flags |= TC_COLOCATED;
  }
  return emit(s, flags, last->from, last->to, last->start, last->end);
}

#define ALL UINT32_MAX /* no code point to stop at */

/* Takes what belongs to the unit that began with *base; returns its folded code point. Stops
** early where that has become `wanted`. */
static inline uint32_t compose(scanner *s, const uint8_t **at, character *c,
                               const character *base, uint32_t wanted) {
  uint32_t kind = R_KIND(base->r);
  uint32_t cp = folded(base);
  for (;;) {
    uint32_t next = R_KIND(c->r);
    if (cp == wanted) return cp;
    if (next == TT_JAMO_V) {
      if (kind != TT_JAMO_L) return cp;
      cp = 0xAC00 + ((base->cp - 0x1100) * 21 + (c->cp - 0x1161)) * 28;
      kind = TT_SYLLABLE;
    } else if (next == TT_JAMO_T) {
      if (kind != TT_SYLLABLE || (cp - 0xAC00) % 28 != 0) return cp;
      cp += c->cp - 0x11A7;
    } else if (next == TT_VOICE || next == TT_VOICE_HALF) {
      if (cp >= 0x3040 && cp < 0x3100) {
        uint16_t voiced = tt_voiced[cp - 0x3040][(c->cp + (next == TT_VOICE)) & 1];
        if (voiced) cp = voiced;
      }
    } else if (next != TT_EXTEND && !(c->r & R_DIACRITIC)) {
      return cp;
    }
    *at += c->n;
    look(s, *at, c);
  }
}

/* The resolved record of the three bytes at p if they are a plain CJK character, else
** something that is not plain: what is too long or a surrogate has no CJK record. */
static inline uint32_t look_plain(const scanner *s, const uint8_t *p) {
  if ((p[0] & 0xF0) != 0xE0 || !is_continuation(p[1]) || !is_continuation(p[2])) return 0;
  return s->config->resolved[tt_stage2[tt_stage1[(p[0] & 15) << 6 | (p[1] & 63)]][p[2] & 63]];
}

/* Pairs up plain characters of three bytes each, which nearly all CJK text is made of,
** as long as another one follows. Leaves the last to scan_cjk(). */
static int pair_plain(scanner *s, const uint8_t **at, uint32_t r, int *count, unit *now) {
  const uint8_t *p = *at;
  int rc = TC_OK;
  while (s->end - p >= 6 && rc == TC_OK) {
    uint32_t next = look_plain(s, p + 3);
    unit before = *now;
    if (!is_plain(next)) break;
    if (s->capacity - before.to < 4) {
      memmove(s->out, s->out + before.from, before.to - before.from);
      before.to -= before.from;
      before.from = 0;
    }
    now->start = p;
    now->end = p + 3;
    now->from = before.to;
    if ((r & TT_DISTANCE) == 0) {
      memcpy(s->out + now->from, p, 4); /* one more than needed, in one step */
      now->to = now->from + 3;
    } else {
      character c = {(p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu), r, 3};
      now->to = (size_t)(encode(s->out + now->from, folded(&c)) - s->out);
    }
    p += 3;
    r = next;
    if (*count && s->mode != WORDS_ONLY) {
      rc = emit(s, TC_CJK, before.from, now->to, before.start, p);
    }
    *count += *count < 2;
  }
  *at = p;
  return rc;
}

static int scan_cjk(scanner *s, const uint8_t **at, character *c) {
  unit before = {0, 0, NULL, NULL}, now = {0, 0, NULL, NULL};
  const int paired = s->mode != TC_UNITS && !s->config->plain_exceptions;
  int count = 0, rc;
  do {
    character base;
    uint32_t cp;
    if (paired && c->n == 3 && is_plain(c->r) && c->cp < PART) {
      rc = pair_plain(s, at, c->r, &count, &now);
      if (rc != TC_OK) return rc;
      look(s, *at, c);
    }
    base = *c;
    before = now;
    if (s->capacity - before.to < 4) {
      /* Only the unit before is still wanted. */
      memmove(s->out, s->out + before.from, before.to - before.from);
      before.to -= before.from;
      before.from = 0;
    }
    now.start = *at;
    *at += c->n;
    look(s, *at, c);
    cp = R_KIND(c->r) == TT_CJK ? folded(&base) : compose(s, at, c, &base, ALL);
    now.end = end_before(s, *at, c);
    now.from = before.to;
    now.to = (size_t)(encode(s->out + now.from, cp) - s->out);
    if (count < 2) count++;
    rc = emit_unit(s, TC_CJK, count, &before, &now);
    if (rc != TC_OK) return rc;
  } while (is_cjk(R_KIND(c->r)));
  return emit_tail(s, TC_CJK, count, &now);
}

static uint8_t mark_class(uint32_t cp) {
  uint32_t page = cp >> 8;
  return tt_mark_classes[page == 0x0E ? 0 : page == 0x10 ? 1 : 2][cp & 0xFF];
}

/* Puts the marks in out[from..to) into canonical order. Each has three bytes. Few
** classes exist, so one pass for each is linear however long the text is. */
static int order_marks(scanner *s, size_t from, size_t to) {
  size_t used = to, i;
  int class = -1;
  int rc = reserve(s, to, to - from);
  if (rc != TC_OK) return rc;
  while (used < to + (to - from)) {
    int next = 256;
    for (i = from; i < to; i += 3) {
      const uint8_t *z = (const uint8_t *)s->out + i;
      WORK(1);
      int own = mark_class((z[0] & 0x0Fu) << 12 | (z[1] & 0x3Fu) << 6 | (z[2] & 0x3Fu));
      if (own == class) {
        memcpy(s->out + used, z, 3);
        used += 3;
      } else if (own > class && own < next) {
        next = own;
      }
    }
    class = next;
  }
  memcpy(s->out + from, s->out + to, to - from);
  return TC_OK;
}

/* Takes one cluster and leaves its text, in canonical order and composed, behind
** unit->from. */
static int take_cluster(scanner *s, const uint8_t **at, character *c, unit *now) {
  size_t marks = now->from; /* where the marks since the last base begin */
  int highest = 0, disorder = 0, joined = 0, rc;
  uint32_t kind = R_KIND(c->r);
  uint32_t last = 0;
  now->to = now->from;
  do {
    uint32_t cp = folded(c);
    int class = kind == TT_CLUSTER ? 0 : mark_class(cp);
    if (class == 0) {
      if (disorder) {
        rc = order_marks(s, marks, now->to);
        if (rc != TC_OK) return rc;
      }
      highest = disorder = joined = 0;
    } else if (class < highest) {
      disorder = 1;
    } else {
      highest = class;
      joined = kind == TT_CLUSTER_JOIN;
    }
    if (s->capacity - now->to < 4) {
      rc = reserve(s, now->to, 4);
      if (rc != TC_OK) return rc;
    }
    if (cp == 0x102E && last == 0x1025) {
      cp = 0x1026; /* the one pair of these blocks that Unicode composes */
      now->to -= 3;
    }
    now->to = (size_t)(encode(s->out + now->to, cp) - s->out);
    last = cp;
    if (class == 0) marks = now->to;
    do {
      *at += c->n;
      look(s, *at, c);
      kind = R_KIND(c->r);
    } while (kind == TT_EXTEND || (c->r & R_DIACRITIC));
  } while (kind == TT_CLUSTER_MARK || kind == TT_CLUSTER_JOIN || (kind == TT_CLUSTER && joined));
  return disorder ? order_marks(s, marks, now->to) : TC_OK;
}

static int scan_clusters(scanner *s, const uint8_t **at, character *c) {
  unit before = {0, 0, NULL, NULL}, now = {0, 0, NULL, NULL};
  int count = 0, rc;
  do {
    before = now;
    if (before.from >= s->capacity / 2) {
      /* Only the cluster before is still wanted. */
      WORK(before.to - before.from);
      memmove(s->out, s->out + before.from, before.to - before.from);
      before.to -= before.from;
      before.from = 0;
    }
    now.start = *at;
    now.from = before.to;
    rc = take_cluster(s, at, c, &now);
    if (rc != TC_OK) return rc;
    now.end = *at;
    if (count < 2) count++;
    rc = emit_unit(s, TC_CLUSTER, count, &before, &now);
    if (rc != TC_OK) return rc;
  } while (is_cluster(R_KIND(c->r)));
  return emit_tail(s, TC_CLUSTER, count, &now);
}

static int scan_emoji(scanner *s, const uint8_t **at, character *c) {
  const uint8_t *start = *at;
  int flag = R_KIND(c->r) == TT_REGIONAL;
  char *o = encode(s->out, folded(c));
  *at += c->n;
  look(s, *at, c);
  if (flag && R_KIND(c->r) == TT_REGIONAL) {
    o = encode(o, folded(c));
    *at += c->n;
    look(s, *at, c);
  }
  while (R_KIND(c->r) == TT_EXTEND || R_KIND(c->r) == TT_EMOJI_MODIFIER ||
         R_KIND(c->r) == TT_EMOJI_EXTEND) {
    *at += c->n;
    look(s, *at, c);
  }
  if (s->mode == WORDS_ONLY) return TC_OK;
  return emit(s, TC_EMOJI, 0, (size_t)(o - s->out), start, *at);
}

/* A character that is not an ASCII separator; *at and *c are moved past its token, its
** run, or itself. */
static int scan_other(scanner *s, const uint8_t **at, character *c) {
  uint32_t kind = R_KIND(c->r);
  if (c->r & R_WORD) return finish_word(s, *at, 0, at, c);
  if (is_cjk(kind)) return scan_cjk(s, at, c);
  if (is_cluster(kind)) return scan_clusters(s, at, c);
  if (is_emoji(kind)) return scan_emoji(s, at, c);
  *at += c->n;
  look(s, *at, c);
  return TC_OK;
}

int tc_tokenize_in_pieces(const tc_config *config, int mode, const char *text, int n,
                          void *context, tc_token_fn callback, const tc_pause *pause) {
  scanner s;
  const uint8_t *p = (const uint8_t *)text;
  int rc = TC_OK;
  if (n <= 0) return TC_OK; /* text may be NULL */
  start_scan(&s, config, text, n, pause);
  s.mode = mode & 0xFF;
  s.flag_mask = mode & TC_BARE ? TC_COLOCATED : -1;
  s.context = context;
  s.callback = callback;
  s.out = s.first;
  s.capacity = sizeof(s.first);
  while (rc == TC_OK && (p < s.end || more(&s))) {
    uint8_t f = config->ascii[*p];
    character c;
    if (f == 0) {
      p++;
      continue;
    }
    if (f != 0xFF) {
      /* Most words of most texts are ASCII and short. */
      const uint8_t *start = p;
      size_t used = 0;
      p = copy_ascii(&s, p, &used);
      if (p == s.end ? !more(&s) : config->ascii[*p] == 0) {
        rc = emit(&s, TC_WORD, 0, used, start, p);
        if (p < s.end) p++;
        continue;
      }
      p = copy_letters(&s, p, &used);
      if (p < s.end && config->ascii[*p] == 0) {
        rc = emit(&s, TC_WORD, 0, used, start, p++);
        continue;
      }
      look(&s, p, &c);
      rc = finish_word(&s, start, used, &p, &c);
    } else {
      look(&s, p, &c);
    }
    while (rc == TC_OK && (c.n || c.r) && (c.cp >= 0x80 || c.r == 0)) rc = scan_other(&s, &p, &c);
  }
  if (s.out != s.first) free(s.out);
  return s.rc != TC_OK ? s.rc : rc;
}

int tc_tokenize(const tc_config *config, int mode, const char *text, int n, void *context,
                tc_token_fn callback) {
  return tc_tokenize_in_pieces(config, mode, text, n, context, callback, NULL);
}

/* ---------------------------------------------------------------- places in a token */

/* Does the token go on with cp at place at? */
static int is_next(const char *token, int ntoken, int at, uint32_t cp) {
  char text[4];
  int n = (int)(encode(text, cp) - text);
  return ntoken - at >= n && memcmp(token + at, text, (size_t)n) == 0;
}

/* The bytes that a character gives to the token of which `at` bytes are there; *last is the
** character of a cluster that gave some before it. */
static int given(const character *c, int family, const char *token, int ntoken, int at,
                 uint32_t *last) {
  uint32_t cp = folded(c);
  int in_cluster = family & TC_CLUSTER;
  if (c->r & TT_DROP) return 0;
  /* A token may begin or end between the parts of a character; marks may change places. */
  if (c->r & R_PART && (at == 0 || !in_cluster) && !is_next(token, ntoken, at, cp)) return 0;
  if (in_cluster) {
    uint32_t before = *last;
    if (at > 0 && (R_KIND(c->r) == TT_EXTEND || c->r & R_DIACRITIC)) return 0;
    *last = cp;
    if (cp == 0x102E && before == 0x1025) return 0; /* they compose */
  }
  return utf8_length(cp);
}

int tc_walk_on(const tc_config *config, int family, const char *text, int n, const char *token,
               int ntoken, int wanted, int whole, tc_walk *walk, const tc_pause *pause) {
  scanner s;
  uint32_t last = 0;
  const uint8_t *p;
  start_scan(&s, config, text + walk->source, n - walk->source, pause);
  p = s.text;
  for (;;) {
    character c;
    int gives = 0;
    const uint8_t *from = p;
    while (p < s.end && *p < 0x80 && walk->token < wanted) {
      p++;
      walk->token++;
    }
    WORK(p - from);
    if (p > from) walk->before = walk->token - 1;
    walk->source += (int)(p - from);
    look(&s, p, &c);
    if (c.n == 0 && c.r == 0) return s.rc;
    for (;;) {
      gives += given(&c, family, token, ntoken, walk->token + gives, &last);
      if (c.n) break;
      look(&s, p, &c);
    }
    if (gives > 0 && (walk->token >= wanted || (walk->token + gives > wanted && !whole))) {
      return TC_OK;
    }
    if (gives > 0) walk->before = walk->token;
    walk->token += gives;
    walk->source += c.n;
    p += c.n;
  }
}

int tc_first_end(const tc_config *config, const char *text, int n, const char *first, int nfirst,
                 int *end, const tc_pause *pause) {
  scanner s;
  character c;
  const uint8_t *p;
  uint32_t wanted = ALL;
  int valid;
  start_scan(&s, config, text, n, pause);
  p = s.text;
  *end = n;
  if (nfirst > 0) decode((const uint8_t *)first, (const uint8_t *)first + nfirst, &wanted, &valid);
  look(&s, p, &c);
  while (c.n || c.r) {
    character base = c;
    uint32_t cp = folded(&c);
    p += c.n;
    look(&s, p, &c);
    if (is_cjk(R_KIND(base.r))) cp = compose(&s, &p, &c, &base, wanted);
    if (cp == wanted) {
      *end = (int)(end_before(&s, p, &c) - s.text);
      break;
    }
  }
  return s.rc;
}

/* ---------------------------------------------------------------- trigrams */

typedef struct trigrams {
  scanner source; /* only to decode and look up */
  int flags;
  void *context;
  tc_token_fn callback;
} trigrams;

static int word_trigrams(void *context, int flags, const char *token, int ntoken, int start,
                         int end) {
  trigrams *t = context;
  struct {
    int at, start, end; /* place in the token; span in the source */
  } ring[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  const uint8_t *p = t->source.text + start;
  const uint8_t *stop = t->source.text + end;
  int count = 0, at = 0, open = start;
  (void)flags;
  if (ntoken < 3) return TC_OK;
  t->source.parts = NULL;
  while (p < stop) {
    character c;
    int from = open;
    look(&t->source, p, &c);
    if (c.r & R_INNER) from = (int)(p - t->source.text);
    open = (int)(p - t->source.text) + (c.r & R_PART ? t->source.width : c.n);
    p += c.n;
    /* A word may begin or end between the parts of a character. */
    if (c.r & R_PART && !(c.r & TT_DROP) && !is_next(token, ntoken, at, folded(&c))) continue;
    if (c.r & TT_DROP) {
      /* A dropped mark belongs to the character before it, at the start to the next. */
      if (count == 0) {
        open = from;
        continue;
      }
      ring[(count - 1) % 3].end = open;
    } else {
      if (count >= 3) {
        int rc = t->callback(t->context, t->flags, token + ring[count % 3].at,
                             at - ring[count % 3].at, ring[count % 3].start,
                             ring[(count - 1) % 3].end);
        if (rc != TC_OK) return rc;
      }
      ring[count % 3].at = at;
      ring[count % 3].start = from;
      ring[count % 3].end = open;
      at += utf8_length(folded(&c));
      count++;
    }
  }
  if (count < 3) return TC_OK;
  return t->callback(t->context, t->flags, token + ring[count % 3].at, at - ring[count % 3].at,
                     ring[count % 3].start, ring[(count - 1) % 3].end);
}

int tc_trigrams(const tc_config *config, int mode, const char *text, int n, void *context,
                tc_token_fn callback) {
  trigrams t;
  if (n <= 0) return TC_OK;
  t.flags = mode & TC_BARE ? 0 : TC_WORD;
  start_scan(&t.source, config, text, n, NULL);
  t.context = context;
  t.callback = callback;
  return tc_tokenize(config, WORDS_ONLY, text, n, &t, word_trigrams);
}

const char *tc_unicode_version(void) {
  return TT_UNICODE_VERSION;
}
