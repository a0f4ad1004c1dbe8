/* SPDX-License-Identifier: MIT
**
** rank.c: recall_rank, an FTS5 auxiliary function that ranks matches from their
** postings alone.
**
**     recall_rank(table)                  every column counts the same
**     recall_rank(table, w0, w1, ...)     weight of each column, 1.0 by default
**     recall_rank(table, w0, ..., p0, p1, ...)
**                                         after a weight for every column: weight of
**                                         each phrase, the last one for the rest too
**
** Result: minus the sum over the query's phrases of what text/bm25.h says they count, with tf
** weighted by column; the weight of a phrase that was given none is its rarity.
**
** Smaller is better, as FTS5's ORDER BY rank expects. This is BM25 without its
** length term: the length costs FTS5 a lookup in another table for each matching
** row, and that lookup costs more than everything else together. A caller that
** wants the term computes it for the best few hundred.
**
** Rarity costs a pass over the postings of each phrase. A query of one phrase needs
** none; a caller that has counted already gives the weights.
*/
#include "fts5/rank.h"

#include <string.h>

#include "text/bm25.h"

SQLITE_EXTENSION_INIT3

typedef struct rank_query rank_query;
struct rank_query {
  int phrases;
  int columns;
  double *phrase; /* weight of each phrase */
  double *column; /* weight of each column */
};

static int count_row(const Fts5ExtensionApi *api, Fts5Context *fts, void *context) {
  (void)api;
  (void)fts;
  ++*(sqlite3_int64 *)context;
  return SQLITE_OK;
}

/* Makes the state of one query: one allocation, freed by FTS5 with the query. */
static int rank_query_new(const Fts5ExtensionApi *api, Fts5Context *fts, int argc,
                          sqlite3_value **argv, rank_query **out) {
  int phrases = api->xPhraseCount(fts);
  int columns = api->xColumnCount(fts);
  sqlite3_int64 rows = 0;
  rank_query *query;
  size_t size = sizeof(rank_query) + sizeof(double) * ((size_t)phrases + (size_t)columns);
  int given, rc, i;

  query = sqlite3_malloc64(size);
  if (query == NULL) return SQLITE_NOMEM;
  memset(query, 0, size);
  query->phrases = phrases;
  query->columns = columns;
  query->phrase = (double *)(query + 1);
  query->column = query->phrase + phrases;
  for (i = 0; i < columns; i++) {
    query->column[i] = i < argc ? sqlite3_value_double(argv[i]) : 1.0;
  }

  given = argc > columns || phrases <= 1;
  rc = given ? SQLITE_OK : api->xRowCount(fts, &rows);
  for (i = 0; rc == SQLITE_OK && i < phrases; i++) {
    sqlite3_int64 hits = 0;
    if (given) {
      int place = columns + i < argc ? columns + i : argc - 1;
      query->phrase[i] = argc > columns ? sqlite3_value_double(argv[place]) : 1.0;
      continue;
    }
    rc = api->xQueryPhrase(fts, i, &hits, count_row);
    if (rows < hits) rows = hits;
    query->phrase[i] = bm25_rarity((double)rows, (double)hits);
  }
  if (rc == SQLITE_OK) {
    rc = api->xSetAuxdata(fts, query, sqlite3_free); /* frees it where it fails */
  } else {
    sqlite3_free(query);
  }
  *out = rc == SQLITE_OK ? query : NULL;
  return rc;
}

static void recall_rank(const Fts5ExtensionApi *api, Fts5Context *fts, sqlite3_context *context,
                        int argc, sqlite3_value **argv) {
  rank_query *query = api->xGetAuxdata(fts, 0);
  double score = 0.0;
  int rc = SQLITE_OK;
  int i;

  if (query == NULL) rc = rank_query_new(api, fts, argc, argv, &query);
  for (i = 0; rc == SQLITE_OK && i < query->phrases; i++) {
    Fts5PhraseIter place;
    double tf = 0.0;
    int column, offset;
    rc = api->xPhraseFirst(fts, i, &place, &column, &offset);
    if (rc != SQLITE_OK) break;
    while (column >= 0) {
      if (column < query->columns) tf += query->column[column];
      api->xPhraseNext(fts, &place, &column, &offset);
    }
    score += bm25_part(query->phrase[i], tf, BM25_K, BM25_K);
  }
  if (rc == SQLITE_OK) {
    sqlite3_result_double(context, -score);
  } else {
    sqlite3_result_error_code(context, rc);
  }
}

int rank_register(fts5_api *fts) {
  return fts->xCreateFunction(fts, "recall_rank", NULL, recall_rank, NULL);
}
