"""The methods of an OpenRPC document, in the form that the generators need."""

import dataclasses
import re

# Methods with different names in the clients.
NAMES = {
    "rpc.discover": {"swift": "discover", "python": "discover", "c": "discover"},
    "client.list": {"swift": "clients", "python": "clients", "c": "clients"},
    "dispatcher.rewind": {"swift": "rewind", "python": "rewind", "c": "rewind"},
    "store.backup": {"swift": "backup", "python": "backup", "c": "backup"},
    "store.rekey": {"swift": "rekey", "python": "rekey", "c": "rekey"},
    "store.erase": {"swift": "erase", "python": "erase", "c": "erase"},
    "dispatcher.retry": {"swift": "retry", "python": "retry", "c": "retry"},
    "flush.list": {"swift": "flushes", "python": "flushes", "c": "flushes"},
    "flush.cancel": {"swift": "cancelFlush", "python": "cancel_flush"},
    "config.get": {"swift": "settings", "python": "config", "c": "config"},
    "config.set": {"swift": "changeSettings", "python": "set_config"},
    "config.reload": {"swift": "reloadSettings", "python": "reload_config"},
}

# Methods whose functions are written by hand: calls that last as long as a connection, have their own calling convention, or
# return their own types. The functions of all other methods are generated.
BY_HAND = {
    "hello", "track", "track_many", "flush", "application.status", "watch", "unwatch", "barrier.list", "barrier.register",
    "barrier.set", "barrier.unregister", "dispatcher.list", "dispatcher.pause", "dispatcher.resume",
    "dispatcher.subscribe", "dispatcher.unsubscribe", "queue.peek", "queue.purge", "dead_letters.list",
    "dead_letters.requeue", "dead_letters.purge", "board.serve", "board.unserve", "board.activate",
}

# The member that a function returns, for methods whose results have several. Programs that need the other members call the method by name.
MAIN_RESULT = {"client.list": "clients"}


def camel(name):
    first, *rest = re.split(r"[._]", name)
    return first + "".join(word.capitalize() for word in rest)


@dataclasses.dataclass
class Member:
    """A parameter, or a member of a result."""

    name: str
    schema: dict
    is_required: bool
    note: str

    @property
    def kind(self):
        """`string`, `integer`, `boolean`, `object`, `array`, `any`, or `word`, whose type is `reference`."""
        return "word" if self.reference else self.schema.get("type", "any")

    @property
    def reference(self):
        return self.schema.get("$ref", "").rsplit("/", 1)[-1]


class Method:
    def __init__(self, entry):
        self.name = entry["name"]
        self.summary = entry["summary"]
        self.direction = entry["x-direction"]
        self.group = entry.get("x-group")
        self.changes_nothing = entry.get("x-changes-nothing", False)
        self.reasons = [error["$ref"].rsplit("/", 1)[-1] for error in entry.get("errors", [])]
        self.params = [
            Member(one["name"], one["schema"], one["required"], one.get("description", "")) for one in entry["params"]
        ]
        self.result = entry.get("result", {}).get("schema")
        self.is_answered_empty = self.result == {"type": "object"}

    @property
    def results(self):
        """The members of the result."""
        result = self.result or {}
        required = result.get("required", [])
        return [
            Member(name, schema, name in required, schema.get("description", ""))
            for name, schema in result.get("properties", {}).items()
        ]

    @property
    def only_result(self):
        """The member that functions return: the only one, if it is a number or an array; otherwise None."""
        if self.name in MAIN_RESULT:
            return next(one for one in self.results if one.name == MAIN_RESULT[self.name])
        one = self.results[0] if len(self.results) == 1 else None
        return one if one and one.is_required and one.kind in ("integer", "array") else None

    def ordered(self):
        """Returns the params in the order of function parameters: required ones first."""
        return sorted(self.params, key=lambda one: not one.is_required)

    def called(self, language):
        """Returns the name of the method's function in the client of a language."""
        usual = camel(self.name) if language == "swift" else self.name.replace(".", "_")
        return NAMES.get(self.name, {}).get(language, usual)


class Document:
    def __init__(self, document):
        self.methods = [Method(entry) for entry in document["methods"]]
        self.schemas = document["components"]["schemas"]

    @property
    def of_clients(self):
        return [one for one in self.methods if one.direction == "client-to-server"]

    @property
    def plain(self):
        """The methods whose functions are generated."""
        return [one for one in self.of_clients if one.name not in BY_HAND]
