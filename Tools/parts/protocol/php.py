"""Generates the calls of the PHP client."""

import textwrap


def repeatable(document, _):
    names = ", ".join(f"'{one.name}'" for one in document.of_clients if one.changes_nothing)
    yield "    private const REPEATABLE = ["
    yield from (f"        {line}" for line in textwrap.wrap(names + ",", 106))
    yield "    ];"
