/* SPDX-License-Identifier: MIT
**
** failing.h: put before a source file, makes its allocations fail when a test says so, and
** counts those that live. See test_memory.c.
*/
#ifndef MNEMOGRAM_FAILING_H
#define MNEMOGRAM_FAILING_H

#include <stdlib.h>

void *failing_malloc(size_t n);
void *failing_calloc(size_t count, size_t n);
void *failing_realloc(void *old, size_t n);
void failing_free(void *p);

#ifndef FAILING_IMPLEMENTATION
#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc
#define free failing_free
#endif

#endif
