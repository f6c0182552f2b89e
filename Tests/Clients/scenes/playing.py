"""Functions shared by all scenes."""

import concurrent.futures
import traceback

from fake_daemon import Broken

# The program waits for its first connection longer than any scene runs.
PATIENT = ("--connect-timeout-ms", 3_600_000)


def expect_equal(got, wanted):
    if got != wanted:
        raise Broken(f"expected {wanted}, got {got}")


def ids(requests):
    return [request["params"]["id"] for request in requests]


def fault(line):
    """Returns the code and reason of the error in a line of the program."""
    if "error" not in line:
        raise Broken(f"expected an error, got {line}")
    return line["error"]["code"], line["error"]["reason"]


def dispatch(connection, number, *names, dispatcher="jobs"):
    """Sends a worker a batch of events with these names and the ids `NUMBER-0` and so on."""
    events = [
        {"id": f"{number}-{place}", "seq": place + 1, "event": name, "attempt": 1, "context": {}, "data": {}}
        for place, name in enumerate(names)
    ]
    batch = {"dispatcher": dispatcher, "batch": str(number), "attempt": 1, "events": events}
    connection.tell({"id": number, "method": "dispatch", "params": batch})


def run_board(connection, number, input, board="greeter"):
    params = {"board": board, "activation": str(number), "input": input, "mainboard": None, "as_barrier": False}
    connection.tell({"id": number, "method": "board.run", "params": params})


def answer_to(connection, number):
    """Returns the next message, which must be the answer to the daemon's request with this number."""
    message = connection.read()
    if message is None or message.get("id") != number or "method" in message:
        raise Broken(f"expected the answer to {number}, got {message}")
    return message


def call_until_connected(daemon, program, method, arguments):
    """Lets the program make a call, and returns its connection. A call whose deadline passes before the client has connected, as
    it may on a busy machine, never reaches the daemon and is made again."""
    while True:
        program.call(method, arguments)
        if daemon.is_called_before(program.process.stdout):
            return daemon.accept()
        expect_equal(fault(program.line()), (0, "timed_out"))


def serve(daemon, program, method, result=None, **greeting):
    """Greets a program with one handler, accepts the registration, and returns the connection."""
    connection = daemon.greet(**greeting)
    connection.answer(connection.request(method), result or {})
    program.expect("ready")
    return connection


def play_all(scenes, command, profile):
    """Runs all scenes of a profile with a program, reports the failures, and returns the number of scenes."""

    def play(scene):
        try:
            scene(command)
        except Broken as error:
            return f"{scene.__name__}: {error}"
        except Exception:
            return f"{scene.__name__}: {traceback.format_exc()}"
        return None

    chosen = profile.scenes(scenes)
    # Most of the time is spent starting programs, so run several at once.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        faults = [fault for fault in pool.map(play, chosen) if fault]
    if faults:
        raise Broken("\n".join(faults))
    return len(chosen)
