"""The lines of a hostile client. Each function returns the lines of one visit of an attack, as bytes."""

import json
import random
from collections.abc import Callable

MEBIBYTE = 1 << 20
# Line feeds, escape sequences of terminals, a change of direction, and half of a surrogate pair.
CONTROL = ["\0", "\n", "\r\n", "\t", "\x1b[2J", "\x1b]0;owned\x07", "\x7f", "\x85", "\u202e", "\u2028", "\ud800", "../", "$(id)"]
# The user id of the good client.
GOOD_USER = 61_000
ACCENTS = "\u0301\u0323\u0308\u0334"
# The calls that the neighbours have no right to make.
FORBIDDEN = {"queue.peek": {"dispatcher": "archive"}, "dead_letters.list": {}, "config.set": {"patch": {"durability": "memory"}}}


def call(method: str, id: object = 1, /, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


def notification(method: str, /, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n"


def event(chance: random.Random, name: str = "flood") -> dict:
    return {"event": name, "key": str(chance.randint(0, 9)), "data": {"pad": "x" * chance.randint(0, 300)}}


# MARK: Floods


def parameters(chance: random.Random) -> dict[str, dict]:
    """Returns valid parameters by method. The calls that change something concern the dispatcher `decoy` alone."""
    name = f"enemy-{chance.randint(0, 20)}"
    return {
        "hello": {"client": {"name": "enemy", "version": "1"}},
        "application.status": {"status": chance.choice(["foreground", "background", "exiting"])},
        "track": event(chance),
        "track_many": {"events": [event(chance) for _ in range(20)]},
        "flush": {"dispatchers": ["decoy"], "timeout_ms": 50},
        "flush.cancel": {"flush": name},
        "unwatch": {"watch": name},
        "barrier.register": {"id": name, "state": "closed", "scopes": ["decoy"]},
        "barrier.set": {"id": name, "state": "open", "reason": "attack"},
        "barrier.unregister": {"id": name},
        "dispatcher.pause": {"id": "decoy", "reason": "attack"},
        "dispatcher.resume": {"id": "decoy"},
        "dispatcher.retry": {"id": "decoy"},
        "dispatcher.rewind": {"id": "decoy", "to": "-1h"},
        "dispatcher.subscribe": {"id": "decoy", "credit": 8},
        "dispatcher.unsubscribe": {"id": "decoy"},
        "queue.purge": {"dispatcher": "decoy"},
        "dead_letters.requeue": {"dispatcher": "decoy"},
        "dead_letters.purge": {"dispatcher": "decoy"},
        "store.rekey": {},
        "store.erase": {"when": {"operator": "equals", "path": "event", "value": "none"}, "dry_run": True},
        "board.serve": {"board": name},
        "board.unserve": {"board": name},
        "board.activate": {"board": name, "timeout_ms": 50},
        "event.trace": {"id": name},
        **FORBIDDEN,
    }


def wrong(chance: random.Random) -> dict:
    """Returns parameters that are wrong for most methods."""
    value = chance.choice([None, [], {}, 7, -1, "", "x" * 2_000, True, {"id": {"id": {}}}])
    names = ["id", "event", "events", "client", "dispatcher", "board", "state", "when", "patch"]
    return dict.fromkeys(chance.choices(names, k=3), value)


def each_method(chance: random.Random, methods: list[str]) -> bytes:
    """Returns two calls of each method: one with valid parameters, and one with wrong parameters. The id of a call names its method."""
    valid = parameters(chance)
    calls = [
        call(method, f"m:{method}", **params) for method in methods for params in (valid.get(method, {}), wrong(chance))
    ]
    chance.shuffle(calls)
    return b"".join(calls)


def flood(chance: random.Random, methods: list[str]) -> bytes:
    """Returns many calls of one method."""
    method = chance.choice(methods)
    return call(method, f"m:{method}", **parameters(chance).get(method, {})) * 60


def tracks(chance: random.Random) -> bytes:
    """Returns calls that track many events, some of them for a dispatcher without workers."""
    many = [event(chance, chance.choice(["flood", "decoy"])) for _ in range(50)]
    return call("track_many", events=many) * 3 + b"".join(call("track", **event) for event in many)


def notifications(chance: random.Random) -> bytes:
    """Returns notifications, which get no answers. Most of them fail."""
    methods = ["track", "none", "barrier.set", "rpc.discover", "application.status"]
    return b"".join(notification(chance.choice(methods), **wrong(chance)) for _ in range(300))


def tiny_lines(chance: random.Random) -> bytes:
    return chance.choice([b"x\n", b"{\n", b"[]\n", b"\xff\n", b"1\n", b"\r\n", b"null\n"]) * 2_000


def batches(chance: random.Random) -> bytes:
    """Returns batches of calls: long ones, one with more calls than are allowed, nested ones, and an empty one."""
    one = chance.choice([call("ping"), call("track", **event(chance)), call("none"), b"7"]).strip()
    long = b"[" + b",".join([one] * chance.choice([900, 1_024, 1_025])) + b"]\n"
    return long + b"[" * 60 + b"]" * 60 + b"\n" + b"[]\n" + b"[[" + one + b"]]\n"


def deep_lines(chance: random.Random) -> bytes:
    """Returns lines nested more deeply than allowed, with and without the closing brackets."""
    depth = chance.choice([63, 65, 1_000, 400_000])
    nested = b'{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"flood","data":{"x":' + b"[" * depth
    return nested + b"]" * depth + b"}}}\n" + nested + b"\n"


# MARK: Expensive lines


def control_characters(chance: random.Random) -> bytes:
    """Returns names with control characters, wherever a client may choose a name."""
    name = "".join(chance.choices(CONTROL, k=4))
    return b"".join([
        call("hello", client={"name": name, "version": name}, namespace=name),
        call("track", event=name, id=name, key=name, data={name: name}),
        call("barrier.register", id=name, state="closed", scopes=["decoy"]),
        call("barrier.set", id=name, state="open", reason=name),
        call("dispatcher.pause", id="decoy", reason=name),
        call("dispatcher.resume", id="decoy", reason=name),
        call("dispatcher.pause", id=name, reason=name),
        call("board.serve", board=name),
        call("board.activate", board=name + "x", mainboard=name),
        call("flush", flush=name, dispatchers=["decoy"], timeout_ms=50),
        call("event.trace", id=name, namespace=name),
        call(name, name),
    ])  # fmt: skip


def long_names(chance: random.Random) -> bytes:
    """Returns names of nearly a mebibyte. The last line is too long by some bytes."""
    name = chance.choice(["x", '"', "\\", "\x1b", "é", "\U0001f600"])
    encoded = len(json.dumps(name)) - 2
    name *= (MEBIBYTE - 500) // encoded
    lines = [
        call(name),
        call("track", event=name),
        call("track", event="flood", id=name),
        call("track", event="flood", dispatchers=[name]),
        call("track", **{name[: len(name) // 2]: 1, "event": "flood", "data": 1}),
        call("hello", client={"name": name}),
        call("barrier.register", id=name, state="closed"),
        call("board.activate", board=name),
        call("event.trace", id=name),
        call("ping", name),
        call("track", event="x" * MEBIBYTE),
    ]
    return b"".join(chance.sample(lines, 2))


def long_numbers(chance: random.Random) -> bytes:
    """Returns numbers of up to a million digits: as a parameter, in an event's data, and as the id of a call."""
    digits = b"1" + b"0" * chance.choice([20, 400, 20_000, MEBIBYTE - 200])
    number = chance.choice([digits, b"-" + digits, b"0." + digits, digits[: MEBIBYTE // 2] + b"e" + digits[:400], b"1e999999999"])
    lines = [
        b'{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"flood","ttl_ms":%s}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"flood","data":{"n":%s}}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"flush","params":{"dispatchers":["decoy"],"timeout_ms":%s}}\n',
        b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n',
    ]
    return b"".join(line % number for line in chance.sample(lines, 2))


def accents(chance: random.Random) -> bytes:
    """Returns names of combining accents, which are expensive to compare and to cut."""
    name = "e" + ACCENTS * (chance.choice([100, 20_000, 90_000]))
    method, params = chance.choice([
        ("track", {"event": name}), ("track", {"event": "flood", "id": name[:500], "dispatchers": [name]}),
        ("board.activate", {"board": name}),
    ])  # fmt: skip
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, ensure_ascii=False).encode() + b"\n"


def random_bytes(chance: random.Random) -> bytes:
    pieces = [b"{", b"}", b"[", b"\n", b'"track"', b'{"jsonrpc":"2.0",', b"\xff\x00", b"x" * 5_000, call("ping"), call("none")]
    return b"".join(chance.choices(pieces, k=60)) + chance.randbytes(20_000) + b"\n"


# MARK: State that the daemon keeps for clients


def namespaces(chance: random.Random) -> bytes:
    """Returns events with the ids of the good client, in namespaces that could be its own (Behaviour X5)."""
    name = chance.choice(["good", f"uid:{GOOD_USER}", f"uid:{GOOD_USER}/good", "*", "", f"n{chance.randint(0, 10_000)}"])
    first = chance.randint(1, 400)
    lines = [call("hello", client={"name": "good"}, namespace=name)] if chance.random() < 0.8 else []
    lines += [call("track", event="good", id=f"good-{number}") for number in range(first, first + 60)]
    return b"".join(lines)


def barriers(chance: random.Random) -> bytes:
    """Returns calls that register barriers for the decoy, some of which stay after the client has disconnected."""
    lines = []
    for _ in range(40):
        name = f"enemy-{chance.randint(0, 60)}"
        stays = chance.choice(["unregister", "unregister", "open", "close", "keep"])
        lines.append(call("barrier.register", id=name, state="closed", scopes=["decoy"], on_disconnect=stays))
        lines.append(call("barrier.set", id=name, state=chance.choice(["open", "closed"]), dispatcher="decoy", reason="x" * 1_024))
        if chance.random() < 0.7:
            lines.append(call("barrier.unregister", id=name, force=True))
    return b"".join(lines + [call("barrier.list")])


def boards(chance: random.Random) -> bytes:
    """Returns calls that serve boards without answers, activate them, form a cycle of barriers, and activate boards without a server."""
    lines = []
    for _ in range(15):
        one, other = (f"b{chance.randint(0, 20)}" for _ in range(2))
        lines.append(call("board.serve", board=one, barrier=chance.choice([None, "ask", {"board": other, "timeout_ms": 1_000}])))
        lines.append(call("board.activate", board=one, input={"x": "x" * 2_000}, timeout_ms=chance.choice([1, 500, 86_400_000])))
        lines.append(call("board.activate", board="none", wait_ms=chance.choice([0, 100, 86_400_000])))
        if chance.random() < 0.5:
            lines.append(call("board.unserve", board=one))
    return b"".join(lines)


def flushes(chance: random.Random) -> bytes:
    """Returns more flushes than a user may have. None of them can end before its timeout or cancellation."""
    lines = [call("track", **event(chance, "decoy"))]
    for number in range(100):
        ends = chance.choice([1, 500, 2_000])
        lines.append(call("flush", dispatchers=["decoy"], wait=chance.random() < 0.5, timeout_ms=ends, flush=f"f{number}"))
        if chance.random() < 0.3:
            lines.append(call("flush.cancel", flush=f"f{number}"))
    return b"".join(lines + [call("flush.list")])


def traces(chance: random.Random) -> bytes:
    ids = [f"good-{chance.randint(0, 100)}", "none", "x" * 1_024]
    return b"".join(call("event.trace", id=chance.choice(ids), namespace=chance.choice(["*", "good", "uid:1"])) for _ in range(60))


def watches(chance: random.Random) -> bytes:
    """Returns more watches of all topics than are allowed, and changes that each watch reports."""
    change = call("dispatcher.pause", id="decoy") + call("dispatcher.resume", id="decoy") + call("track", **event(chance))
    return (call("watch") + change) * 20 + call("unwatch", watch="none")


def workers(chance: random.Random) -> bytes:
    """Returns subscriptions to the decoy and events for it. The client takes batches and never answers them."""
    events = [event(chance, "decoy") for _ in range(20)]
    return call("dispatcher.subscribe", id="decoy", credit=1_024) + call("track_many", events=events) * 2


def purges(_: random.Random) -> bytes:
    """Returns calls that empty the decoy, so that the store does not fill."""
    return call("queue.purge", dispatcher="decoy") + call("dead_letters.purge", dispatcher="decoy")


# The attacks that send lines. Those that call each method also need the list of methods.
LINES: dict[str, Callable[[random.Random], bytes]] = {
    "tracks": tracks, "notifications": notifications, "tiny lines": tiny_lines, "batches": batches, "deep lines": deep_lines,
    "control characters": control_characters, "long names": long_names, "long numbers": long_numbers, "accents": accents,
    "random bytes": random_bytes, "namespaces": namespaces, "barriers": barriers, "boards": boards, "flushes": flushes,
    "traces": traces, "watches": watches, "workers": workers, "purges": purges,
}  # fmt: skip
METHODS = {"each method": each_method, "floods": flood}
