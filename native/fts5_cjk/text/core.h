/* SPDX-License-Identifier: MIT
**
** core.h: decodes UTF-8, classifies, folds and segments text into search
** tokens. Knows nothing of SQLite or Python; both are thin over this file, so
** that a query is always cut exactly as the index was.
**
** A tc_config is immutable once made and may be shared by threads.
*/
#ifndef MNEMOGRAM_TEXT_CORE_H
#define MNEMOGRAM_TEXT_CORE_H

#include <stddef.h>
#include <stdint.h>

/* Version of the token rules. Another version means an index is rebuilt. */
#define TC_RULES_VERSION 2

/* Return codes. A token callback returns TC_OK to go on; any other value ends
** the run at once and is returned unchanged. */
#define TC_OK 0
#define TC_NOMEM 7  /* same number as SQLITE_NOMEM */
#define TC_ERROR 1  /* bad arguments; same number as SQLITE_ERROR */

/* Modes of tc_tokenize(). */
#define TC_DOCUMENT 0
#define TC_QUERY 1 /* no tail tokens */
#define TC_UNITS 2 /* words, and every CJK character, cluster and emoji by itself */

/* Added to a mode: report no flag but TC_COLOCATED. Saves FTS5 a call per token. */
#define TC_BARE 0x100

/* Flags of a token. */
#define TC_COLOCATED 0x0001 /* stands at the position of the token before it */
#define TC_WORD 0x0010      /* a unicode61 token */
#define TC_CJK 0x0020       /* from a run of CJK characters */
#define TC_CLUSTER 0x0040   /* from a run of Thai, Lao, Khmer or Myanmar clusters */
#define TC_EMOJI 0x0080     /* one emoji or pictograph */
#define TC_SINGLE 0x0100    /* holds one character or cluster of its run: a run of
                            ** one, or the tail. In a query such a token must be
                            ** looked up as a prefix. */

typedef struct tc_config tc_config;

/* The arguments are those of the FTS5 tokenizer: name, value, name, value...
**   remove_diacritics 0|1|2, categories, tokenchars, separators: as unicode61
**   variants 0|1   fold traditional Chinese characters to simplified ones
**   han 0|1        fold forms of one Han character in names and old texts
**   invisible 0|1  soft hyphens, zero-width characters and the like vanish
**   digits 0|1     decimal digits of every script are ASCII
**   marks 0|1      optional marks outside Latin vanish
**   arabic 0|1     letters alike on the keyboards of Arabic script are one
**   letters 0|1    one letter that is written as two is two
**   forms 0|1      ligatures, circled, squared characters and the like are their letters
**   compat 0|1     unicode61 plus plain bigrams, every extra off
** On TC_ERROR, *error points to a static text that says what is wrong.
** The caller owns *out and frees it with tc_config_free(). */
int tc_config_new(const char *const *args, int nargs, tc_config **out, const char **error);
void tc_config_free(tc_config *config);

/* token is not NUL-terminated and is valid only during the call.
** start and end are byte offsets into the source. */
typedef int (*tc_token_fn)(void *context, int flags, const char *token, int ntoken, int start,
                           int end);

/* Cuts text[0..n) into tokens, in order. Any bytes are accepted. */
int tc_tokenize(const tc_config *config, int mode, const char *text, int n, void *context,
                tc_token_fn callback);

/* Asked between two pieces of a long text whether to go on: any value but TC_OK ends the
** run, which returns it. */
typedef struct tc_pause {
  int (*ask)(void *context);
  void *context;
} tc_pause;

/* Bytes from one question to the next: some ten microseconds of work. */
#ifndef TC_PIECE
#define TC_PIECE 4096
#endif

/* As tc_tokenize(), asking pause (NULL for never). A token that pause cuts short is not
** reported. */
int tc_tokenize_in_pieces(const tc_config *config, int mode, const char *text, int n,
                          void *context, tc_token_fn callback, const tc_pause *pause);

/* How far a walk along the source of a token has come. */
typedef struct tc_walk {
  int source; /* bytes of the source that are passed */
  int token;  /* bytes of the token that they gave */
  int before; /* and all of them but the last that gave any */
} tc_walk;

/* Walks on from *walk in text[0..n), the source of a token of TC_WORD or TC_CLUSTER, until `wanted` bytes of
** the token are passed, with the marks after them that gave nothing. A character that gives
** bytes on both sides is passed if `whole`. A walk goes on where the last one ended; it must
** not be asked for what lies before the last character that it passed. */
int tc_walk_on(const tc_config *config, int family, const char *text, int n, const char *token,
               int ntoken, int wanted, int whole, tc_walk *walk, const tc_pause *pause);

/* For the source text[0..n) of a token of CJK or emoji: *end receives where the first bytes of
** it end that fold to the character `first`, or n where none do. */
int tc_first_end(const tc_config *config, const char *text, int n, const char *first, int nfirst,
                 int *end, const tc_pause *pause);

/* The overlapping trigrams (three folded code points) of every word of three or
** more; shorter words, CJK, clusters and emoji give nothing. Words follow each
** other without a gap in position, so a phrase of trigrams may also match across
** two words: whoever searches must look at the text. Of mode, only TC_BARE counts. */
int tc_trigrams(const tc_config *config, int mode, const char *text, int n, void *context,
                tc_token_fn callback);

/* Version of Unicode that the tables were made from, as "15.0.0". */
const char *tc_unicode_version(void);

#endif
