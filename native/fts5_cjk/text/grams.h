/* SPDX-License-Identifier: MIT
**
** grams.h: counts the trigrams of a query's words inside the words of a text.
**
** A trigram is three folded code points of one word, or of one run of Thai, Lao,
** Khmer or Myanmar; a shorter word is a gram as it is. They tell inflected and
** compound forms of a word from unrelated words in any language without knowing its
** endings (McNamee and Mayfield 2004). Runs of CJK and emoji give none: their bigrams
** are words already.
**
** A tg_set is built once, then only read: threads may count with it together.
*/
#ifndef MNEMOGRAM_GRAMS_H
#define MNEMOGRAM_GRAMS_H

#include <stdint.h>

#include "text/core.h"

typedef struct tg_set tg_set;

/* config is borrowed and must outlive the set. most: grams kept, the first ones. */
int tg_set_new(const tc_config *config, int most, tg_set **out);
void tg_set_free(tg_set *set);

/* Adds the grams of a text, each once; they are numbered from 0 as they come. */
int tg_set_add(tg_set *set, const char *text, int n);
int tg_set_size(const tg_set *set);

/* Adds to counts[0..size) how often each gram stands in text[0..n), and to *length
** how many grams the text has. pause (NULL for never) may end that between two pieces. */
int tg_count(const tg_set *set, const char *text, int n, uint32_t *counts, int *length,
             const tc_pause *pause);

#endif
