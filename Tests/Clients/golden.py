"""The golden messages of Tests/Fixtures/Messages, held against a client program."""

import concurrent.futures
import json
import pathlib
import re

from fake_daemon import Broken, FakeDaemon
from program import Program

MESSAGES = pathlib.Path(__file__).resolve().parent.parent / "Fixtures" / "Messages"
UUIDV7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def is_same(wanted, got):
    """Whether two JSON values are the same. Ids that the client makes are any UUIDv7; 1 and true are two things."""
    if wanted == "$UUIDV7":
        return isinstance(got, str) and UUIDV7.fullmatch(got) is not None
    if isinstance(wanted, dict) and isinstance(got, dict):
        return wanted.keys() == got.keys() and all(is_same(wanted[key], got[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(is_same, wanted, got))
    return wanted == got and isinstance(wanted, bool) == isinstance(got, bool)


def has_all(wanted, got):
    """Whether an object has all members that are wanted; objects below likewise."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return all(key in got and has_all(value, got[key]) for key, value in wanted.items())
    return is_same(wanted, got)


def expect(is_right, name, wanted, got):
    if not is_right:
        raise Broken(f"{name}: expected {wanted}, got {got}")


class Desk:
    """A fake daemon that answers whatever is not looked for with `{}`, also on new connections."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.connection = None

    def request(self, method):
        """The next request of this method, on whatever connection it comes."""
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
    """What a client writes for its calls, and what it makes of the answers."""
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
    """What a client makes of what the daemon asks and tells while it handles what is served."""
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
    """The same of a client that handles nothing: it is asked while it waits for the answer to a call."""
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
        # Nothing but what is wanted, where it is all there is to be said.
        if "result" in entry["answer"]:
            expect(is_same(entry["answer"]["result"], got["result"]), name, entry["answer"], got)
    while "news" in entry:
        got = program.line()
        if "news" in got:
            return expect(has_all(entry["news"], got), name, entry["news"], got)


def check_all(command, profile):
    """Holds all files of a profile against a program; gives how many messages were checked."""
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

    # Most of the time goes by while programs start.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return sum(pool.map(check, files))
