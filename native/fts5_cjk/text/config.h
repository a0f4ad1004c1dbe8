/* SPDX-License-Identifier: MIT
**
** config.h: what a tc_config is made of, for core.c alone. Every record of the
** tables is resolved once, when a configuration is made, to what scanning needs of it.
*/
#ifndef MNEMOGRAM_TEXT_CONFIG_H
#define MNEMOGRAM_TEXT_CONFIG_H

#include "text/core.h"
#include "text/tables.h"

/* A resolved record: distance and TT_DROP in bits 0..21, then: */
#define R_WORD 0x00400000u      /* may begin a word */
#define R_MORE 0x00800000u      /* may continue a word */
#define R_DIACRITIC 0x01000000u /* no search value after a CJK unit or a cluster */
#define R_KIND_SHIFT 25
#define R_KIND(r) ((r) >> R_KIND_SHIFT & 0x1F)
/* Of a character that stands for another (TT_MANY) together with others: */
#define R_PART 0x40000000u
#define R_INNER 0x80000000u /* and not as the first */

#define NRESOLVED (TT_NRECORD + TT_NSHORT)
#define BLOCKS (0x110000 / 256)

/* Code points of two bytes are those below this. */
#define TWO_BYTES 0x800

struct tc_config {
  uint8_t ascii[256]; /* folded; 0 for a separator, 0xFF for a lead byte */
  /* Of code points of two bytes, one that goes on in a word and is there one of at most two
  ** bytes: that one. 0 for the others. */
  uint16_t letter[TWO_BYTES];
  uint32_t resolved[NRESOLVED];
  uint8_t category[32]; /* categories that make a token character */
  uint8_t remove_diacritics;
  uint8_t variants;
  uint8_t han;
  uint8_t compat;
  uint8_t extras; /* the TT_E_... that are on */
  int nexception;
  uint32_t *exception; /* sorted: code points whose category does not decide */
  uint32_t exception_blocks[BLOCKS / 32]; /* a bit for each block of 256 that holds one */
  uint8_t plain_exceptions;               /* whether one is, or but for it were, plain CJK */
};

static inline int is_cjk(uint32_t kind) {
  return (kind >= TT_CJK && kind <= TT_JAMO_T) || kind == TT_VOICE_HALF;
}

static inline int is_cluster(uint32_t kind) {
  return kind >= TT_CLUSTER && kind <= TT_CLUSTER_JOIN;
}

static inline int is_emoji(uint32_t kind) {
  return kind == TT_EMOJI || kind == TT_EMOJI_MODIFIER || kind == TT_REGIONAL;
}

/* A kind that takes nothing from a kind of the same sort that follows it. */
static inline int is_plain(uint32_t r) {
  return R_KIND(r) == TT_CJK || R_KIND(r) == TT_SYLLABLE;
}

/* May cp be an exception? Of most characters this tells that they are none. */
static inline int may_be_exception(const tc_config *c, uint32_t cp) {
  return c->exception_blocks[cp >> 13] >> (cp >> 8 & 31) & 1;
}

/* The resolved record of cp, of which number is the record, where cp may be an exception. */
uint32_t tc_resolved(const tc_config *config, uint16_t number, uint32_t cp);

static inline uint32_t record_of(const tc_config *config, uint32_t cp) {
  uint16_t number = tt_lookup(cp);
  return may_be_exception(config, cp) ? tc_resolved(config, number, cp)
                                      : config->resolved[number];
}

/* Whether a character of this record goes on in a word, as one character. */
static inline int is_one_letter(uint32_t r) {
  return (r & (R_MORE | TT_DROP)) == R_MORE && R_KIND(r) != TT_MANY;
}

#endif
