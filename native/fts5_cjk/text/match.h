/* SPDX-License-Identifier: MIT
**
** match.h: finds phrases of tokens in a text, with the semantics of an FTS5
** phrase over an index that cjk_unicode61 filled: tokens at consecutive
** positions, tail tokens sharing the position of the token before them, the
** last token of a phrase optionally a prefix.
**
** A tm_set is built once, then only read: threads may scan with it together.
*/
#ifndef MNEMOGRAM_MATCH_H
#define MNEMOGRAM_MATCH_H

#include <stdint.h>

#include "text/core.h"

/* How a set matches, a sum of these. */
#define TM_WORDS 0     /* whole tokens, as the index does */
#define TM_SUBSTRING 1 /* a phrase may begin and end inside a word (TC_WORD) */
#define TM_ADJACENT 2  /* tokens that overlap in the query must overlap in the text: an
                       ** index cannot tell `ab` and `bc` of `abc` from those of `ab, bc` */

/* Of a phrase, a sum of these. */
#define TM_PREFIX 1 /* the last token may be a beginning */
#define TM_INSIDE 2 /* the first may be an end: it begins with a cluster's mark */

/* Added to the flags of a token that overlaps the one before it in the query. */
#define TM_OVERLAPS 0x10000

/* What a scan looks for. */
#define TM_SPANS 1 /* exact spans, and every place inside a word */

typedef struct tm_set tm_set;

/* A token of a phrase, as tc_tokenize() gave it in query mode. */
typedef struct {
  const char *text;
  int ntext;
  int flags;
} tm_token;

/* Called for every occurrence, ordered by the position of its last token.
** position counts the tokens before the first token of the occurrence; start
** and end are byte offsets of the characters that fold to what was asked.
** TC_OK goes on; any other value ends the scan and is returned. */
typedef int (*tm_hit_fn)(void *context, int phrase, int position, int start, int end);

/* config is borrowed and must outlive the set. */
int tm_set_new(const tc_config *config, int mode, tm_set **out);
void tm_set_free(tm_set *set);

/* Adds the next phrase; phrases are numbered from 0 in the order of adding.
** A phrase without tokens is allowed and never occurs. */
int tm_set_add(tm_set *set, const tm_token *tokens, int ntoken, int flags);

/* Scans one column of a document. *length (may be NULL) receives its length in
** tokens, as FTS5 counts it; it is only complete if the scan was not ended. Time is
** linear in the text, for each token of the set; pause (NULL for never) may end the
** scan between two pieces of work. */
int tm_scan(const tm_set *set, int flags, const char *text, int n, void *context, tm_hit_fn hit,
            int *length, const tc_pause *pause);

/* A Boolean tree over phrases in postfix form: an item of zero or more pushes
** whether that phrase was seen, the others combine the two on top. */
#define TM_AND (-1)
#define TM_OR (-2)
#define TM_NOT (-3) /* the lower and not the upper */
#define TM_STACK 256

/* The program must not need more than TM_STACK values. */
int tm_evaluate(const int *program, int n, const uint8_t *seen);

#endif
