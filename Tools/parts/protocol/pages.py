"""Generates the tables of Docs/Protocol.md."""

RIGHTS = {
    "track": "everyone who can connect",
    "observe": "root, the daemon's own user, and whom `access` names",
    "read": "the same",
    "control": "the same",
    "serve": "the same",
    "configure": "the same",
}


def groups(document, _):
    yield "| right | methods | who may call them |"
    yield "| --- | --- | --- |"
    for group, rights in RIGHTS.items():
        names = ", ".join(f"`{one.name}`" for one in document.of_clients if one.group == group)
        yield f"| `{group}` | {names} | {rights} |"


def params(document, _, name):
    """Generates a table of a method's parameters."""
    method = next(one for one in document.methods if one.name == name)
    yield "| member | | |"
    yield "| --- | --- | --- |"
    for one in method.params:
        yield row(one)


def row(one, path=""):
    name = path + one.name + ("" if one.is_required else "?")
    return f"| `{name}` | {kind(one.schema)} | {one.note} |"


def methods(document, _):
    """Generates the description of every method, with its params and result."""
    for one in document.methods:
        yield f"### `{one.name}`"
        yield ""
        yield one.summary + " " + says(one)
        if one.params:
            yield ""
            yield "| param | | |"
            yield "| --- | --- | --- |"
            for param in one.params:
                yield row(param)
                yield from below(param.schema, param.name)
        if one.results:
            yield ""
            yield "| result | | |"
            yield "| --- | --- | --- |"
            for member in one.results:
                yield row(member)
                yield from below(member.schema, member.name)
        yield ""
    yield from named(document)


def says(one):
    """Returns the description of a method in one line."""
    if one.direction != "client-to-server":
        return "From the daemon; " + ("a notification." if one.result is None else "an answer is expected.")
    reasons = ", ".join(f"`{reason}`" for reason in one.reasons)
    said = [f"Right `{one.group}`."]
    if one.is_answered_empty:
        said.append("The result is `{}`.")
    if reasons:
        said.append(f"Refused for: {reasons}.")
    return " ".join(said)


def named(document):
    """Returns the schemas that more than one message uses."""
    for name, schema in document.schemas.items():
        yield f"### {name}"
        yield ""
        if "properties" not in schema:
            yield kind(schema).capitalize() + "."
        else:
            yield "| member | | |"
            yield "| --- | --- | --- |"
            yield from members(schema, "")
        yield ""


def below(schema, path):
    """Generates a table of an object's members."""
    if "items" in schema:
        yield from below(schema["items"], path + "[]")
    elif isinstance(schema.get("additionalProperties"), dict):
        yield from below(schema["additionalProperties"], path + ".*")
    elif "properties" in schema:
        yield from members(schema, path + ".")


def members(schema, path):
    for name, one in schema["properties"].items():
        optional = "" if name in schema.get("required", []) else "?"
        yield f"| `{path}{name}{optional}` | {kind(one)} | {one.get('description', '')} |"
        yield from below(one, path + name)


def kind(schema):
    """Returns a short description of a schema."""
    usual = schema.get("default")
    said = type_of(schema)
    if "default" in schema and usual is not None:
        said += f"; usually {usual_of(usual)}"
    return said


def usual_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "all"
    return f"`{value}`" if isinstance(value, str) else f"{value:,}".replace(",", " ")


def type_of(schema):
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(type_of(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "format" in schema:
        return "time"
    if schema.get("type") == "array":
        return ("non-empty " if schema.get("minItems") else "") + f"array of {type_of(schema['items'])}"
    bounds = bounds_of(schema)
    return {"boolean": "bool", None: "any value"}.get(schema.get("type"), schema.get("type")) + bounds


def bounds_of(schema):
    if schema.get("type") == "string":
        least, most, unit = schema.get("minLength"), schema.get("maxLength"), " bytes"
    else:
        least, most, unit = schema.get("minimum"), schema.get("maximum"), ""
    if least == 1 and most is None and unit:
        return " (not empty)"
    least, most = (None if one is None else f"{one:,}".replace(",", " ") for one in (least, most))
    if least is not None and most is not None:
        return f" ({least} to {most}{unit})"
    if least is not None:
        return f" ({least} or more)"
    return f" (at most {most}{unit})" if most is not None else ""
