"""A program's end loses no event that it tracked without waiting, as long as the daemon takes the events in time."""

from fake_daemon import Broken, FakeDaemon
from profiles import EXITS, LATE, needs
from program import Program

from .playing import PATIENT, expect_equal

COUNT = 200


def ends_by(command, how):
    """Checks that all events arrive although the program is about to end, and that the connection and the program then end."""
    with FakeDaemon() as daemon, Program(
        command, daemon.path, "end", how, COUNT, "x", has_errors=True
    ) as program:
        connection = daemon.greet()
        sent = connection.requests("track", COUNT)
        expect_equal([request["params"]["data"]["n"] for request in sent], list(range(COUNT)))
        for request in sent:
            connection.acknowledge(request)
        connection.expect_end()
        program.process.communicate()


def ends_by_closing(command):
    """Closing a client waits until all tracked events are acknowledged."""
    ends_by(command, "close")


@needs(EXITS)
def ends_by_returning(command):
    """The program ends normally without closing the client."""
    ends_by(command, "return")


@needs(EXITS)
def ends_by_exiting(command):
    """The program ends itself with its language's `exit`."""
    ends_by(command, "exit")


@needs(EXITS)
def ends_by_failing(command):
    """The program ends with an uncaught exception."""
    ends_by(command, "throw")


@needs(LATE)
def tracks_at_the_end(command):
    """Events arrive that a function tracks which the language calls at the end of the program, however late."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "end", "late", 3, "x", has_errors=True) as program:
        connection = daemon.greet()
        connection.acknowledge(connection.request("track"))
        arrived = []
        # They may come on this connection while it is open, or each on its own connection.
        while len(arrived) < 3:
            if not connection.input and daemon.is_called_before(connection.stream):
                connection = daemon.greet()
            elif (request := connection.read()) is not None:
                connection.acknowledge(request)
                arrived.append(request["params"]["data"]["n"])
            else:
                connection = daemon.greet()
        expect_equal(arrived, [0, 1, 2])
        program.process.communicate()
        expect_equal(program.process.returncode, 0)


def is_not_held(command, how):
    """A program ends although the daemon is down, and reports on standard error how many events are unacknowledged."""
    with FakeDaemon() as daemon:
        daemon.stop_listening()
        with Program(command, daemon.path, *PATIENT, "end", how, 3, "x", has_errors=True) as program:
            status = program.process.wait()
            said = program.process.stderr.read()
    if status < 0:
        raise Broken(f"the program was ended by signal {-status}")
    if "3 events" not in said:
        raise Broken(f"expected a message about 3 events, got {said!r}")


def is_not_held_by_closing(command):
    """`close` ends within a time limit."""
    is_not_held(command, "close")


@needs(EXITS)
def is_not_held_by_returning(command):
    """An unacknowledged event does not keep a program alive forever."""
    is_not_held(command, "return")


def is_not_held_by_a_deaf_daemon(command, how):
    """A program ends although the daemon greets it, and then reads nothing more than the system keeps for it."""
    with FakeDaemon() as daemon, Program(command, daemon.path, *PATIENT, "end", how, 16_000, "x", has_errors=True) as program:
        daemon.greet()
        said = program.process.communicate()[1]
    if program.process.returncode < 0:
        raise Broken(f"the program was ended by signal {-program.process.returncode}")
    if "events" not in said:
        raise Broken(f"expected a message about the events that are left, got {said!r}")


def closes_on_a_deaf_daemon(command):
    """`close` ends although the daemon does not read."""
    is_not_held_by_a_deaf_daemon(command, "close")


@needs(EXITS)
def returns_on_a_deaf_daemon(command):
    """Events that the system has not taken do not keep a program alive without end."""
    is_not_held_by_a_deaf_daemon(command, "return")


SCENES = [
    ends_by_closing, ends_by_returning, ends_by_exiting, ends_by_failing, is_not_held_by_closing,
    is_not_held_by_returning, tracks_at_the_end, closes_on_a_deaf_daemon, returns_on_a_deaf_daemon,
]  # fmt: skip
