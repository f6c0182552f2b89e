"""Generates the calls of the Swift client."""

import textwrap

from method import camel

# The maximum length of a line (.swift-format).
LONGEST = 120

TYPES = {"string": "String", "integer": "Int", "boolean": "Bool", "object": "DataObject", "any": "DataItem"}


def repeatable(document, _):
    names = ", ".join(f'"{one.name}"' for one in document.of_clients if one.changes_nothing)
    yield "    private static let repeatableMethods: Set<String> = ["
    yield from textwrap.wrap(names + ",", 112, initial_indent=" " * 8, subsequent_indent=" " * 8)
    yield "    ]"


# MARK: Functions


def type_of(one):
    if one.kind == "word":
        return one.reference
    if one.kind == "array":
        return f"[{TYPES.get(one.schema['items'].get('type', 'any'), 'DataItem')}]"
    return "Duration" if one.name.endswith("_ms") else TYPES[one.kind]


def name_of(one):
    return camel(one.name.removesuffix("_ms"))


def is_false_usually(one):
    return one.kind == "boolean" and not one.is_required and one.schema.get("default") is False


def declared(one, is_first):
    label = "" if is_first and one.kind != "boolean" else None
    name = name_of(one) if label is None else f"_ {name_of(one)}"
    if one.is_required:
        return f"{name}: {type_of(one)}"
    return f"{name}: Bool = false" if is_false_usually(one) else f"{name}: {type_of(one)}? = nil"


def value(one, name):
    """Returns an expression that converts a parameter to a DataItem."""
    number = {"string": ".string({0})", "integer": ".number(DataNumber({0}))", "boolean": ".bool({0})"}
    forms = {**number, "object": ".object({0})", "any": "{0}", "word": ".string({0}.rawValue)"}
    if one.kind == "array":
        inside = forms[one.schema["items"].get("type", "any")].format("$0")
        return f".array({name}.map {{ {inside} }})"
    if one.name.endswith("_ms"):
        return f".number(DataNumber(Int({name}.milliseconds)))"
    return forms[one.kind].format(name)


def params(method):
    """Returns the lines that create the params, and the expression for them."""
    required = [f'"{one.name}": {value(one, name_of(one))}' for one in method.params if one.is_required]
    literal = f"[{', '.join(required)}]" if required else "[:]"
    optional = [one for one in method.params if not one.is_required]
    if not optional:
        return [], literal
    lines = [f"var params: DataObject = {literal}"]
    for one in optional:
        if is_false_usually(one):
            lines.append(f'if {name_of(one)} {{ params["{one.name}"] = true }}')
        else:
            lines.append(f'params["{one.name}"] = {name_of(one)}.map {{ {value(one, "$0")} }}')
    return lines, "params"


def returned(method):
    if method.is_answered_empty:
        return None
    return type_of(method.only_result) if method.only_result else "DataObject"


def call(method):
    lines, given = params(method)
    if method.is_answered_empty:
        return [*lines, f'_ = try await object("{method.name}", {given}, deadline)']
    begin = "return " if lines else ""
    if method.only_result:
        name = method.only_result.name
        return [*lines, f'{begin}try await member("{name}", of: "{method.name}", {given}, deadline)']
    return [*lines, f'{begin}try await object("{method.name}", {given}, deadline)']


def comment(text, hanging=""):
    return textwrap.wrap(text, LONGEST - 4, initial_indent="    /// ", subsequent_indent="    /// " + hanging)


def described(method):
    yield from comment(method.summary)
    deadline = "deadline: how long to wait; nil is for ever."
    told = [one for one in method.ordered() if one.note]
    yield "    /// - Parameters:" if told else f"    /// - Parameter {deadline}"
    for one in told:
        yield from comment(f"  - {name_of(one)}: {one.note}.", "    ")
    if told:
        yield f"    ///   - {deadline}"
    if method.reasons:
        words = " or ".join(f"`{reason}`" for reason in method.reasons)
        yield from comment(f"- Throws: ``ClientError``; `refused` with the reason {words} when the daemon refuses it.", "  ")
    if method.only_result and method.only_result.note:
        yield f"    /// - Returns: {method.only_result.note}."


def calls(_, plain):
    for place, method in enumerate(plain):
        if place:
            yield ""
        yield from described(method)
        if returned(method) and not method.changes_nothing:
            yield "    @discardableResult"
        parts = [declared(one, place == 0) for place, one in enumerate(method.ordered())]
        given = ", ".join([*parts, "deadline: Duration? = nil"])
        end = ") async throws" + (f" -> {returned(method)}" if returned(method) else "") + " {"
        begin = f"    public func {method.called('swift')}("
        if len(begin + given + end) <= LONGEST:
            yield begin + given + end
        else:
            yield begin
            yield f"        {given}"
            yield "    " + end
        yield from ("        " + line for line in call(method))
        yield "    }"


# MARK: Calls in tests


def asked(method, value_of, *more):
    """Generates a call of a function, with `more` arguments at its end."""
    given = []
    for place, one in enumerate(method.ordered()):
        label = "" if place == 0 and one.kind != "boolean" else f"{name_of(one)}: "
        given.append(label + value_of(one))
    return f"{method.called('swift')}({', '.join([*given, *more])})"


def wrapped(line):
    """Generates a line with a call, or two lines if it is too long."""
    if len(line) <= LONGEST:
        yield line
    else:
        head, arguments = line.split("(", 1)
        yield f"{head}("
        yield f"                {arguments}"


def certified(_, plain):
    """Generates a case of a switch for each method."""

    def given(one):
        if one.kind == "word":
            return f'given.word("{one.name}")'
        if one.name.endswith("_ms"):
            return f'given.duration("{one.name}")'
        usual = {"string": '""', "integer": "0", "boolean": "false", "array": "[]", "object": "[:]"}
        is_needed = one.is_required or is_false_usually(one)
        return f'given["{one.name}"]' + (f" ?? {usual.get(one.kind, '.null')}" if is_needed else "")

    def case(method, statement, *longer):
        """Generates a case of one line, or of several if that is too long."""
        line = f'        case "{method.name}": {statement}'
        if len(line) <= LONGEST:
            yield line
            return
        yield f'        case "{method.name}":'
        for one in longer or [statement]:
            yield from wrapped(f"            {one}")

    for method in plain:
        said = f"try await client.{asked(method, given, 'deadline: deadline')}"
        if method.is_answered_empty:
            yield from case(method, said)
        elif method.only_result:
            inside = "items($0)" if method.only_result.kind == "array" else "number($0)"
            result = f'["{method.only_result.name}": {inside}]'
            yield from case(
                method, f'return {result.replace("$0", said)}', f"let result = {said}", f'return {result.replace("$0", "result")}')
        else:
            yield from case(method, f"return {said}")


def tried(_, plain):
    """Generates a dictionary entry for each method."""
    samples = {"string": '"a"', "integer": "1", "boolean": "true", "object": "[:]", "array": "[]", "any": "1"}

    def sample(one):
        if one.kind == "word":
            return f"HeadgateClient.{one.reference}.allCases[0]"
        return ".seconds(1)" if one.name.endswith("_ms") else samples[one.kind]

    for method in plain:
        yield f'        "{method.name}": {{ _ = try await $0.{asked(method, sample)} }},'
