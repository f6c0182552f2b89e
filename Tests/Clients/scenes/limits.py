"""Limits that are lowered during a connection: after an error without a request id the client reads the limits again, and
repeats the calls that may be repeated."""

from fake_daemon import Broken, FakeDaemon
from program import Program

from .away import refused_at_once
from .playing import expect_equal, fault, ids

LOW = {"max_line_bytes": 300, "max_depth": 6}


def refuse_a_line(connection, reason):
    connection.refuse({"id": None}, reason, "the line is beyond the limits")


def repeats_its_events(command, reason):
    """Checks that the client sends all unanswered events again, in order and with their ids."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "track", 60, "x") as program:
        first = daemon.greet()
        sent = first.requests("track", 60)
        for request in sent[:20]:
            first.acknowledge(request)
        refuse_a_line(first, reason)
        second = daemon.greet(limits=LOW)
        again = second.requests("track", 40)
        expect_equal(ids(again), ids(sent)[20:])
        for request in again:
            second.acknowledge(request, duplicate=True)
        expect_equal([line["result"]["id"] for line in program.finish()], ids(sent))


def max_line_bytes_is_lowered(command):
    """The client continues after the error `line_too_long` without an id."""
    repeats_its_events(command, "line_too_long")


def max_depth_is_lowered(command):
    """The client continues after the error `limit` without an id."""
    repeats_its_events(command, "limit")


def is_too_long_now(command):
    """The client itself refuses an event that exceeds the new limits."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("track", {"event": "x", "data": {"text": "y" * 300}})
        first = daemon.greet()
        first.request("track")
        refuse_a_line(first, "line_too_long")
        second = daemon.greet(limits=LOW)
        expect_equal(fault(program.line()), (-32000, "line_too_long"))
        program.call("track", {"event": "x"})
        second.acknowledge(second.request("track"))
        if "result" not in program.line():
            raise Broken("the next event was not stored")


def many_are_too_long(command):
    """The client refuses any number of waiting events that exceed the limits. Each call ends."""
    count = 4_000
    with FakeDaemon() as daemon, Program(command, daemon.path, "try", count, "x", 300) as program:
        daemon.greet(limits=LOW)
        expect_equal(refused_at_once(program), [])
        expect_equal([fault(line) for line in program.finish()], [(-32000, "line_too_long")] * count)


def is_refused_for_ever(command):
    """The client stops repeating a line that the daemon refuses although it is within the limits."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "track", 1, "x") as program:
        for _ in range(20):
            if not daemon.is_called_before(program.process.stdout):
                break
            connection = daemon.greet()
            connection.request("track")
            refuse_a_line(connection, "line_too_long")
        expect_equal([fault(line) for line in program.finish()], [(0, "bad_answer")])


def changes_are_not_repeated(command):
    """The client does not repeat a change that may have been done: the caller gets `disconnected`."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("dispatcher.pause", {"id": "collect"})
        first = daemon.greet()
        first.request("dispatcher.pause")
        refuse_a_line(first, "line_too_long")
        expect_equal(fault(program.line()), (0, "disconnected"))
        program.call("ping", {})
        second = daemon.greet()
        second.answer(second.request("ping"), {})
        program.expect({"result": {}})


SCENES = [
    max_line_bytes_is_lowered, max_depth_is_lowered, is_too_long_now, many_are_too_long, is_refused_for_ever,
    changes_are_not_repeated,
]  # fmt: skip
