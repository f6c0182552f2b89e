"""Generates the Ruby client's list of the methods that change nothing, which the client may repeat."""

import textwrap


def repeatable(document, _):
    names = " ".join(one.name for one in document.of_clients if one.changes_nothing)
    yield "    REPEATABLE = %w["
    yield from (f"      {line}" for line in textwrap.wrap(names, 106))
    yield "    ].freeze"
