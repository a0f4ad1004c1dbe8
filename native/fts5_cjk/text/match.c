/* SPDX-License-Identifier: MIT
**
** match.c: one pass over the tokens of a text, all phrases at once.
**
** A phrase is found by its first token: in a hash table where that token must
** be equal, in a chain by first character where it is a prefix, in a list where it
** may stand inside a word. Found phrases of more tokens become partial matches
** that wait for their next token at the next position. Memory is bounded by the
** tokens of the set, not by the text. Time is so for each byte of the text: words are searched
** inside by Knuth, Morris and Pratt, and spans are found by one walk along a word's source.
*/
#include "text/match.h"

#include <stdlib.h>
#include <string.h>

#include "text/work.h"

typedef struct {
  int first; /* index of its first token in tm_set.tokens */
  int ntoken;
  int prefix;
  int inside; /* kinds of token inside which it may begin: TC_WORD, TC_CLUSTER, or 0 */
  int *borders; /* of its first token, where that is looked for inside; see find() */
  int next;   /* next phrase of the same chain, or -1 */
} phrase;

typedef struct {
  size_t text; /* offset in tm_set.bytes */
  int ntext;
  int flags;
  uint32_t hash;
} item;

struct tm_set {
  const tc_config *config;
  int mode;
  phrase *phrases;
  item *items;
  char *bytes;
  int *slots; /* hash table of first tokens: heads of chains, or -1 */
  int nphrase, aphrase, nitem, aitem;
  int longest; /* bytes of a first token in the hash table */
  size_t nbytes, abytes;
  uint32_t mask;
  int prefixes[256]; /* chains of prefixes by first character, or -1 */
  int inside;        /* chain of phrases that may begin inside a word, or -1 */
};

/* A phrase whose tokens before `next` stand right before the current position. */
typedef struct {
  int phrase;
  int next;
  int position;
  int start;
  int end; /* of the token before */
} partial;

typedef struct {
  partial *items;
  int n, allocated;
} partials;

/* A walk along the source of a word or cluster. */
typedef struct {
  int start; /* of the source, or -1 */
  tc_walk walk;
} cursor;

typedef struct {
  const tm_set *set;
  const char *text;
  void *context;
  tm_hit_fn hit;
  const tc_pause *pause;
  int left; /* work until the next pause */
  int spans;
  int position;
  partials now, next;
  cursor from, to;
} scan;

/* Asks for a pause once for each piece of work that is no tokenizing. */
static int worked(scan *s, int work) {
  if (!s->pause || (s->left -= work) > 0) return TC_OK;
  s->left = TC_PIECE;
  return s->pause->ask(s->pause->context);
}

static uint32_t hash_of(const char *text, int n) {
  uint32_t hash = 2166136261u;
  WORK(n);
  for (int i = 0; i < n; i++) hash = (hash ^ (uint8_t)text[i]) * 16777619u;
  return hash;
}

static int grow(void **array, int *allocated, int needed, size_t size) {
  int count = *allocated ? *allocated : 16;
  void *grown;
  if (needed <= *allocated) return TC_OK;
  while (count < needed) {
    if (count > INT32_MAX / 2) return TC_NOMEM;
    count *= 2;
  }
  grown = realloc(*array, (size_t)count * size);
  if (!grown) return TC_NOMEM;
  *array = grown;
  *allocated = count;
  return TC_OK;
}

int tm_set_new(const tc_config *config, int mode, tm_set **out) {
  tm_set *set = calloc(1, sizeof *set);
  *out = NULL;
  if (!set) return TC_NOMEM;
  set->config = config;
  set->mode = mode;
  set->inside = -1;
  for (int i = 0; i < 256; i++) set->prefixes[i] = -1;
  *out = set;
  return TC_OK;
}

void tm_set_free(tm_set *set) {
  if (!set) return;
  for (int i = 0; i < set->nphrase; i++) free(set->phrases[i].borders);
  free(set->phrases);
  free(set->items);
  free(set->bytes);
  free(set->slots);
  free(set);
}

/* Chain of the prefixes that may begin a token. A prefix holds its first character
** whole; the first byte alone is the same for all letters of a script. */
static uint8_t first_character(const char *token, int ntoken) {
  const uint8_t *byte = (const uint8_t *)token;
  if (byte[0] < 0xC0 || ntoken < 2) return byte[0];
  if (byte[0] < 0xE0 || ntoken < 3) return (uint8_t)((byte[0] << 6) ^ byte[1]);
  return (uint8_t)((byte[1] << 6) ^ byte[2]);
}

/* Puts a phrase at the head of the chain where its first token is looked up. */
static void enter(tm_set *set, int index) {
  phrase *p = &set->phrases[index];
  const item *first;
  int *head;
  if (p->ntoken == 0) return;
  first = &set->items[p->first];
  if (p->inside) {
    head = &set->inside;
  } else if (p->ntoken == 1 && p->prefix && first->ntext > 0) {
    head = &set->prefixes[first_character(set->bytes + first->text, first->ntext)];
  } else {
    head = &set->slots[first->hash & set->mask];
    if (first->ntext > set->longest) set->longest = first->ntext;
  }
  p->next = *head;
  *head = index;
}

/* Doubles the hash table and enters every phrase again. */
static int rehash(tm_set *set) {
  uint32_t size = set->slots ? (set->mask + 1) * 2 : 64;
  int *slots = malloc(size * sizeof *slots);
  if (!slots) return TC_NOMEM;
  free(set->slots);
  set->slots = slots;
  set->mask = size - 1;
  set->inside = -1;
  for (int i = 0; i < 256; i++) set->prefixes[i] = -1;
  for (uint32_t i = 0; i < size; i++) slots[i] = -1;
  for (int i = 0; i < set->nphrase; i++) enter(set, i);
  return TC_OK;
}

/* borders[i]: of text[0..i+1), the length of its longest proper beginning that is also an end
** of it (Knuth, Morris and Pratt 1977). */
static int *borders_of(const char *text, int n) {
  int *borders = malloc((size_t)n * sizeof *borders);
  if (!borders) return NULL;
  borders[0] = 0;
  for (int i = 1, k = 0; i < n; i++) {
    while (k > 0 && text[i] != text[k]) k = borders[k - 1];
    if (text[i] == text[k]) k++;
    borders[i] = k;
  }
  return borders;
}

int tm_set_add(tm_set *set, const tm_token *tokens, int ntoken, int flags) {
  phrase *p;
  int rc = grow((void **)&set->phrases, &set->aphrase, set->nphrase + 1, sizeof *set->phrases);
  if (rc == TC_OK)
    rc = grow((void **)&set->items, &set->aitem, set->nitem + ntoken, sizeof *set->items);
  if (rc != TC_OK) return rc;
  if (!set->slots || (uint32_t)set->nphrase * 4 >= set->mask) {
    rc = rehash(set);
    if (rc != TC_OK) return rc;
  }
  for (int i = 0; i < ntoken; i++) {
    item *it = &set->items[set->nitem + i];
    size_t needed = set->nbytes + (size_t)tokens[i].ntext;
    if (tokens[i].ntext < 0) return TC_ERROR;
    if (needed >= set->abytes) {
      char *bytes = realloc(set->bytes, needed * 2 + 64);
      if (!bytes) return TC_NOMEM;
      set->bytes = bytes;
      set->abytes = needed * 2 + 64;
    }
    if (tokens[i].ntext) memcpy(set->bytes + set->nbytes, tokens[i].text, (size_t)tokens[i].ntext);
    it->text = set->nbytes;
    it->ntext = tokens[i].ntext;
    it->flags = tokens[i].flags;
    it->hash = hash_of(tokens[i].text, tokens[i].ntext);
    set->nbytes = needed;
  }
  p = &set->phrases[set->nphrase];
  p->first = set->nitem;
  p->ntoken = ntoken;
  p->prefix = flags & TM_PREFIX;
  p->inside = 0;
  p->borders = NULL;
  if (ntoken > 0) {
    if (set->mode & TM_SUBSTRING) p->inside = tokens[0].flags & TC_WORD;
    if (flags & TM_INSIDE) p->inside |= tokens[0].flags & TC_CLUSTER;
  }
  if (p->inside && ntoken == 1 && tokens[0].ntext > 0) {
    p->borders = borders_of(tokens[0].text, tokens[0].ntext);
    if (!p->borders) return TC_NOMEM;
  }
  p->next = -1;
  set->nitem += ntoken;
  enter(set, set->nphrase++);
  return TC_OK;
}

/* Where in the source of a token the bytes before `wanted` end. */
static int walk_to(scan *s, cursor *at, int family, const char *token, int ntoken, int start,
                   int end, int wanted, int whole) {
  int earliest = whole ? at->walk.before + 1 : at->walk.token;
  if (at->start != start || wanted < earliest) *at = (cursor){start, {0, 0, 0}};
  return tc_walk_on(s->set->config, family, s->text + start, end - start, token, ntoken, wanted,
                    whole, &at->walk, s->pause);
}

/* Narrows a token's span to the bytes [from, to) of its folded text. */
static int narrow(scan *s, int flags, const char *token, int ntoken, int from, int to, int *start,
                  int *end) {
  int first = *start, last = *end, rc = TC_OK;
  if (from == 0 && to == ntoken) return TC_OK;
  if (!(flags & (TC_WORD | TC_CLUSTER))) {
    rc = tc_first_end(s->set->config, s->text + first, last - first, token, to, end, s->pause);
    *end += first;
    return rc;
  }
  if (from > 0) {
    rc = walk_to(s, &s->from, flags, token, ntoken, first, last, from, 0);
    *start = first + s->from.walk.source;
  }
  if (rc == TC_OK && to < ntoken) {
    rc = walk_to(s, &s->to, flags, token, ntoken, first, last, to, 1);
    *end = first + s->to.walk.source;
  }
  if (*end <= *start) {
    *start = first;
    *end = last;
  }
  return rc;
}

static int wait_for(scan *s, int index, int next, int position, int start, int end) {
  partials *p = &s->next;
  int rc = grow((void **)&p->items, &p->allocated, p->n + 1, sizeof *p->items);
  if (rc != TC_OK) return rc;
  p->items[p->n++] = (partial){index, next, position, start, end};
  return TC_OK;
}

/* Whether a token can be the one at place `next` of a phrase; *to receives how
** many of its bytes the phrase takes. Not for a place where words may begin
** inside. */
static int fits(const tm_set *set, const phrase *p, int next, int flags, const char *token,
                int ntoken, int *to) {
  const item *it = &set->items[p->first + next];
  int last = next == p->ntoken - 1;
  int open = last && (p->prefix || ((set->mode & TM_SUBSTRING) && (it->flags & TC_WORD) &&
                                    (flags & TC_WORD)));
  *to = it->ntext;
  if (open ? ntoken < it->ntext : ntoken != it->ntext) return 0;
  return memcmp(token, set->bytes + it->text, (size_t)it->ntext) == 0;
}

/* Takes a token as the one at place `next` of a phrase, of its bytes [from, to). */
static int take(scan *s, int index, int next, int position, int begun, int flags,
                const char *token, int ntoken, int from, int to, int start, int end) {
  const phrase *p = &s->set->phrases[index];
  int whole = end;
  if (s->spans) {
    int rc = narrow(s, flags, token, ntoken, from, to, &start, &end);
    if (rc != TC_OK) return rc;
  }
  if (next == 0) begun = start;
  if (next == p->ntoken - 1) return s->hit(s->context, index, position, begun, end);
  return wait_for(s, index, next + 1, position, begun, whole);
}

/* The next place of a phrase's only token in text[from..n), n where there is none. Each byte
** is looked at once; *rc tells of a pause. */
static int find(scan *s, const phrase *p, const char *text, int from, int n, int *rc) {
  const item *it = &s->set->items[p->first];
  const char *wanted = s->set->bytes + it->text;
  int i = from, k = 0;
  if (it->ntext == 0) return n;
  while (i < n) {
    int stop = n - i > TC_PIECE ? i + TC_PIECE : n, begun = i;
    while (i < stop) {
      if (k == 0) {
        const char *at = memchr(text + i, wanted[0], (size_t)(stop - i));
        if (!at) {
          i = stop;
          break;
        }
        i = (int)(at - text);
      }
      while (k > 0 && text[i] != wanted[k]) k = p->borders[k - 1];
      if (text[i] == wanted[k]) k++;
      i++;
      if (k == it->ntext) return i - k;
    }
    WORK(i - begun);
    *rc = worked(s, (i - begun) / 8);
    if (*rc != TC_OK) return n;
  }
  return n;
}

/* A phrase that may begin inside a word or cluster, against one token. */
static int take_inside(scan *s, int index, int flags, const char *token, int ntoken, int start,
                       int end) {
  const phrase *p = &s->set->phrases[index];
  const item *it = &s->set->items[p->first];
  const char *wanted = s->set->bytes + it->text;
  int rc = TC_OK, from = 0;
  if (!(flags & p->inside) || ntoken < it->ntext) {
    if (p->ntoken == 1 && p->prefix ? ntoken < it->ntext : ntoken != it->ntext) return TC_OK;
    if (memcmp(token, wanted, (size_t)it->ntext)) return TC_OK;
    return take(s, index, 0, s->position, 0, flags, token, ntoken, 0, it->ntext, start, end);
  }
  if (p->ntoken > 1) {
    from = ntoken - it->ntext;
    if (memcmp(token + from, wanted, (size_t)it->ntext)) return TC_OK;
    return take(s, index, 0, s->position, 0, flags, token, ntoken, from, ntoken, start, end);
  }
  while ((from = find(s, p, token, from, ntoken, &rc)) < ntoken) {
    rc = take(s, index, 0, s->position, 0, flags, token, ntoken, from, from + it->ntext, start,
              end);
    if (rc != TC_OK || !s->spans) break;
    from += it->ntext;
  }
  return rc;
}

static int on_token(void *context, int flags, const char *token, int ntoken, int start, int end) {
  scan *s = context;
  const tm_set *set = s->set;
  int rc, index, to;
  if (!(flags & TC_COLOCATED)) {
    partials swapped = s->now;
    s->now = s->next;
    s->next = swapped;
    s->next.n = 0;
    s->position++;
  }
  WORK(s->now.n);
  rc = worked(s, s->now.n);
  for (int i = 0; rc == TC_OK && i < s->now.n; i++) {
    partial waiting = s->now.items[i];
    if ((set->mode & TM_ADJACENT) && start >= waiting.end &&
        (set->items[set->phrases[waiting.phrase].first + waiting.next].flags & TM_OVERLAPS))
      continue;
    if (fits(set, &set->phrases[waiting.phrase], waiting.next, flags, token, ntoken, &to)) {
      rc = take(s, waiting.phrase, waiting.next, waiting.position, waiting.start, flags, token,
                ntoken, 0, to, start, end);
    }
  }
  if (set->slots && ntoken <= set->longest) {
    index = set->slots[hash_of(token, ntoken) & set->mask];
    for (; rc == TC_OK && index >= 0; index = set->phrases[index].next) {
      if (fits(set, &set->phrases[index], 0, flags, token, ntoken, &to))
        rc = take(s, index, 0, s->position, 0, flags, token, ntoken, 0, to, start, end);
    }
  }
  index = ntoken > 0 ? set->prefixes[first_character(token, ntoken)] : -1;
  for (; rc == TC_OK && index >= 0; index = set->phrases[index].next) {
    if (fits(set, &set->phrases[index], 0, flags, token, ntoken, &to))
      rc = take(s, index, 0, s->position, 0, flags, token, ntoken, 0, to, start, end);
  }
  index = ntoken > 0 ? set->inside : -1;
  for (; rc == TC_OK && index >= 0; index = set->phrases[index].next) {
    rc = take_inside(s, index, flags, token, ntoken, start, end);
  }
  return rc;
}

int tm_scan(const tm_set *set, int flags, const char *text, int n, void *context, tm_hit_fn hit,
            int *length, const tc_pause *pause) {
  scan s;
  int rc;
  memset(&s, 0, sizeof s);
  s.set = set;
  s.text = text;
  s.context = context;
  s.hit = hit;
  s.pause = pause;
  s.left = TC_PIECE;
  s.spans = flags & TM_SPANS;
  s.position = -1;
  s.from.start = s.to.start = -1;
  rc = tc_tokenize_in_pieces(set->config, TC_DOCUMENT, text, n, &s, on_token, pause);
  if (length) *length = s.position + 1;
  free(s.now.items);
  free(s.next.items);
  return rc;
}

int tm_evaluate(const int *program, int n, const uint8_t *seen) {
  uint8_t stack[TM_STACK];
  int top = 0;
  for (int i = 0; i < n; i++) {
    int op = program[i];
    if (op >= 0) {
      stack[top++] = seen[op];
      continue;
    }
    if (top < 2) return 0; /* no program */
    top--;
    if (op == TM_AND) {
      stack[top - 1] &= stack[top];
    } else if (op == TM_OR) {
      stack[top - 1] |= stack[top];
    } else {
      stack[top - 1] &= (uint8_t)!stack[top];
    }
  }
  return top > 0 && stack[0];
}
