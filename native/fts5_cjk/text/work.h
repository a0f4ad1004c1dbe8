/* SPDX-License-Identifier: MIT
**
** work.h: counts the steps of work, for the tests that prove that it is linear in the
** text. Costs nothing elsewhere.
*/
#ifndef MNEMOGRAM_WORK_H
#define MNEMOGRAM_WORK_H

#ifdef MNEMOGRAM_COUNT_WORK
#include <stdint.h>
extern uint64_t work_done; /* defined by the test */
#define WORK(steps) ((void)(work_done += (uint64_t)(steps)))
#else
#define WORK(steps) ((void)0)
#endif

#endif
