/* SPDX-License-Identifier: MIT
**
** grapheme.h: boundaries of extended grapheme clusters (UAX #29, revision of
** Unicode 17, rules GB1 to GB999 without tailoring) in text that Python holds:
** arrays of code points of one, two or four bytes each.
*/
#ifndef MNEMOGRAM_GRAPHEME_H
#define MNEMOGRAM_GRAPHEME_H

#include <stddef.h>
#include <stdint.h>

/* A view of code points; width is the bytes of each: 1, 2 or 4. */
typedef struct {
  const void *data;
  ptrdiff_t length;
  int width;
} gr_text;

/* The last boundary at or before position, the first one at or after it. Both
** clamp position to the text. known is a boundary at or before position, 0 where
** none is known: nothing before it is looked at.
**
** Only GR_REACH code points on either side are looked at: in what reaches further
** without a sure boundary, which nothing draws as one character, position counts as one. */
#define GR_REACH 4096

ptrdiff_t gr_floor(gr_text text, ptrdiff_t position, ptrdiff_t known);
ptrdiff_t gr_ceil(gr_text text, ptrdiff_t position, ptrdiff_t known);

#endif
