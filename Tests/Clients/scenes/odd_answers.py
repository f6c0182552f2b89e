"""A daemon with invalid answers: every call still ends exactly once, and the program continues."""

import json
import os
import random
import threading

from fake_daemon import Broken, FakeDaemon
from profiles import BOARDS, WORKERS, needs
from program import Program

from .playing import answer_to, dispatch, expect_equal, run_board, serve

# The number of seeds of a run; a longer search uses more.
SEEDS = range(1, 1 + int(os.environ.get("CLIENTS_SEEDS", 4)))
CALLS = 150


def sound(request):
    id = request.get("params", {}).get("id", "i")
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"id": id, "seq": 1}}) + "\n"


def with_id(text):
    return lambda request, _: text.replace("$ID", str(request["id"])) + "\n"


def cut(request, chance):
    line = sound(request)
    return line[: chance.randrange(len(line))] + "\n"


def changed(request, chance):
    """Returns a valid answer with some bytes changed."""
    line = bytearray(sound(request).encode())
    for _ in range(chance.randrange(1, 4)):
        line[chance.randrange(len(line) - 1)] = chance.randrange(256)
    return bytes(line)


ODD = [
    with_id('{"jsonrpc":"2.0","id":$ID,"result":null}'),
    with_id('{"jsonrpc":"2.0","id":$ID,"result":[]}'),
    with_id('{"jsonrpc":"2.0","id":$ID,"result":{"id":7,"seq":"x"}}'),
    with_id('{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":""}}'),
    with_id('{"jsonrpc":"2.0","id":$ID}'),
    with_id('{"jsonrpc":"2.0","id":"$ID","result":{}}'),
    with_id('{"jsonrpc":"2.0","id":$ID.0,"result":{}}'),
    with_id('{"jsonrpc":"2.0","id":-$ID,"result":{}}'),
    with_id('{"jsonrpc":"2.0","id":' + "9" * 400 + ',"result":{}}'),
    with_id('{"jsonrpc":"1.0","id":$ID,"result":{}}'),
    with_id('{"jsonrpc":"2.0","id":$ID,"error":{"code":"x","message":7}}'),
    with_id('{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no","data":[1]}}'),
    with_id('{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no","data":{"reason":7,"path":{}}}}'),
    with_id('{"jsonrpc":"2.0","id":$ID,"error":null}'),
    with_id('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}'),
    with_id('[{"jsonrpc":"2.0","id":$ID,"result":{"id":"i","seq":1}},7]'),
    with_id("[]"),
    with_id("7"),
    with_id('"text"'),
    with_id("null"),
    with_id("{"),
    with_id("[" * 20_000),
    with_id("[" * 2_000 + "]" * 2_000),
    with_id('\ufeff{"jsonrpc":"2.0","id":$ID,"result":{}}'),
    with_id('{"jsonrpc":"2.0","method":7,"id":$ID}'),
    with_id('{"jsonrpc":"2.0","method":"dispatch","id":"d","params":[]}'),
    with_id('{"jsonrpc":"2.0","method":"dispatch","id":"d","params":{"dispatcher":"nobody"}}'),
    with_id('{"jsonrpc":"2.0","method":"board.run","id":null,"params":{"board":7}}'),
    with_id('{"jsonrpc":"2.0","method":"changed","params":{"watch":{"a":1}}}'),
    with_id('{"jsonrpc":"2.0","method":"changed"}'),
    with_id('{"jsonrpc":"2.0","method":"closing"}'),
    with_id("\r"),
    lambda request, _: b"\xff\xfe\xed\xa0\x80\n",
    lambda request, _: sound(request) * 2,
    lambda request, _: "\n \t\r\n" + sound(request).rstrip("\n") + "\r\n",
    cut,
    changed,
    changed,
]
GREETINGS = [
    {"limits": None}, {"limits": {"max_line_bytes": "x", "max_depth": -1.5}}, {"limits": []}, {"server": 7}, {},
]  # fmt: skip


class OddDaemon(threading.Thread):
    """Answers each request after an invalid message, or only with one. Unanswered requests end with their connection."""

    def __init__(self, daemon, seed):
        super().__init__(daemon=True)
        self.fake, self.chance, self.has_ended = daemon, random.Random(seed), False

    def run(self):
        while not self.has_ended:
            if self.fake.is_called():
                try:
                    self.serve(self.fake.accept())
                except (Broken, OSError, ValueError):
                    pass  # the program has disconnected in the middle

    def serve(self, connection):
        connection.hello(**self.chance.choice(GREETINGS))
        while (message := connection.read()) is not None:
            if "method" not in message:
                continue
            if self.chance.random() < 0.4:
                connection.write(self.chance.choice(ODD)(message, self.chance))
            if self.chance.random() < 0.05:
                return connection.close()
            connection.write(sound(message))


def answers_oddly(command):
    """Every call ends exactly once, with a result or an error."""
    for seed in SEEDS:
        with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
            odd = OddDaemon(daemon, seed)
            odd.start()
            try:
                for n in range(CALLS):
                    program.call(("ping", "track", "status")[n % 3], {"event": "x"} if n % 3 == 1 else {})
                    line = program.line()
                    if len(set(line) & {"result", "error"}) != 1:
                        raise Broken(f"seed {seed}, call {n}: {line}")
                if program.finish():
                    raise Broken(f"seed {seed}: a call has two ends")
            finally:
                odd.has_ended = True
                odd.join()


EVENT = {"id": "e", "seq": 1, "event": "fine", "attempt": 1, "context": {}, "data": {}}
BATCH = {"dispatcher": "jobs", "batch": "b", "attempt": 1, "events": [EVENT]}
ODD_VALUES = [None, True, -1, 1.5, 1 << 70, "", "x", [], [7], [None], [{}], {}, {"x": 1}]
IDS = ["d", "", "\u2028", 0, -1, 1 << 53, 7.5]


def odd_params(usual):
    """Yields params of a request with one member changed or missing, and other forms that JSON-RPC allows."""
    for name in usual:
        yield {key: value for key, value in usual.items() if key != name}
        for value in ODD_VALUES:
            yield {**usual, name: value}
    yield from (value for value in ODD_VALUES if isinstance(value, (list, dict)))


def asks_oddly(command, what, method, ask, usual):
    """Checks that each request gets one answer, whatever it contains, and that the next one is handled."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", what) as program:
        # A thread reads the program's lines, so that the program never blocks on writing.
        reader = threading.Thread(target=program.process.stdout.read, daemon=True)
        connection = serve(daemon, program, {"dispatch": "dispatcher.subscribe", "board.run": "board.serve"}[method])
        reader.start()
        for number, params in enumerate(odd_params(usual), 100):
            connection.tell({"id": number, "method": method, "params": params})
            message = answer_to(connection, number)
            if ("error" in message) == ("result" in message):
                raise Broken(f"{params}: {message}")
        for id in IDS:
            connection.tell({"id": id, "method": method, "params": usual})
            expect_equal("result" in answer_to(connection, id), True)
        connection.tell({"id": 99, "method": method})
        expect_equal("error" in answer_to(connection, 99), True)
        ask(connection, 1)
        expect_equal("result" in answer_to(connection, 1), True)
        program.process.kill()
        reader.join()


@needs(WORKERS)
def gives_odd_batches(command):
    """Batches with a member that is missing or has another type."""
    asks_oddly(command, "worker:jobs", "dispatch", lambda connection, id: dispatch(connection, id, "retry"), BATCH)


@needs(BOARDS)
def runs_boards_oddly(command):
    """Activations with a member that is missing or has another type. The input may have any type."""
    usual = {"board": "greeter", "activation": "a", "input": 1, "mainboard": "m", "as_barrier": False}
    ask = lambda connection, id: run_board(connection, id, 7)
    asks_oddly(command, "board:greeter", "board.run", ask, usual)


SCENES = [answers_oddly, gives_odd_batches, runs_boards_oddly]
