"""Tests a client program with the golden messages of Tests/Fixtures/Messages."""

import concurrent.futures
import json
import pathlib
import re

from fake_daemon import Broken, FakeDaemon
from program import Program

MESSAGES = pathlib.Path(__file__).resolve().parent.parent / "Fixtures" / "Messages"
UUIDV7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def is_same(wanted, got):
    """Returns true if two JSON values are equal. Ids created by the client match any UUIDv7, and 1 differs from true."""
    if wanted == "$UUIDV7":
        return isinstance(got, str) and UUIDV7.fullmatch(got) is not None
    if isinstance(wanted, dict) and isinstance(got, dict):
        return wanted.keys() == got.keys() and all(is_same(wanted[key], got[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(is_same, wanted, got))
    return wanted == got and isinstance(wanted, bool) == isinstance(got, bool)


def has_all(wanted, got):
    """Returns true if an object has all expected members, and so have nested objects."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return all(key in got and has_all(value, got[key]) for key, value in wanted.items())
    return is_same(wanted, got)


def expect(is_right, name, wanted, got):
    if not is_right:
        raise Broken(f"{name}: expected {wanted}, got {got}")


class Desk:
    """A fake daemon that answers unexpected requests with `{}`, also on new connections."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.connection = None

    def request(self, method):
        """Returns the next request with this method, on any connection."""
        while True:
            if self.connection is None:
                self.connection = self.daemon.greet()
            message = self.connection.read()
            if message is None:
                self.connection = None
            elif message.get("method") == method:
                return message
            elif "method" in message:
                self.connection.answer(message, {"watch": "w"})


def check_calls(command, file):
    """Checks the requests of a client's calls, and the results that it reads from the answers."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        desk = Desk(daemon)
        usual_answer = file["answers"][0]["line"]
        for entry in file["requests"]:
            name = f"{file['method']}, request, {entry['name']}"
            program.call(file["method"], entry["arguments"])
            request = desk.request(file["method"])
            wanted = entry.get("params", entry["arguments"])
            expect(is_same(wanted, request.get("params", {})), name, wanted, request.get("params"))
            expect(request["jsonrpc"] == "2.0", name, "2.0", request["jsonrpc"])
            desk.connection.write(usual_answer.replace("$ID", json.dumps(request["id"])) + "\n")
            program.line()
        for entry in file["answers"]:
            name = f"{file['method']}, answer, {entry['name']}"
            program.call(file["method"], entry.get("arguments", file["requests"][0]["arguments"]))
            request = desk.request(file["method"])
            desk.connection.write(entry["line"].replace("$ID", json.dumps(request["id"])) + "\n")
            got, wanted = program.line(), {key: entry[key] for key in ("result", "error") if key in entry}
            expect(has_all(wanted, got), name, wanted, got)
    return len(file["requests"]) + len(file["answers"])


SERVING = {"board": "board.serve", "worker": "dispatcher.subscribe", "watch": "watch"}


def check_asks(command, file, served):
    """Checks how a client with handlers treats the daemon's requests and notifications."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", *served) as program:
        connection = daemon.greet()
        wanted = [{"news": "began", "change": {}}] if any(name.startswith("watch") for name in served) else []
        for name in served:
            request = connection.request(SERVING[name.split(":")[0]])
            connection.answer(request, {"watch": "w-1"} if request["method"] == "watch" else {})
        wanted.append("ready")
        got = [program.line() for _ in wanted]
        expect(got in (wanted, wanted[::-1]), "the beginning", wanted, got)
        for entry in file["messages"]:
            check_message(file["asks"], entry, connection, program)
    return len(file["messages"])


def check_asks_of_a_caller(command, file):
    """Checks the same for a client without handlers, which gets them while it waits for an answer."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("ping", {})
        connection = daemon.greet()
        ping = connection.request("ping")
        for entry in file["messages"]:
            check_message(file["asks"], entry, connection, program)
        connection.answer(ping, {})
        program.expect({"result": {}})
    return len(file["messages"])


def check_message(method, entry, connection, program):
    name = f"{method}, {entry['name']}"
    connection.write(entry["line"].replace("$WATCH", "w-1") + "\n")
    if "answer" in entry:
        got = connection.read()
        expect(has_all({"jsonrpc": "2.0", **entry["answer"]}, got), name, entry["answer"], got)
        # The exact message, if it has no other possible members.
        if "result" in entry["answer"]:
            expect(is_same(entry["answer"]["result"], got["result"]), name, entry["answer"], got)
    while "news" in entry:
        got = program.line()
        if "news" in got:
            return expect(has_all(entry["news"], got), name, entry["news"], got)


def check_all(command, profile):
    """Checks a program with all files of a profile, and returns the number of checked messages."""
    if profile.only:
        return 0
    paths = [path for path in sorted(MESSAGES.glob("*.json")) if profile.has_messages(path.stem)]
    if not paths:
        raise Broken(f"there are no golden messages in {MESSAGES}")
    files = [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    def check(file):
        if "method" in file:
            return check_calls(command, file)
        return check_asks(command, file, profile.served) if profile.served else check_asks_of_a_caller(command, file)

    # Most of the time is spent starting programs, so run several at once.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return sum(pool.map(check, files))
