"""Forked processes and signals disturb neither the program nor its events."""

import signal

from fake_daemon import Broken, FakeDaemon
from profiles import FORKS, SIGNALS, needs
from program import Program

from .playing import expect_equal, ids


@needs(FORKS)
def forks(command):
    """A child process never uses its parent's connection: it opens its own, or its calls fail. The parent gets the answers
    to its own calls."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "fork", "x") as program:
        first = daemon.greet()
        before = first.request("track")
        first.acknowledge(before)
        # The child is first, since the parent waits for its end.
        if daemon.is_called_before(program.process.stdout):
            second = daemon.greet()
            request = second.request("track")
            second.acknowledge(request)
            child = program.line()["child"]
            expect_equal(child["result"]["id"], request["params"]["id"])
        else:
            child = program.line()["child"]
            expect_equal(child["error"]["code"], 0)
        after = first.request("track")
        first.acknowledge(after)
        expect_equal(program.line()["parent"]["result"]["id"], after["params"]["id"])
        program.finish()


@needs(SIGNALS)
def is_disturbed_by_signals(command):
    """Signals that the program handles neither end a wait nor lose an event."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--signals", "yes", "track", 300, "x") as program:
        connection = daemon.greet()
        sent = []
        for place in range(300):
            program.process.send_signal(signal.SIGUSR1)
            sent.append(connection.request("track"))
        for place, request in enumerate(sent):
            if place % 3 == 0:
                program.process.send_signal(signal.SIGUSR1)
            connection.acknowledge(request)
        lines = program.finish()
        expect_equal([line["result"]["id"] for line in lines], ids(sent))


def survives_a_broken_pipe(command):
    """A daemon that ends during a large write does not end the program by SIGPIPE."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "track", 2_000, "x") as program:
        first = daemon.greet()
        first.request("track")
        first.close()
        second = daemon.greet()
        for request in second.requests("track", 2_000):
            second.acknowledge(request)
        if sum("result" in line for line in program.finish()) != 2_000:
            raise Broken("an event was lost")


SCENES = [forks, is_disturbed_by_signals, survives_a_broken_pipe]
