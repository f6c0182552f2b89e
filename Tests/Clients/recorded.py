#!/usr/bin/env python3
"""Compares the golden messages with a real daemon: they must have the members of its real messages.

    recorded.py HEADGATED
"""

import json
import socket
import sys

import golden
from fake_daemon import PATIENCE, Broken, Connection
from real_daemon import RealDaemon

SETTINGS = {
    "dispatchers": {
        "collect": {"kind": "file", "path": "events.ndjson"},
        "archive": {"kind": "file", "path": "archive.ndjson"},
        "jobs": {"kind": "worker", "load_rule": "work"},
    },
    "load_rules": {"work": {"operator": "equals", "path": "event", "value": "work"}},
}

# Objects with arbitrary member names, and objects of which the golden messages have only some members.
OPEN = {"states", "context", "data", "output", "input", "configuration", "counters"}


class Peer:
    """A connection to the daemon, which keeps messages until they are requested."""

    def __init__(self, daemon):
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect(daemon.socket_path)
        self.connection = Connection(stream)
        self.kept = []
        self.last = 0

    def begin(self, method, params):
        self.last += 1
        self.connection.tell({"id": self.last, "method": method, "params": params})
        return self.last

    def message(self, is_it):
        """Returns the next message that meets a condition."""
        while True:
            found = next((one for one in self.kept if is_it(one)), None)
            if found is not None:
                self.kept.remove(found)
                return found
            came = self.connection.read()
            if came is None:
                raise Broken("the daemon closed the connection")
            self.kept.append(came)

    def answer_to(self, number):
        return self.message(lambda one: one.get("id") == number and "method" not in one)

    def ask(self, method, **params):
        return self.answer_to(self.begin(method, params))

    def result(self, method, **params):
        answer = self.ask(method, **params)
        if "result" not in answer:
            raise Broken(f"{method} {params}: {answer}")
        return answer["result"]

    def asked(self, method):
        return self.message(lambda one: one.get("method") == method)

    def told(self, topic):
        return self.message(lambda one: one.get("method") == "changed" and one["params"]["topic"] == topic)


def kind(value):
    return "number" if type(value) in (int, float) else type(value).__name__


def compare(name, written, said, is_open=False):
    """Checks that both have the same members with values of the same types. Null matches any type, and an open object may have more."""
    if written is None or said is None:
        return
    if kind(written) != kind(said):
        raise Broken(f"{name}: the golden message has {written!r}, the daemon says {said!r}")
    if isinstance(written, list) and written and said:
        return compare(name + "[0]", written[0], said[0])
    if not isinstance(written, dict):
        return
    missing, unknown = sorted(written.keys() - said.keys()), sorted(said.keys() - written.keys())
    if not is_open and (missing or unknown):
        raise Broken(f"{name}: only the golden message has {missing}, only the daemon says {unknown}")
    for key in written.keys() & said.keys():
        if key not in OPEN:
            compare(f"{name}.{key}", written[key], said[key], key == "dispatchers" and isinstance(written[key], dict))


def outline(error):
    """Returns the parts of an error that programs depend on."""
    data = error.get("data", {})
    return error["code"], data.get("reason"), data.get("path"), data.get("cause"), sorted(data)


class Book:
    """The golden messages by file and name, and those that the daemon has sent."""

    def __init__(self):
        files = [json.loads(path.read_text(encoding="utf-8")) for path in golden.MESSAGES.glob("*.json")]
        self.entries = {
            (file.get("method") or file["asks"], entry["name"]): entry["line"]
            for file in files
            for entry in file.get("answers", []) + file.get("messages", [])
        }
        self.checked = 0

    def hold(self, method, name, said):
        """Compares a message of the daemon with the golden message of this name."""
        line = self.entries.get((method, name))
        if line is None:
            raise Broken(f"there is no golden message {name} of {method}")
        written = json.loads(line.replace("$ID", "1"))
        if written.keys() != said.keys():
            raise Broken(f"{method}, {name}: the golden message is {written}, the daemon says {said}")
        for part in ("result", "params"):
            compare(f"{method}, {name}", written.get(part), said.get(part), method == "status")
        if "error" in written and outline(written["error"]) != outline(said["error"]):
            raise Broken(f"{method}, {name}: the golden message is {written['error']}, the daemon says {said['error']}")
        self.checked += 1


def boards(book, server, client):
    server.result("board.serve", board="auth")
    server.result("board.serve", board="greeter", barrier={"board": "auth"})

    def activate(**params):
        return client.begin("board.activate", {"board": "auth", **params})

    def run(number, result, name=None):
        asked = server.asked("board.run")
        if name:
            book.hold("board.run", name, asked)
        server.connection.tell({"id": asked["id"], **result})
        return client.answer_to(number) if number else None

    output = {"result": {"done": True, "output": {"text": "Hello"}}}
    book.hold("board.activate", "done", run(activate(input={"name": "Ada", "n": [1]}), output, "done, with output"))
    answer = run(activate(), {"result": {"done": True}}, "done, without output")
    book.hold("board.activate", "done, without output", answer)
    held = client.begin("board.activate", {"board": "greeter"})
    book.hold("board.activate", "a barrier refused", run(held, {"result": {"done": False}}, "not done"))
    failed = {"error": {"code": -32603, "message": "no paper"}}
    book.hold("board.activate", "its process failed", run(activate(), failed))
    book.hold("board.activate", "nobody serves it", client.ask("board.activate", board="nowhere"))
    book.hold("board.activate", "it took too long", client.answer_to(activate(timeout_ms=1)))
    book.hold("board.activate", "wrong params name their path", client.ask("board.activate", board=7))


def workers(book, worker, client):
    worker.result("dispatcher.subscribe", id="jobs", credit=1, limit=2)
    client.result("track_many", events=[{"event": "work", "id": id} for id in ("1", "2")])
    asked = worker.asked("dispatch")
    book.hold("dispatch", "all delivered", asked)
    worker.connection.tell({"id": asked["id"], "result": {"outcomes": {"2": "dead"}}})
    client.result("flush", wait=True)
    client.result("track", event="work", id="3", key="k")
    asked = worker.asked("dispatch")
    book.hold("dispatch", "an event with a key", asked)
    worker.connection.tell({"id": asked["id"], "result": {}})
    book.hold("dead_letters.list", "one, and more behind it", client.ask("dead_letters.list", limit=1))
    book.hold("dead_letters.list", "the last page", client.ask("dead_letters.list", after=100))
    book.hold("dead_letters.requeue", "so many", client.ask("dead_letters.requeue", dispatcher="jobs"))
    book.hold("dead_letters.purge", "so many", client.ask("dead_letters.purge", letters=[]))


def watches(book, watcher, client):
    watcher.result("watch")
    for topic in ("dispatchers", "barriers", "outcomes", "clients"):
        book.hold("changed", topic, watcher.told(topic))


def queues(book, client):
    client.result("dispatcher.pause", id="collect", reason="audit")
    book.hold("track", "stored", client.ask("track", event="signup", id="e1", data={"n": 1}))
    book.hold("track", "a duplicate is a success", client.ask("track", event="signup", id="e1"))
    book.hold("track", "unrouted has no place", client.ask("track", event="x", dispatchers=["jobs"]))
    book.hold("track", "wrong params name their path", client.ask("track", event=""))
    book.hold("track_many", "all stored", client.ask("track_many", events=[{"event": "a"}]))
    book.hold("queue.peek", "one", client.ask("queue.peek", dispatcher="collect"))
    book.hold("queue.peek", "unknown", client.ask("queue.peek", dispatcher="nowhere"))
    book.hold("event.trace", "one that waits", client.ask("event.trace", id="e1"))
    book.hold("event.trace", "unknown", client.ask("event.trace", id="e7"))
    book.hold("flush", "out of time", client.ask("flush", wait=True, timeout_ms=1))
    book.hold("flush", "begun", client.ask("flush"))
    book.hold("flush", "no such dispatcher", client.ask("flush", dispatchers=["x"]))
    book.hold("flush.list", "one of a user, and one of the service", client.ask("flush.list"))
    book.hold("flush.cancel", "unknown", client.ask("flush.cancel", flush="f-1"))
    book.hold("dispatcher.list", "one", client.ask("dispatcher.list"))
    book.hold("queue.purge", "so many", client.ask("queue.purge", dispatcher="collect"))
    client.result("dispatcher.resume", id="collect")


def the_rest(book, owner, client):
    book.hold("barrier.register", "registered", owner.ask("barrier.register", id="guest", state="closed"))
    book.hold("barrier.register", "somebody else's", client.ask("barrier.register", id="guest", state="open"))
    book.hold("barrier.register", "no such state", client.ask("barrier.register", id="other", state="ajar"))
    book.hold("barrier.set", "set", owner.ask("barrier.set", id="guest", reason="audit"))
    book.hold("barrier.list", "one", client.ask("barrier.list"))
    book.hold("barrier.unregister", "gone", owner.ask("barrier.unregister", id="guest"))
    book.hold("barrier.unregister", "unknown", owner.ask("barrier.unregister", id="guest"))
    book.hold("application.status", "noted", client.ask("application.status", status="foreground"))
    book.hold("config.set", "faults", client.ask("config.set", patch={"dispatchers": {"collect": {"kind": "http"}}}))
    book.hold("config.reload", "nothing", client.ask("config.reload"))
    book.hold("status", "as it stands", client.ask("status"))
    book.hold("metrics", "a counter, a gauge and a histogram", client.ask("metrics"))
    book.hold("ping", "pong", client.ask("ping"))


def main():
    with RealDaemon(sys.argv[1], SETTINGS) as daemon:
        book, one, other = Book(), Peer(daemon), Peer(daemon)
        try:
            boards(book, one, other)
            workers(book, one, other)
            queues(book, other)
            watches(book, one, other)
            the_rest(book, one, other)
        except Broken as error:
            sys.exit(f"golden messages of a real daemon: {error}")
        for peer in (one, other):
            peer.connection.close()
    print(f"golden messages of a real daemon: {book.checked} are what it says")


main()
