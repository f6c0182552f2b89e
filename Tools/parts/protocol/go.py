"""Generates the calls of the Go client."""

import textwrap


def repeatable(document, _):
    names = ", ".join(f'"{one.name}":\N{NO-BREAK SPACE}true' for one in document.of_clients if one.changes_nothing)
    yield "var repeatable = map[string]bool{"
    for line in textwrap.wrap(names + ",", 110):
        yield "\t" + line.replace("\N{NO-BREAK SPACE}", " ")
    yield "}"
    yield ""
