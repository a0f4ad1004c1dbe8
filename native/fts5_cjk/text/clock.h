/* SPDX-License-Identifier: MIT
**
** clock.h: a monotonic clock, in seconds, for deadlines.
*/
#ifndef MNEMOGRAM_CLOCK_H
#define MNEMOGRAM_CLOCK_H

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static inline double clock_now(void) { return (double)GetTickCount64() * 1e-3; }
#else
#include <time.h>

static inline double clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
#endif

#endif
