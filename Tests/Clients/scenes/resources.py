"""Temporary errors of the system, and timeouts of any length, do not end a client: every call ends."""

import resource

from fake_daemon import FakeDaemon
from program import Program

from .playing import expect_equal

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


SCENES = [has_long_timeouts, has_no_descriptor_for_a_while]
