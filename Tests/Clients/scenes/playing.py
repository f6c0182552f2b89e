"""Functions that all scenes use."""

import concurrent.futures
import traceback

from fake_daemon import Broken


def expect_equal(got, wanted):
    if got != wanted:
        raise Broken(f"expected {wanted}, got {got}")


def ids(requests):
    return [request["params"]["id"] for request in requests]


def fault(line):
    """Code and reason of the error that the program tells in a line."""
    if "error" not in line:
        raise Broken(f"expected an error, got {line}")
    return line["error"]["code"], line["error"]["reason"]


def dispatch(connection, number, *names, dispatcher="jobs"):
    """Gives a worker a batch whose events have these names; their ids are `NUMBER-0` and so on."""
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
    """The next message, which must be the answer to what the daemon asked under this number."""
    message = connection.read()
    if message is None or message.get("id") != number or "method" in message:
        raise Broken(f"expected the answer to {number}, got {message}")
    return message


def serve(daemon, program, method, result=None, **greeting):
    """Greets a program that handles one thing, and grants it; gives the connection."""
    connection = daemon.greet(**greeting)
    connection.answer(connection.request(method), result or {})
    program.expect("ready")
    return connection


def play_all(scenes, command, profile):
    """Plays all scenes of a profile with a program; gives how many. All that fail are told."""

    def play(scene):
        try:
            scene(command)
        except Broken as error:
            return f"{scene.__name__}: {error}"
        except Exception:
            return f"{scene.__name__}: {traceback.format_exc()}"
        return None

    chosen = profile.scenes(scenes)
    # Most of the time goes by while programs start.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        faults = [fault for fault in pool.map(play, chosen) if fault]
    if faults:
        raise Broken("\n".join(faults))
    return len(chosen)
