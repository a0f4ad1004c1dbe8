/* SPDX-License-Identifier: MIT
**
** rank.c: recall_rank, an FTS5 auxiliary function that ranks matches from their
** postings alone.
**
**     recall_rank(table)                  every column counts the same
**     recall_rank(table, w0, w1, ...)     weight of each column, 1.0 by default
**
** Result: minus the sum over the query's phrases of
**
**     idf * tf * (K + 1) / (tf + K)       tf weighted by column,
**     idf = ln(1 + (N - n + 0.5) / (n + 0.5))
**
** Smaller is better, as FTS5's ORDER BY rank expects. This is BM25 without its
** length term: the length costs FTS5 a lookup in another table for each matching
** row, and that lookup costs more than everything else together. A caller that
** wants the term computes it for the best few hundred.
**
** A query of one phrase needs no idf, so the extra pass over its postings that
** would count them is left out.
*/
#include "rank.h"

#include <math.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

#define RANK_K 1.2

typedef struct rank_query rank_query;
struct rank_query {
  int phrases;
  int columns;
  double *idf;    /* one for each phrase */
  double *weight; /* one for each column */
};

static int count_row(const Fts5ExtensionApi *api, Fts5Context *fts, void *context) {
  (void)api;
  (void)fts;
  ++*(sqlite3_int64 *)context;
  return SQLITE_OK;
}

/* Makes the state of one query: one allocation, freed by FTS5 with the query. */
static int rank_query_new(const Fts5ExtensionApi *api, Fts5Context *fts, int weights,
                          sqlite3_value **weight, rank_query **out) {
  int phrases = api->xPhraseCount(fts);
  int columns = api->xColumnCount(fts);
  sqlite3_int64 rows = 0;
  rank_query *query;
  size_t size = sizeof(rank_query) + sizeof(double) * ((size_t)phrases + (size_t)columns);
  int rc, i;

  query = sqlite3_malloc64(size);
  if (query == NULL) return SQLITE_NOMEM;
  memset(query, 0, size);
  query->phrases = phrases;
  query->columns = columns;
  query->idf = (double *)(query + 1);
  query->weight = query->idf + phrases;
  for (i = 0; i < columns; i++) {
    query->weight[i] = i < weights ? sqlite3_value_double(weight[i]) : 1.0;
  }

  rc = phrases > 1 ? api->xRowCount(fts, &rows) : SQLITE_OK;
  for (i = 0; rc == SQLITE_OK && i < phrases; i++) {
    sqlite3_int64 hits = 0;
    if (phrases == 1) {
      query->idf[i] = 1.0;
      break;
    }
    rc = api->xQueryPhrase(fts, i, &hits, count_row);
    if (rows < hits) rows = hits;
    query->idf[i] = log(1.0 + ((double)(rows - hits) + 0.5) / ((double)hits + 0.5));
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
                        int weights, sqlite3_value **weight) {
  rank_query *query = api->xGetAuxdata(fts, 0);
  double score = 0.0;
  int rc = SQLITE_OK;
  int i;

  if (query == NULL) rc = rank_query_new(api, fts, weights, weight, &query);
  for (i = 0; rc == SQLITE_OK && i < query->phrases; i++) {
    Fts5PhraseIter place;
    double tf = 0.0;
    int column, offset;
    rc = api->xPhraseFirst(fts, i, &place, &column, &offset);
    if (rc != SQLITE_OK) break;
    while (column >= 0) {
      if (column < query->columns) tf += query->weight[column];
      api->xPhraseNext(fts, &place, &column, &offset);
    }
    score += query->idf[i] * tf * (RANK_K + 1.0) / (tf + RANK_K);
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
