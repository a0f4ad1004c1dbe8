# SPDX-License-Identifier: MIT
"""tantivy: bigrams for CJK and Thai, words and tantivy's own stemmer for the rest."""

from __future__ import annotations

import re
from importlib import metadata

import tantivy

from bench.data import LabelledSet
from bench.quality.engines import Found
from bench.quality.engines.bm25 import words

_STEMMERS = {
    "ar": "arabic", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "fr": "french", "it": "italian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "tr": "turkish",
}  # fmt: skip
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uff66-\uff9f]"
)


def _cut(text: str) -> list[str]:
    cut: list[str] = []
    for word in words(text):
        if len(word) > 1 and _UNSPACED.match(word):
            cut.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            cut.append(word)
    return cut


class Tantivy:
    """One tantivy index in memory."""

    def __init__(self, labelled: LabelledSet) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("number", stored=True)
        builder.add_text_field("text", stored=False, tokenizer_name="cut", index_option="freq")
        self._schema = builder.build()
        index = tantivy.Index(self._schema)
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        stemmer = _STEMMERS.get(labelled.language)
        if stemmer:
            analyzer = analyzer.filter(tantivy.Filter.stemmer(stemmer))
        self._analyzer = analyzer.build()
        index.register_tokenizer("cut", self._analyzer)
        writer = index.writer(heap_size=50_000_000, num_threads=1)
        self._found: list[Found] = []
        for dialogue in labelled.dialogues:
            for each in dialogue.messages:
                document = tantivy.Document()
                document.add_unsigned("number", len(self._found))
                document.add_text("text", " ".join(_cut(each.searchable())))
                writer.add_document(document)
                self._found.append(Found(dialogue.id, each.id))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()

    def search(self, text: str, limit: int) -> tuple[list[Found], str]:
        """Return the best messages by bm25 for the OR of all tokens."""
        tokens = dict.fromkeys(self._analyzer.analyze(" ".join(_cut(text))))
        if not tokens:
            return [], "empty"
        terms = (tantivy.Query.term_query(self._schema, "text", token, "freq") for token in tokens)
        query = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        hits = self._searcher.search(query, limit).hits
        return [
            self._found[self._searcher.doc(address)["number"][0]] for _, address in hits
        ], "tantivy"

    def versions(self) -> dict[str, str]:
        """Return tantivy's version."""
        return {"tantivy": metadata.version("tantivy")}


def build(labelled: LabelledSet, variant: str) -> Tantivy:
    """Index a set."""
    return Tantivy(labelled)
