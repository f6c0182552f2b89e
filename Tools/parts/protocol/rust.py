"""Generates the Rust client's list of the methods that change nothing, which the client may repeat."""

import textwrap


def repeatable(document, _):
    names = ", ".join(f'"{one.name}"' for one in document.of_clients if one.changes_nothing)
    yield "const REPEATABLE: &[&str] = &["
    yield from (f"    {line}" for line in textwrap.wrap(names + ",", 106))
    yield "];"
