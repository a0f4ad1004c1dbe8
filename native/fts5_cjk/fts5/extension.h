/* SPDX-License-Identifier: MIT
**
** extension.h: what extension.c registers. One register function per component;
** each returns a SQLite result code.
*/
#ifndef MNEMOGRAM_EXTENSION_H
#define MNEMOGRAM_EXTENSION_H

#include <sqlite3ext.h>

/* tokenizer.c: cjk_unicode61 and word_trigram. */
int fts5_cjk_register_tokenizers(fts5_api *api);

#endif
