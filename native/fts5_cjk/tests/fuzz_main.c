/* SPDX-License-Identifier: MIT
**
** fuzz_main.c: runs a libFuzzer target without libFuzzer, for compilers that lack it.
**
**   fuzz_NAME [--mutations N] [--seed S] FILE...
**
** Runs each file, then N mutants: pieces of the files put together, cut, repeated and
** changed at random. The same seed makes the same mutants.
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_INPUTS = 256, MAX_MUTANT = 512 };

static uint8_t *inputs[MAX_INPUTS];
static size_t sizes[MAX_INPUTS];
static size_t ninputs;

static uint64_t random_state;

/* xorshift64: any generator would do, so long as it is the same everywhere. */
static size_t below(size_t limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (size_t)(random_state % (limit ? limit : 1));
}

static void read_file(const char *name) {
  FILE *file = fopen(name, "rb");
  long n;
  if (!file || fseek(file, 0, SEEK_END) != 0 || (n = ftell(file)) < 0 || ninputs == MAX_INPUTS) {
    fprintf(stderr, "cannot read %s\n", name);
    exit(2);
  }
  rewind(file);
  inputs[ninputs] = malloc((size_t)n + 1);
  sizes[ninputs] = fread(inputs[ninputs], 1, (size_t)n, file);
  ninputs++;
  fclose(file);
}

static void run_mutant(void) {
  uint8_t mutant[MAX_MUTANT];
  size_t n = 1, pieces = 1 + below(8);
  mutant[0] = (uint8_t)below(256);
  while (pieces--) {
    size_t from = below(ninputs), at = below(sizes[from]), take = 1 + below(24);
    size_t times = below(8) ? 1 : 1 + below(6);
    if (take > sizes[from] - at) take = sizes[from] - at;
    while (times-- && n + take <= MAX_MUTANT) {
      memcpy(mutant + n, inputs[from] + at, take);
      n += take;
    }
  }
  if (below(3) == 0) mutant[below(n)] = (uint8_t)below(256);
  if (below(3) == 0) n -= below(n);
  if (n) LLVMFuzzerTestOneInput(mutant, n);
}

int main(int argc, char **argv) {
  unsigned long mutations = 0;
  size_t i;
  int arg;
  random_state = 88172645463325252ULL;
  for (arg = 1; arg < argc; arg++) {
    if (strcmp(argv[arg], "--mutations") == 0 && arg + 1 < argc) {
      mutations = strtoul(argv[++arg], NULL, 10);
    } else if (strcmp(argv[arg], "--seed") == 0 && arg + 1 < argc) {
      random_state ^= strtoull(argv[++arg], NULL, 10) * 2654435761ULL;
    } else {
      read_file(argv[arg]);
    }
  }
  for (i = 0; i < ninputs; i++) {
    if (sizes[i]) LLVMFuzzerTestOneInput(inputs[i], sizes[i]);
  }
  while (ninputs && mutations--) run_mutant();
  for (i = 0; i < ninputs; i++) free(inputs[i]);
  return 0;
}
