/* SPDX-License-Identifier: MIT
**
** check.h: the little that the C tests need. CHECK counts and prints what failed;
** a test's main returns CHECK_RESULT().
*/
#ifndef MNEMOGRAM_CHECK_H
#define MNEMOGRAM_CHECK_H

#include <stdio.h>

static int check_failures;

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      check_failures++;                                                             \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);       \
    }                                                                               \
  } while (0)

#define CHECK_RESULT() (check_failures ? 1 : 0)

#endif
