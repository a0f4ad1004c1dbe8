/* SPDX-License-Identifier: MIT
**
** failing_malloc.c: preloaded, makes one allocation of the compiled modules fail, and none of
** anybody else's. See test_memory_errors.py.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static int left = -1;
static int failed;

/* Lets the next n allocations pass. -1 for all. Returns whether one failed since. */
int fail_after(int n) {
  int before = failed;
  left = n;
  failed = 0;
  return before;
}

static int fails(void *caller) {
  Dl_info info;
  int armed = left;
  if (armed < 0) return 0;
  left = -1; /* dladdr() may allocate */
  if (!dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "mnemogram/_native")) {
    left = armed;
    return 0;
  }
  if (armed == 0) {
    failed = 1;
    return 1;
  }
  left = armed - 1;
  return 0;
}

void *malloc(size_t n) {
  static void *(*next)(size_t);
  if (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  return fails(__builtin_return_address(0)) ? NULL : next(n);
}

void *realloc(void *old, size_t n) {
  static void *(*next)(void *, size_t);
  if (!next) next = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
  return fails(__builtin_return_address(0)) ? NULL : next(old, n);
}

void *calloc(size_t count, size_t n) {
  static void *(*next)(size_t, size_t);
  static char first[4096]; /* dlsym() asks for some itself */
  static size_t used;
  static int asking;
  if (!next) {
    if (asking) {
      char *piece = first + used;
      used += (count * n + 15) / 16 * 16;
      return used <= sizeof first ? piece : NULL;
    }
    asking = 1;
    next = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    asking = 0;
  }
  return fails(__builtin_return_address(0)) ? NULL : next(count, n);
}
