/* SPDX-License-Identifier: MIT
**
** utf8.h: one code point from bytes and back.
**
** Broken UTF-8 is taken in pieces, one for each longest start of a valid sequence,
** as Unicode recommends for replacement; overlong forms, surrogates and what lies
** beyond U+10FFFF are broken.
*/
#ifndef MNEMOGRAM_UTF8_H
#define MNEMOGRAM_UTF8_H

#include <stddef.h>
#include <stdint.h>

static inline int is_continuation(uint8_t byte) {
  return (byte & 0xC0) == 0x80;
}

/* Decodes one code point of p[0..end), p < end. Returns its length; for broken
** bytes the length of the broken part, with *cp left alone and *valid 0. */
static inline int decode(const uint8_t *p, const uint8_t *end, uint32_t *cp, int *valid) {
  uint32_t c = p[0];
  ptrdiff_t left = end - p;
  *valid = 1;
  if (c < 0x80) {
    *cp = c;
    return 1;
  }
  if (c >= 0xC2 && c <= 0xDF) {
    if (left >= 2 && is_continuation(p[1])) {
      *cp = (c & 0x1F) << 6 | (p[1] & 0x3Fu);
      return 2;
    }
    *valid = 0;
    return 1;
  }
  if (c >= 0xE0 && c <= 0xEF) {
    if (left >= 3 && is_continuation(p[1]) && is_continuation(p[2])) {
      uint32_t v = (c & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3Fu);
      if (v >= 0x800 && (v & 0xF800) != 0xD800) {
        *cp = v;
        return 3;
      }
    }
    *valid = 0;
    /* The second byte belongs to the broken part only if it could have gone on. */
    if (left >= 2 && is_continuation(p[1]) && !(c == 0xE0 && p[1] < 0xA0) &&
        !(c == 0xED && p[1] > 0x9F)) {
      return 2;
    }
    return 1;
  }
  if (c >= 0xF0 && c <= 0xF4 && left >= 2 && is_continuation(p[1]) &&
      !(c == 0xF0 && p[1] < 0x90) && !(c == 0xF4 && p[1] > 0x8F)) {
    if (left >= 3 && is_continuation(p[2])) {
      if (left >= 4 && is_continuation(p[3])) {
        *cp = (c & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 |
              (p[3] & 0x3Fu);
        return 4;
      }
      *valid = 0;
      return 3;
    }
    *valid = 0;
    return 2;
  }
  *valid = 0;
  return 1;
}

/* Writes 1 to 4 bytes. */
static inline char *encode(char *o, uint32_t cp) {
  if (cp < 0x80) {
    *o++ = (char)cp;
  } else if (cp < 0x800) {
    *o++ = (char)(0xC0 | cp >> 6);
    *o++ = (char)(0x80 | (cp & 0x3F));
  } else if (cp < 0x10000) {
    *o++ = (char)(0xE0 | cp >> 12);
    *o++ = (char)(0x80 | (cp >> 6 & 0x3F));
    *o++ = (char)(0x80 | (cp & 0x3F));
  } else {
    *o++ = (char)(0xF0 | cp >> 18);
    *o++ = (char)(0x80 | (cp >> 12 & 0x3F));
    *o++ = (char)(0x80 | (cp >> 6 & 0x3F));
    *o++ = (char)(0x80 | (cp & 0x3F));
  }
  return o;
}

static inline int utf8_length(uint32_t cp) {
  return cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
}

#endif
