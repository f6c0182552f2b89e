"""Temporary errors of the system, and timeouts of any length, do not end a client: every call ends."""

import resource

from fake_daemon import FakeDaemon
from program import Program

from .away import refused_at_once
from .playing import PATIENT, expect_equal, fault

# More milliseconds than fit in 31 bits.
LONG = 3_000_000_000


def has_long_timeouts(command):
    """A timeout that exceeds the range of a timer works like no timeout."""
    names = ("--connect-timeout-ms", "--reconnect-timeout-ms", "--greeting-timeout-ms", "--deadline-ms")
    timeouts = [argument for name in names for argument in (name, LONG)]
    with FakeDaemon() as daemon, Program(command, daemon.path, *timeouts, "calls") as program:
        program.call("ping", {})
        first = daemon.greet()
        first.request("ping")
        first.close()
        second = daemon.greet()
        second.answer(second.request("ping"), {})
        expect_equal(program.line(), {"result": {}})


def has_no_descriptor_for_a_while(command):
    """A client without a free descriptor for its next connection reports that, waits, and continues when there is one."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--tell", "yes", "calls") as program:
        program.call("ping", {})
        first = daemon.greet()
        first.answer(first.request("ping"), {})
        while "result" not in program.line():
            pass
        pid = program.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
        first.close()
        program.call("ping", {})
        while "warning" not in program.line():
            pass
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        second = daemon.greet()
        second.answer(second.request("ping"), {})
        while (line := program.line()).keys() & {"state", "warning"}:
            pass
        expect_equal(line, {"result": {}})


def meets_a_full_backlog(command):
    """A daemon that accepts no connection, so that connect(2) would wait: the call ends in time, and the next one is answered."""
    with FakeDaemon() as daemon:
        daemon.fill_backlog()
        with Program(command, daemon.path, "--connect-timeout-ms", 300, "calls") as program:
            program.call("ping", {})
            expect_equal(fault(program.line()), (0, "cannot_connect"))
            daemon.empty_backlog()
            program.call("ping", {})
            connection = daemon.greet()
            connection.answer(connection.request("ping"), {})
            expect_equal(program.line(), {"result": {}})


def has_no_reader_of_its_errors(command):
    """Warnings to a standard error whose reader has gone are lost, and nothing else is."""
    with FakeDaemon() as daemon:
        daemon.stop_listening()
        arguments = (*PATIENT, "--max-unanswered", 8, "try", 8, "x")
        with Program(command, daemon.path, *arguments, has_errors=True) as program:
            program.process.stderr.close()
            expect_equal(refused_at_once(program), [])
            for _ in range(2):
                daemon.listen()
                connection = daemon.greet()
                sent = connection.requests("track", 8)
                connection.close()
                daemon.stop_listening()
            daemon.listen()
            connection = daemon.greet()
            for request in connection.requests("track", 8):
                connection.acknowledge(request)
            expect_equal([request["params"]["data"]["n"] for request in sent], list(range(8)))
            expect_equal([line["n"] for line in program.finish() if "result" in line], list(range(8)))


SCENES = [has_long_timeouts, has_no_descriptor_for_a_while, meets_a_full_backlog, has_no_reader_of_its_errors]
