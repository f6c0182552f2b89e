"""While the daemon is down or slow, the client's memory is bounded, and callers can avoid waiting."""

from fake_daemon import Broken, FakeDaemon
from program import Program

from .playing import PATIENT, call_until_connected, expect_equal, fault


def refused_at_once(program):
    """Reads the program's report of its tries, and returns the numbers of the refused ones."""
    refused = []
    while (line := program.line()) != "tried":
        expect_equal(fault(line), (0, "buffer_full"))
        refused.append(line["n"])
    return refused


def tries_without_waiting(command):
    """A try without room fails at once with `buffer_full`, and the accepted events arrive in order."""
    with FakeDaemon() as daemon:
        daemon.stop_listening()
        with Program(command, daemon.path, *PATIENT, "--max-unanswered", 8, "try", 20, "x") as program:
            expect_equal(refused_at_once(program), list(range(8, 20)))
            daemon.listen()
            connection = daemon.greet()
            sent = connection.requests("track", 8)
            for request in sent:
                connection.acknowledge(request)
            expect_equal([request["params"]["data"]["n"] for request in sent], list(range(8)))
            expect_equal([line["n"] for line in program.finish() if "result" in line], list(range(8)))


def keeps_so_many_bytes(command):
    """A client keeps at most 8 MiB plus one call."""
    with FakeDaemon() as daemon:
        daemon.stop_listening()
        with Program(command, daemon.path, *PATIENT, "try", 120, "x", 100_000) as program:
            refused = refused_at_once(program)
        if not 120 - 85 <= len(refused) <= 120 - 70:
            raise Broken(f"{120 - len(refused)} events of 100 000 bytes were kept")


def waits_for_room(command):
    """The error of a deadline while waiting for room differs from that of a missing answer."""
    arguments = ("--max-unanswered", 1, "--deadline-ms", 50, "room", "x")
    with FakeDaemon() as daemon, Program(command, daemon.path, *arguments) as program:
        connection = daemon.greet()
        first = connection.request("track")
        expect_equal(fault(program.line()), (0, "buffer_full"))
        connection.acknowledge(first)
        expect_equal(program.line()["result"]["id"], first["params"]["id"])


def waits_for_an_answer(command):
    """A written call without an answer in time ends with `timed_out`."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--deadline-ms", 300, "calls") as program:
        connection = call_until_connected(daemon, program, "ping", {})
        # On a busy machine the greeting may take longer than the deadline, and is then the missing answer.
        message = connection.request("hello")
        connection.answer(message, {"server": {"name": "fake"}, "protocol": 1, "session": "1"})
        expect_equal(fault(program.line()), (0, "timed_out"))


def cancelled_calls_make_room(command):
    """A call that ended with its deadline is not written later, and takes no room."""
    with FakeDaemon() as daemon, Program(
        command, daemon.path, "--deadline-ms", 20, "--max-unanswered", 2, "calls"
    ) as program:
        daemon.stop_listening()
        for _ in range(6):
            program.call("track", {"event": "x"})
            code, reason = fault(program.line())
            expect_equal((code, reason in ("timed_out", "cannot_connect")), (0, True))


SCENES = [
    tries_without_waiting, keeps_so_many_bytes, waits_for_room, waits_for_an_answer, cancelled_calls_make_room,
]  # fmt: skip
