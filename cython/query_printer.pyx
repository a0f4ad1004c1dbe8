# SPDX-License-Identifier: MIT
# cython: language_level=3
"""From the tree to FTS5 expressions. Everything a user typed ends up inside a quoted string."""

from mnemogram._native.query_tree cimport (
    And,
    Node,
    Not,
    Or,
    Phrase,
    Token,
    leaves,
    root_of,
    trigrams_of,
)


cdef str quoted_string(str text):
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'


cdef int stack_need(Node node) except -1:
    """Entries that FTS5's parser needs, an operand in parentheses to the right costing three."""
    cdef list needs
    if isinstance(node, Phrase):
        return 1
    if isinstance(node, Not):
        return max(stack_need((<Not>node).keep) + 1, stack_need((<Not>node).drop) + 3)
    needs = sorted([stack_need(child) for child in (<object>node).children], reverse=True)
    return max(needs[0] + 1, needs[1] + 3)


cdef str joined_text(str operator, list nodes, list texts):
    """Operands with the most demanding first, so that nesting stays on the left."""
    cdef list order = sorted(range(len(nodes)), key=lambda i: -stack_need(nodes[i]))
    return f" {operator} ".join([wrapped(nodes[i], texts[i]) for i in order])


cdef str wrapped(Node node, str text):
    return text if isinstance(node, Phrase) else f"({text})"


cdef tuple print_tree(Node node, str route, bint superset, object unasked=frozenset()):
    """(node, text) of what a route can serve, or (None, None)."""
    cdef list nodes = [], texts = []
    if isinstance(node, Phrase):
        if route == "cjk" or route == "fts5":
            if superset and not (<Phrase>node).servable(route):
                return None, None
            if node in unasked:
                return print_beginning(<Phrase>node)
            return node, quoted_string((<Phrase>node).text) + (" *" if (<Phrase>node).prefix else "")
        trigrams = trigrams_of(<Phrase>node, route == "stock_trigram")
        if not trigrams:
            return None, None
        if len(trigrams) == 1:
            return node, quoted_string(trigrams[0])
        return node, "(" + " AND ".join([quoted_string(item) for item in trigrams]) + ")"
    if isinstance(node, Not):
        kept, keep = print_tree((<Not>node).keep, route, superset, unasked)
        if kept is None:
            return None, None
        if superset and not exact((<Not>node).drop, route, unasked):
            return kept, keep
        dropped, drop = print_tree((<Not>node).drop, route, superset, unasked)
        if dropped is None:
            return kept, keep
        return node, f"{wrapped(kept, keep)} NOT {wrapped(dropped, drop)}"
    for child in (<object>node).children:
        printed, text = print_tree(child, route, superset, unasked)
        if printed is not None:
            nodes.append(printed)
            texts.append(text)
        elif isinstance(node, Or):
            return None, None
    if not nodes:
        return None, None
    if len(nodes) == 1:
        return nodes[0], texts[0]
    return node, joined_text("AND" if isinstance(node, And) else "OR", nodes, texts)


cdef tuple print_beginning(Phrase phrase):
    """A phrase without its last token, which is not to be asked for."""
    cdef Py_ssize_t end
    if len(phrase.tokens) < 2:
        return None, None
    end = (<Token>phrase.tokens[len(phrase.tokens) - 2]).end
    return phrase, quoted_string(phrase.text[:end - phrase.start])


cdef bint exact(Node node, str route, object unasked=frozenset()) except -1:
    """Whether a route finds exactly what a node matches, so that it may be excluded there."""
    cdef list every = []
    if route != "cjk" and route != "fts5":
        return False
    leaves(node, True, every, every)
    return all([leaf.servable(route) and leaf not in unasked for leaf in every])


def to_fts5(query, str route not None="cjk", *, bint superset=False, unasked=()):
    """Print a query as an FTS5 MATCH expression.

    Every term is a quoted string, cut by FTS5 with the index's own tokenizer; NUL is printed as a
    space. Single CJK characters and last clusters carry ``*``.

    Args:
        query: a :class:`Query` or a node.
        route: ``cjk`` (an index by cjk_unicode61) or ``fts5`` (by unicode61).
        superset: leave out what the route cannot serve exactly, such that the result can only be
            wider; the texts found must then be checked by a :class:`Matcher`.
        unasked: phrases whose last token is not asked for; makes the result a superset.

    Returns:
        The expression, or ``None`` where nothing can be asked.

    Raises:
        ValueError: unknown route.
        TypeError: not a query.
    """
    cdef Node root = root_of(query)
    if route not in ("cjk", "fts5"):
        raise ValueError(f"unknown route {route!r}")
    unasked = frozenset(unasked)
    return None if root is None else print_tree(root, route, superset or bool(unasked), unasked)[1]


def to_trigram(query, *, bint stock=False):
    """Print a query for a trigram index, as a superset of the texts it matches inside words.

    The trigrams of a word are separate terms, so that ``detail=none`` serves them; a
    :class:`Matcher` with ``substring=True`` must check the texts found.

    Args:
        query: a :class:`Query` or a node.
        stock: for SQLite's own ``trigram`` tokenizer, which holds text of every script; by default
            for ``word_trigram``, which holds words outside CJK only.

    Returns:
        The expression, or ``None`` where some alternative has no piece of three characters.
    """
    cdef Node root = root_of(query)
    if root is None:
        return None
    return print_tree(root, "stock_trigram" if stock else "trigram", True)[1]


