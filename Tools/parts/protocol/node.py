"""Generates the calls of the Node client."""

import textwrap


def repeatable(document, _):
    names = ", ".join(f'"{one.name}"' for one in document.of_clients if one.changes_nothing)
    yield "const REPEATABLE = new Set(["
    yield from (f"    {line}" for line in textwrap.wrap(names + ",", 110))
    yield "]);"
