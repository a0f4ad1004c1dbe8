/* SPDX-License-Identifier: MIT
**
** rank.h: registers the FTS5 ranking function of this extension.
*/
#ifndef MNEMOGRAM_RANK_H
#define MNEMOGRAM_RANK_H

#include <sqlite3ext.h>

/* Adds recall_rank to a connection's FTS5. Returns an SQLite result code. */
int rank_register(fts5_api *fts);

#endif
