"""Generates the Java client's set of the methods that change nothing, which the client may repeat."""

import textwrap


def repeatable(document, _):
    names = ", ".join(f'"{one.name}"' for one in document.of_clients if one.changes_nothing)
    yield "    private static final Set<String> REPEATABLE = Set.of("
    yield from (f"        {line}" for line in textwrap.wrap(names + ");", 106))
