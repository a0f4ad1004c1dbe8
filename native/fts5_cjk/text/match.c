/* SPDX-License-Identifier: MIT
**
** match.c: one pass over the tokens of a text, all phrases at once.
**
** A phrase is found by its first token: in a hash table where that token must
** be equal, in a chain by first character where it is a prefix, in a list where it
** may stand inside a word. Found phrases of more tokens become partial matches
** that wait for their next token at the next position. Memory is bounded by the
** tokens of the set, not by the text.
*/
#include "text/match.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  int first; /* index of its first token in tm_set.tokens */
  int ntoken;
  int prefix;
  int inside; /* kinds of token inside which it may begin: TC_WORD, TC_CLUSTER, or 0 */
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

/* Where in a word the characters counted so far end. */
typedef struct {
  int token; /* start of the word, or -1 */
  int raw;
  int folded;
} cursor;

typedef struct {
  const tm_set *set;
  const char *text;
  void *context;
  tm_hit_fn hit;
  int spans;
  int position;
  partials now, next;
  cursor from, to;
} scan;

static uint32_t hash_of(const char *text, int n) {
  uint32_t hash = 2166136261u;
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
    if (needed > set->abytes) {
      char *bytes = realloc(set->bytes, needed * 2);
      if (!bytes) return TC_NOMEM;
      set->bytes = bytes;
      set->abytes = needed * 2;
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
  if (ntoken > 0) {
    if (set->mode & TM_SUBSTRING) p->inside = tokens[0].flags & TC_WORD;
    if (flags & TM_INSIDE) p->inside |= tokens[0].flags & TC_CLUSTER;
  }
  p->next = -1;
  set->nitem += ntoken;
  enter(set, set->nphrase++);
  return TC_OK;
}

typedef struct {
  const char *wanted; /* what the first token should begin with, or NULL */
  int nwanted;
  int begins; /* whether it does */
  int n;      /* its bytes, 0 without one */
} measured;

static int measure_token(void *context, int flags, const char *token, int ntoken, int start,
                         int end) {
  measured *m = context;
  (void)flags;
  (void)start;
  (void)end;
  m->n = ntoken;
  m->begins =
      m->wanted && ntoken >= m->nwanted && memcmp(token, m->wanted, (size_t)m->nwanted) == 0;
  return TC_ERROR; /* one is enough */
}

static int measure(const scan *s, const char *text, int n) {
  measured m = {NULL, 0, 0, 0};
  (void)tc_tokenize(s->set->config, TC_QUERY, text, n, &m, measure_token);
  return m.n;
}

/* Bytes of the code point, or of the broken piece of one, at text[0..n). */
static int code_width(const char *text, int n) {
  int width = 1;
  while (width < n && width < 4 && ((uint8_t)text[width] & 0xC0) == 0x80) width++;
  return width;
}

/* Moves the cursor of the word at [start, end) on until `folded` bytes of it and
** the marks that belong to them are passed, and returns the offset in the
** source. A character that folds to bytes on both sides is passed if `whole`.
** Each character is measured behind the word's first one, since a combining
** mark alone is no token. */
static int advance(const scan *s, cursor *at, int start, int end, int folded, int whole) {
  const char *text = s->text + start;
  char pair[8];
  int head = code_width(text, end - start), base;
  if (at->token != start || at->folded > folded) {
    at->token = start;
    at->raw = 0;
    at->folded = 0;
  }
  memcpy(pair, text, (size_t)head);
  base = measure(s, pair, head);
  while (start + at->raw < end) {
    int width = code_width(text + at->raw, end - start - at->raw), n = base;
    if (at->raw > 0) {
      memcpy(pair + head, text + at->raw, (size_t)width);
      n = measure(s, pair, head + width) - base;
    }
    if (n > 0 && (at->folded >= folded || (at->folded + n > folded && !whole))) break;
    at->raw += width;
    at->folded += n > 0 ? n : 0;
  }
  return start + at->raw;
}

/* The end in the source of the first n bytes of a token that is no word: two
** characters or clusters at most, so trying its beginnings is cheap. */
static int beginning_end(const scan *s, const char *token, int n, int start, int end) {
  measured m = {token, n, 0, 0};
  int at = start;
  while (at < end) {
    at += code_width(s->text + at, end - at);
    (void)tc_tokenize(s->set->config, TC_QUERY, s->text + start, at - start, &m, measure_token);
    if (m.begins) return at;
  }
  return end;
}

/* Narrows a token's span to the bytes [from, to) of its folded text. */
static void narrow(scan *s, int flags, const char *token, int ntoken, int from, int to, int *start,
                   int *end) {
  int first = *start, last = *end;
  if (from == 0 && to == ntoken) return;
  if (!(flags & (TC_WORD | TC_CLUSTER))) {
    *end = beginning_end(s, token, to, first, last);
    return;
  }
  if (from > 0) *start = advance(s, &s->from, first, last, from, 0);
  if (to < ntoken) *end = advance(s, &s->to, first, last, to, 1);
  if (*end <= *start) {
    *start = first;
    *end = last;
  }
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
  if (s->spans) narrow(s, flags, token, ntoken, from, to, &start, &end);
  if (next == 0) begun = start;
  if (next == p->ntoken - 1) return s->hit(s->context, index, position, begun, end);
  return wait_for(s, index, next + 1, position, begun, whole);
}

static const char *find(const char *text, int n, const char *wanted, int m) {
  const char *end = text + n - m;
  while (text <= end) {
    const char *at = memchr(text, wanted[0], (size_t)(end - text) + 1);
    if (!at) return NULL;
    if (memcmp(at, wanted, (size_t)m) == 0) return at;
    text = at + 1;
  }
  return NULL;
}

/* A phrase that may begin inside a word or cluster, against one token. */
static int take_inside(scan *s, int index, int flags, const char *token, int ntoken, int start,
                       int end) {
  const phrase *p = &s->set->phrases[index];
  const item *it = &s->set->items[p->first];
  const char *wanted = s->set->bytes + it->text, *at = token;
  int rc = TC_OK;
  if (!(flags & p->inside) || ntoken < it->ntext) {
    if (p->ntoken == 1 && p->prefix ? ntoken < it->ntext : ntoken != it->ntext) return TC_OK;
    if (memcmp(token, wanted, (size_t)it->ntext)) return TC_OK;
    return take(s, index, 0, s->position, 0, flags, token, ntoken, 0, it->ntext, start, end);
  }
  if (p->ntoken > 1) {
    int from = ntoken - it->ntext;
    if (memcmp(token + from, wanted, (size_t)it->ntext)) return TC_OK;
    return take(s, index, 0, s->position, 0, flags, token, ntoken, from, ntoken, start, end);
  }
  while (rc == TC_OK && (at = find(at, (int)(token + ntoken - at), wanted, it->ntext)) != NULL) {
    int from = (int)(at - token);
    rc = take(s, index, 0, s->position, 0, flags, token, ntoken, from, from + it->ntext, start,
              end);
    if (!s->spans) break;
    at += it->ntext;
  }
  return rc;
}

static int on_token(void *context, int flags, const char *token, int ntoken, int start, int end) {
  scan *s = context;
  const tm_set *set = s->set;
  int rc = TC_OK, index, to;
  if (!(flags & TC_COLOCATED)) {
    partials swapped = s->now;
    s->now = s->next;
    s->next = swapped;
    s->next.n = 0;
    s->position++;
  }
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
  if (set->slots) {
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
            int *length) {
  scan s;
  int rc;
  memset(&s, 0, sizeof s);
  s.set = set;
  s.text = text;
  s.context = context;
  s.hit = hit;
  s.spans = flags & TM_SPANS;
  s.position = -1;
  s.from.token = s.to.token = -1;
  rc = tc_tokenize(set->config, TC_DOCUMENT, text, n, &s, on_token);
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
