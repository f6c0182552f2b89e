"""Numbers and text that a language cannot represent, in messages of the daemon and of the program."""

from fake_daemon import Broken, FakeDaemon
from profiles import BOARDS, WORKERS, needs
from program import Program

from .playing import answer_to, expect_equal, run_board, serve

# Values that JSON can represent and some languages cannot.
ODD = {
    "an integer of 5 000 digits": "7" * 5_000,
    "an integer over 64 bits": str(1 << 64),
    "an integer over 53 bits": str((1 << 53) + 1),
    "a number over the largest double": "1e999",
    "a number below the smallest double": "1e-999",
    "minus zero": "-0",
    "half a surrogate pair": '"\\ud800"',
    "the other half": '"\\udc00x"',
    "NUL": '"\\u0000"',
    "no character": '"\\uffff"',
    "a name of half a pair": '{"\\ud800": 1}',
    "a name that begins with NUL": '{"\\u0000x": 1}',
    "an empty name": '{"": 1}',
    "a name twice": '{"a": 1, "a": 2}',
    "the name of a prototype": '{"__proto__": 1}',
}


def results_have_odd_values(command):
    """An unusual value in a result affects only its caller, not the connection."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        connection = None
        for name, value in ODD.items():
            program.call("status", {})
            connection = connection or daemon.greet()
            request = connection.request("status")
            connection.write(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{{"ready":true,"odd":{value}}}}}\n')
            answer = program.line()
            if "result" not in answer and answer["error"]["code"] != 0:
                raise Broken(f"{name}: {answer}")
        program.call("ping", {})
        connection.answer(connection.request("ping"), {})
        program.expect({"result": {}})


@needs(BOARDS)
def inputs_have_odd_values(command):
    """A board activated with an unusual value answers with an output or an error, and the connection stays."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "board:greeter") as program:
        connection = serve(daemon, program, "board.serve")
        for number, (name, value) in enumerate(ODD.items(), 100):
            params = f'{{"board":"greeter","activation":"{number}","input":{value},"mainboard":null,"as_barrier":false}}'
            connection.write(f'{{"jsonrpc":"2.0","id":{number},"method":"board.run","params":{params}}}\n')
            answer_to(connection, number)
        run_board(connection, 1, "fine")
        expect_equal(answer_to(connection, 1)["result"], {"done": True, "output": "fine"})


@needs(WORKERS)
def events_have_odd_values(command):
    """A batch with an unusual value is answered, and so is the next one."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "worker:jobs") as program:
        connection = serve(daemon, program, "dispatcher.subscribe")
        for number, (name, value) in enumerate(ODD.items(), 100):
            event = f'{{"id":"e{number}","seq":1,"event":"fine","attempt":1,"context":{{}},"data":{{"odd":{value}}}}}'
            params = f'{{"dispatcher":"jobs","batch":"b{number}","attempt":1,"events":[{event}]}}'
            connection.write(f'{{"jsonrpc":"2.0","id":{number},"method":"dispatch","params":{params}}}\n')
            answer_to(connection, number)


@needs(WORKERS)
def an_id_is_no_text(command):
    """An event id with an unpaired surrogate: its batch is answered, and the other events keep their outcomes if the answer
    can contain them."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "worker:jobs") as program:
        connection = serve(daemon, program, "dispatcher.subscribe")
        events = ",".join(
            f'{{"id":"{id}","seq":1,"event":"dead","attempt":1,"context":{{}},"data":{{}}}}' for id in ("i\\ud800", "fine")
        )
        params = f'{{"dispatcher":"jobs","batch":"b","attempt":1,"events":[{events}]}}'
        connection.write(f'{{"jsonrpc":"2.0","id":7,"method":"dispatch","params":{params}}}\n')
        answer = answer_to(connection, 7)
        if "result" in answer:
            expect_equal(answer["result"]["outcomes"].get("fine"), "dead")


def arguments_are_no_text(command):
    """An unpaired surrogate in an event of the program is an error of the call, or arrives as U+FFFD or as its JSON escape.
    The next call works."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("ping", {})
        connection = daemon.greet()
        connection.answer(connection.request("ping"), {})
        program.expect({"result": {}})
        program.tell('{"method": "track", "arguments": {"event": "x", "data": {"text": "a\\ud800b"}}}')
        program.call("ping", {})
        message = connection.read()
        if message["method"] == "track":
            if message["params"]["data"]["text"] not in ("a\ufffdb", "a\ud800b"):
                raise Broken(f"expected the text, got {message}")
            connection.acknowledge(message)
            message = connection.read()
            program.line()
        else:
            expect_equal(program.line()["error"]["code"], 0)
        connection.answer(message, {})
        program.expect({"result": {}})


SCENES = [
    results_have_odd_values, inputs_have_odd_values, events_have_odd_values, an_id_is_no_text, arguments_are_no_text,
]  # fmt: skip
