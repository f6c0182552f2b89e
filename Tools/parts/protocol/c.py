"""Generates the calls of the C client."""

import textwrap

TYPES = {"boolean": "bool", "integer": "int64_t"}
# Replacements for reserved words of C and C++, since C++ programs also use the header.
KEYWORDS = {"namespace": "id_namespace"}
JSON = {"object": ("HEADGATE_OBJECT", "not a JSON object"), "array": ("HEADGATE_ARRAY", "not a JSON array")}


def repeatable(document, _):
    names = ", ".join(f'"{one.name}"' for one in document.of_clients if one.changes_nothing)
    yield "static const char *const repeatable_methods[] = {"
    yield from textwrap.wrap(names, 112, initial_indent="    ", subsequent_indent="    ")
    yield "};"


def called(one):
    """Returns the name of a parameter in C."""
    return KEYWORDS.get(one.name, one.name)


def wrapped(begin, parts, end):
    """Formats a list of parameters or arguments, wrapped at the line length."""
    lines = [begin]
    for place, part in enumerate(parts):
        is_last = place + 1 == len(parts)
        part += end if is_last else ","
        if len(lines[-1] + part) > 120:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * len(begin))
        lines[-1] += part + ("" if is_last else " ")
    return lines


def signature(method):
    parts = ["headgate *client"]
    for one in method.ordered():
        kind = TYPES.get(one.kind)
        parts.append(f"{kind} {called(one)}" if kind else f"const char *{called(one)}")
    parts.append("long deadline_ms")
    if method.only_result and method.only_result.kind == "integer":
        parts.append(f"int64_t *{method.only_result.name}")
    elif not method.is_answered_empty:
        parts.append("headgate_answer *answer")
    return parts + ["headgate_error *error"]


def name_of(method):
    return f"headgate_{method.called('c')}"


def declarations(_, plain):
    for method in plain:
        json = "".join(f" `{called(one)}` is JSON." for one in method.ordered() if one.kind in ("object", "array", "any"))
        none = "".join(
            f" `{called(one)}` below 0 is none." for one in method.ordered() if one.kind == "integer" and not one.is_required
        )
        yield from textwrap.wrap(f"/* {method.summary}{json}{none} */", 120, subsequent_indent=" * ")
        yield from wrapped(f"bool {name_of(method)}(", signature(method), ");")


def member(one):
    if one.kind == "boolean":
        return f'member_true(&params, "{one.name}", {called(one)});'
    if one.kind == "integer":
        return f'member_{"int" if one.is_required else "limit"}(&params, "{one.name}", {called(one)});'
    if one.kind in ("string", "word"):
        return f'member_text(&params, "{one.name}", {called(one)});'
    kind, problem = JSON.get(one.kind, ("HEADGATE_NONE", "not JSON"))
    said = "are" if one.kind == "array" else "is"
    return f'member_json(&params, "{one.name}", {called(one)}, {kind}, "{one.name} {said} {problem}");'


def definitions(_, plain):
    for place, method in enumerate(plain):
        if place:
            yield ""
        yield from wrapped(f"bool {name_of(method)}(", signature(method), ") {")
        yield "    bytes params = params_begin();"
        for one in method.ordered():
            yield "    " + member(one)
        yield f"    return {asked(method)};"
        yield "}"


def asked(method):
    only = method.only_result
    if only and only.kind == "integer":
        return f'ask_count(client, "{method.name}", &params, "{only.name}", deadline_ms, {only.name}, error)'
    if only:
        return f'ask_for(client, "{method.name}", &params, "{only.name}", HEADGATE_ARRAY, deadline_ms, answer, error)'
    answer = "NULL" if method.is_answered_empty else "answer"
    return f'ask(client, "{method.name}", &params, deadline_ms, {answer}, error)'


def certified(_, plain):
    """Generates a function for each method that takes its arguments from a line."""
    for method in plain:
        only = method.only_result
        name = f"call_{method.called('c')}"
        parts = ["client", *(argument(one) for one in method.ordered()), "deadline"]
        counts = only and only.kind == "integer"
        parts += ["&count"] if counts else [] if method.is_answered_empty else ["answer"]
        begin = f'COUNT({name}, "{only.name}", ' if counts else f"CALL({name}, "
        yield from wrapped(f"{begin}{name_of(method)}(", [*parts, "error"], "))")


def argument(one):
    reading = {"boolean": "is_true(from, {0})", "string": "text_of(from, {0})", "word": "text_of(from, {0})"}
    if one.kind == "integer":
        return f'number_of(from, "{one.name}", -1)'
    return reading.get(one.kind, "json_of(from, {0})").format(f'"{one.name}"')


def entries(_, plain):
    """Generates a table entry for each method."""
    for method in plain:
        counts = "true" if method.only_result and method.only_result.kind == "integer" else "false"
        yield f'    {{"{method.name}", call_{method.called("c")}, {counts}}},'
