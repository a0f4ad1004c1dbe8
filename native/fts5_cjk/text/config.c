/* SPDX-License-Identifier: MIT
**
** config.c: from the tokenizer's arguments to a tc_config.
*/
#include "text/config.h"

#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

static void get_record(uint16_t number, tt_record *record) {
  if (number < TT_NRECORD) {
    *record = tt_records[number];
  } else {
    const tt_short_record *s = &tt_short_records[number - TT_NRECORD];
    int i;
    memset(record, 0, sizeof(*record));
    record->known = s->known;
    record->category = TT_LO;
    record->kind = TT_CJK;
    for (i = 0; i < 3; i++) record->fold[i] = s->fold[0];
  }
}

/* Is the character a token character by its category alone? */
static int by_category(const tc_config *c, const tt_record *record) {
  return c->category[c->compat ? record->known : record->category];
}

/* exception: the character is named in tokenchars or separators against its category. */
static uint32_t resolve(const tc_config *c, uint16_t number, int exception) {
  tt_record record;
  uint32_t distance, kind, flags = 0;
  int token;
  get_record(number, &record);
  token = by_category(c, &record) ^ exception;
  distance = (c->compat ? record.original : record.fold)[c->remove_diacritics];
  if (number >= TT_NRECORD && !c->compat) {
    distance = tt_short_records[number - TT_NRECORD].fold[c->variants + 2 * c->han];
  }
  kind = record.kind;
  if (record.extra & c->extras) {
    if (record.extra & TT_EXPANDS) {
      if (!exception) return (uint32_t)TT_MANY << R_KIND_SHIFT | record.extra_fold;
    } else if (record.extra_fold != TT_DROP) {
      distance = record.extra_fold;
    } else if (!exception) {
      /* Continues whatever it stands in and begins nothing. */
      return kind << R_KIND_SHIFT | R_MORE | R_DIACRITIC | TT_DROP;
    }
  }
  if (is_cjk(kind)) {
    if (!token) return 0;
    if (c->compat) kind = TT_CJK;
    return kind << R_KIND_SHIFT | distance;
  }
  if (!c->compat && is_cluster(kind)) {
    return token ? kind << R_KIND_SHIFT | distance : 0;
  }
  if (!c->compat && is_emoji(kind)) {
    if (!exception && (record.known == TT_NONE || !token)) return kind << R_KIND_SHIFT | distance;
    kind = TT_OTHER;
  }
  if (c->compat) kind = TT_OTHER;
  if (token) flags = R_WORD | R_MORE;
  if (record.diacritic) flags |= R_MORE | R_DIACRITIC;
  if (flags == 0) distance = 0;
  return kind << R_KIND_SHIFT | flags | distance;
}

static int equal_ignoring_case(const char *a, const char *b) {
  for (; *a && *b; a++, b++) {
    int x = *a >= 'A' && *a <= 'Z' ? *a + 32 : *a;
    int y = *b >= 'A' && *b <= 'Z' ? *b + 32 : *b;
    if (x != y) return 0;
  }
  return *a == *b;
}

/* One element of `categories`, such as "Lu" or "N*". */
static int add_category(tc_config *c, const char *z) {
  static const struct {
    char major, minor;
    uint8_t number;
  } names[] = {
      {'C', 'c', TT_CC}, {'C', 'f', TT_CF}, {'C', 'n', TT_CN}, {'C', 's', TT_CS},
      {'C', 'o', TT_CO}, {'L', 'l', TT_LL}, {'L', 'm', TT_LM}, {'L', 'o', TT_LO},
      {'L', 't', TT_LT}, {'L', 'u', TT_LU}, {'L', 'C', TT_LC}, {'M', 'c', TT_MC},
      {'M', 'e', TT_ME}, {'M', 'n', TT_MN}, {'N', 'd', TT_ND}, {'N', 'l', TT_NL},
      {'N', 'o', TT_NO}, {'P', 'c', TT_PC}, {'P', 'd', TT_PD}, {'P', 'e', TT_PE},
      {'P', 'f', TT_PF}, {'P', 'i', TT_PI}, {'P', 'o', TT_PO}, {'P', 's', TT_PS},
      {'S', 'c', TT_SC}, {'S', 'k', TT_SK}, {'S', 'm', TT_SM}, {'S', 'o', TT_SO},
      {'Z', 'l', TT_ZL}, {'Z', 'p', TT_ZP}, {'Z', 's', TT_ZS},
  };
  size_t i;
  int found = 0;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (z[0] == names[i].major && (z[1] == names[i].minor || z[1] == '*')) {
      c->category[names[i].number] = 1;
      found = 1;
    }
  }
  /* What unicode61 does not know is a token character whatever is asked for. */
  c->category[TT_NONE] = 1;
  return found;
}

static int set_categories(tc_config *c, const char *z) {
  while (*z) {
    while (*z == ' ' || *z == '\t') z++;
    if (*z && !add_category(c, z)) return 0;
    while (*z && *z != ' ' && *z != '\t') z++;
  }
  return 1;
}

static void set_ascii(tc_config *c) {
  int i;
  for (i = 0; i < 256; i++) {
    if (i >= 0x80) {
      c->ascii[i] = 0xFF;
    } else if (i && c->category[tt_records[tt_lookup((uint32_t)i)].known]) {
      c->ascii[i] = (uint8_t)(i >= 'A' && i <= 'Z' ? i + 32 : i);
    }
  }
}

static uint32_t replace_nonchar(uint32_t cp) {
  return cp == 0xFFFE || cp == 0xFFFF ? 0xFFFD : cp;
}

static int add_exceptions(tc_config *c, const char *z, int token) {
  const uint8_t *p = (const uint8_t *)z;
  const uint8_t *end = p + strlen(z);
  size_t room = (size_t)c->nexception + (size_t)(end - p);
  uint32_t *grown;
  if (p == end) return TC_OK;
  grown = realloc(c->exception, room * sizeof(*grown));
  if (!grown) return TC_NOMEM;
  c->exception = grown;
  while (p < end) {
    uint32_t cp = 0;
    int valid;
    p += decode(p, end, &cp, &valid);
    if (!valid) continue;
    if (cp < 0x80) {
      c->ascii[cp] = (uint8_t)(!token ? 0 : cp >= 'A' && cp <= 'Z' ? cp + 32 : cp);
    } else {
      tt_record record;
      int i;
      cp = replace_nonchar(cp);
      get_record(tt_lookup(cp), &record);
      if (record.diacritic || by_category(c, &record) == token) continue;
      for (i = c->nexception; i > 0 && grown[i - 1] > cp; i--) grown[i] = grown[i - 1];
      grown[i] = cp;
      c->nexception++;
    }
  }
  return TC_OK;
}

/* Notes where exceptions lie, for the many characters that are none. */
static void note_exceptions(tc_config *c) {
  int i;
  for (i = 0; i < c->nexception; i++) {
    uint32_t cp = c->exception[i];
    uint16_t number = tt_lookup(cp);
    c->exception_blocks[cp >> 13] |= 1u << (cp >> 8 & 31);
    c->plain_exceptions |=
        (uint8_t)(is_plain(resolve(c, number, 0)) || is_plain(resolve(c, number, 1)));
  }
}

static const struct {
  const char *name, *wrong;
  uint8_t bit;
} extra_options[] = {
    {"invisible", "invisible must be 0 or 1", TT_E_INVISIBLE},
    {"digits", "digits must be 0 or 1", TT_E_DIGITS},
    {"marks", "marks must be 0 or 1", TT_E_MARKS},
    {"arabic", "arabic must be 0 or 1", TT_E_ARABIC},
    {"letters", "letters must be 0 or 1", TT_E_LETTERS},
    {"forms", "forms must be 0 or 1", TT_E_FORMS},
};

/* The value of a 0/1 argument, or -1. */
static int switch_value(const char *z) {
  return (z[0] == '0' || z[0] == '1') && z[1] == 0 ? z[0] - '0' : -1;
}

/* Takes an option of the extra folds: 1 if it is one. */
static int set_extra(tc_config *c, const char *name, const char *value, const char **wrong) {
  size_t i;
  for (i = 0; i < sizeof(extra_options) / sizeof(extra_options[0]); i++) {
    if (!equal_ignoring_case(name, extra_options[i].name)) continue;
    if (switch_value(value) < 0) *wrong = extra_options[i].wrong;
    c->extras = (uint8_t)(c->extras & ~extra_options[i].bit);
    if (switch_value(value) == 1) c->extras = (uint8_t)(c->extras | extra_options[i].bit);
    return 1;
  }
  return 0;
}

static void note_letters(tc_config *c) {
  uint32_t cp;
  for (cp = 0x80; cp < TWO_BYTES; cp++) {
    uint32_t r = record_of(c, cp);
    uint32_t folded = (cp + (r & TT_DISTANCE)) & TT_DISTANCE;
    if (is_one_letter(r) && folded < TWO_BYTES) c->letter[cp] = (uint16_t)folded;
  }
}

int tc_config_new(const char *const *args, int nargs, tc_config **out, const char **error) {
  const char *categories = "L* N* Co";
  const char *wrong = NULL;
  tc_config *c;
  int rc = TC_OK;
  int i;
  *out = NULL;
  *error = NULL;
  if (nargs % 2) {
    *error = "tokenizer arguments come in pairs: name, value";
    return TC_ERROR;
  }
  c = calloc(1, sizeof(*c));
  if (!c) {
    *error = "out of memory";
    return TC_NOMEM;
  }
  c->remove_diacritics = 1;
  /* These decide what an exception is, so they come before tokenchars and separators. */
  for (i = 0; i < nargs && !wrong; i += 2) {
    const char *name = args[i], *value = args[i + 1];
    if (equal_ignoring_case(name, "categories")) {
      categories = value;
    } else if (equal_ignoring_case(name, "compat")) {
      if (switch_value(value) < 0) wrong = "compat must be 0 or 1";
      c->compat = (uint8_t)(switch_value(value) == 1);
    } else if (equal_ignoring_case(name, "variants")) {
      if (switch_value(value) < 0) wrong = "variants must be 0 or 1";
      c->variants = (uint8_t)(switch_value(value) == 1);
    } else if (equal_ignoring_case(name, "han")) {
      if (switch_value(value) < 0) wrong = "han must be 0 or 1";
      c->han = (uint8_t)(switch_value(value) == 1);
    } else if (set_extra(c, name, value, &wrong)) {
      continue;
    } else if (equal_ignoring_case(name, "remove_diacritics")) {
      if (value[0] < '0' || value[0] > '2' || value[1]) {
        wrong = "remove_diacritics must be 0, 1 or 2";
      } else {
        c->remove_diacritics = (uint8_t)(value[0] - '0');
      }
    } else if (!equal_ignoring_case(name, "tokenchars") &&
               !equal_ignoring_case(name, "separators")) {
      wrong = "unknown argument: use remove_diacritics, categories, tokenchars, separators, "
              "variants, han, invisible, digits, marks, arabic, letters, forms or compat";
    }
  }
  if (!wrong && !set_categories(c, categories)) {
    wrong = "categories must be general categories such as L* or Nd, divided by spaces";
  }
  if (wrong) {
    tc_config_free(c);
    *error = wrong;
    return TC_ERROR;
  }
  if (c->compat) c->extras = 0;
  set_ascii(c);
  for (i = 0; i < nargs && rc == TC_OK; i += 2) {
    if (equal_ignoring_case(args[i], "tokenchars")) rc = add_exceptions(c, args[i + 1], 1);
    if (equal_ignoring_case(args[i], "separators")) rc = add_exceptions(c, args[i + 1], 0);
  }
  if (rc != TC_OK) {
    tc_config_free(c);
    *error = "out of memory";
    return rc;
  }
  for (i = 0; i < NRESOLVED; i++) c->resolved[i] = resolve(c, (uint16_t)i, 0);
  note_exceptions(c);
  note_letters(c);
  *out = c;
  return TC_OK;
}

void tc_config_free(tc_config *config) {
  if (!config) return;
  free(config->exception);
  free(config);
}

static int is_exception(const tc_config *c, uint32_t cp) {
  int low = 0, high = c->nexception;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (c->exception[middle] == cp) return 1;
    if (c->exception[middle] < cp) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return 0;
}

uint32_t tc_resolved(const tc_config *config, uint16_t number, uint32_t cp) {
  if (is_exception(config, replace_nonchar(cp))) return resolve(config, number, 1);
  return config->resolved[number];
}
