"""Generates the calls of the Python clients."""

import textwrap

TYPES = {"string": "str", "word": "str", "integer": "int", "boolean": "bool", "object": "Mapping[str, Any]", "any": "Any"}


def repeatable(document, _):
    yield "_REPEATABLE = frozenset("
    names = " ".join(one.name for one in document.of_clients if one.changes_nothing)
    yield f'    "{names}".split()'
    yield ")"


def element_of(one):
    return TYPES[one.schema["items"].get("type", "any")]


def declared(one):
    kind = f"Sequence[{element_of(one)}]" if one.kind == "array" else TYPES[one.kind]
    if one.is_required:
        return f"{one.name}: {kind}"
    if one.kind == "boolean" and one.schema.get("default") is False:
        return f"{one.name}: bool = False"
    return f"{one.name}: Optional[{kind}] = None"


def given(method, givens):
    """Returns the params of a call. `givens` is the function that omits missing arguments."""
    if not method.params:
        return "None"
    if all(one.is_required for one in method.params):
        return "{" + ", ".join(f'"{one.name}": {one.name}' for one in method.params) + "}"
    names = (
        f"{one.name}={one.name}" + (" or None" if one.schema.get("default") is False else "") for one in method.params
    )
    return f"{givens}({', '.join(names)})"


def calls(_, plain):
    yield from functions(plain, "def", "self.call", "_member", "_given")


def async_calls(_, plain):
    yield from functions(plain, "async def", "await self.call", "headgate._member", "headgate._given")


def functions(plain, define, caller, member, givens):
    for place, method in enumerate(plain):
        if place:
            yield ""
        only = method.only_result
        result = "None" if method.is_answered_empty else "JSONObject"
        if only:
            result = "int" if only.kind == "integer" else f"List[{element_of(only)}]"
        parameters = ["self", *map(declared, method.ordered()), "deadline: Optional[float] = None"]
        first = f"    {define} {method.called('python')}({', '.join(parameters)}) -> {result}:"
        if len(first) <= 120:
            yield first
        else:
            yield f"    {define} {method.called('python')}("
            yield f"        {', '.join(parameters)}"
            yield f"    ) -> {result}:"
        yield from comment(method)
        call = f'{caller}("{method.name}", {given(method, givens)}, deadline)'
        if method.is_answered_empty:
            yield f"        {call}"
        elif not only:
            yield f"        return {call}"
        else:
            kind = "int" if only.kind == "integer" else "list"
            yield f'        found: {result} = {member}({call}, "{only.name}", {kind})'
            yield "        return found"


def comment(method):
    notes = "; ".join(f"`{one.name}`: {one.note}" for one in method.ordered() if one.note)
    gives = f" Gives {method.only_result.note}." if method.only_result and method.only_result.note else ""
    text = method.summary + gives + (f" ({notes})" if notes else "")
    lines = textwrap.wrap(f'"""{text}"""', 112)
    yield from ("        " + line for line in lines)


def certified(_, plain):
    """Generates a dictionary entry for each method."""
    yield from entries(plain, '{{"{name}": {call}}}')


def async_certified(_, plain):
    yield from entries(plain, 'member("{name}", {call})')


def entries(plain, in_member):
    for method in plain:
        call = f"client.{method.called('python')}(**values)"
        if method.only_result:
            call = in_member.format(name=method.only_result.name, call=call)
        yield f'    "{method.name}": lambda client, values: {call},'
