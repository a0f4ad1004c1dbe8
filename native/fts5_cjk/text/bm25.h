/* SPDX-License-Identifier: MIT
**
** bm25.h: BM25 (Robertson and Zaragoza 2009), the formula of all that is ranked: of every
** match by rank.c, of the best by cython/scorer.pyx, and of mnemogram.bm25.
**
** A phrase counts
**
**     weight * tf * (K + 1) / (tf + norm)              it stands tf times in the text
**     norm   = K * (1 - B + B * length)                of so many average lengths
**     weight = ln(1 + (N - n + 0.5) / (n + 0.5))       by default: n of N texts hold it
**
** that is, the share tf / (tf + norm) of what it can count at most. Scores that are equal
** but for a last bit come in another order, so that each caller keeps to its function.
*/
#ifndef MNEMOGRAM_BM25_H
#define MNEMOGRAM_BM25_H

#include <math.h>

#define BM25_K 1.2 /* how soon further occurrences of a phrase stop counting */
#define BM25_B 0.6 /* how much a text's length matters */

static inline double bm25_rarity(double texts, double holding) {
  return log(1.0 + (texts - holding + 0.5) / (holding + 0.5));
}

static inline double bm25_norm(double length, double k, double b) {
  return k * (1.0 - b + b * length);
}

static inline double bm25_part(double weight, double tf, double norm, double k) {
  return weight * tf * (k + 1.0) / (tf + norm);
}

static inline double bm25_most(double weight, double k) { return weight * (k + 1.0); }

static inline double bm25_share(double tf, double norm) { return tf / (tf + norm); }

#endif
