"""A program's end loses no event that it tracked without waiting, as long as the daemon takes the events in time."""

from fake_daemon import Broken, FakeDaemon
from profiles import EXITS, LATE, needs
from program import Program

from .playing import expect_equal

COUNT = 200


def ends_by(command, how):
    """All events arrive although the program is about to end; then the connection ends, and the program."""
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
    """Closing a client waits until what was tracked is acknowledged."""
    ends_by(command, "close")


@needs(EXITS)
def ends_by_returning(command):
    """The program's main part ends, and nobody closes the client."""
    ends_by(command, "return")


@needs(EXITS)
def ends_by_exiting(command):
    """The program ends itself in the middle, as its language has it (`exit`)."""
    ends_by(command, "exit")


@needs(EXITS)
def ends_by_failing(command):
    """An exception that nobody catches."""
    ends_by(command, "throw")


@needs(LATE)
def tracks_at_the_end(command):
    """Events arrive that are tracked by a function that the language calls at the end of the program, however late it is."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "end", "late", 3, "x", has_errors=True) as program:
        connection = daemon.greet()
        connection.acknowledge(connection.request("track"))
        arrived = []
        # They may come on this connection, or each on one of its own, while this one is still there.
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
    """A program ends although the daemon is away, and says on standard error how many events it left."""
    with FakeDaemon() as daemon:
        daemon.stop_listening()
        with Program(command, daemon.path, "end", how, 3, "x", has_errors=True) as program:
            status = program.process.wait()
            said = program.process.stderr.read()
    if status < 0:
        raise Broken(f"the program was ended by signal {-status}")
    if "3 events" not in said:
        raise Broken(f"expected a word about 3 events, got {said!r}")


def is_not_held_by_closing(command):
    """`close` gives up within a bound."""
    is_not_held(command, "close")


@needs(EXITS)
def is_not_held_by_returning(command):
    """One event kept does not keep a program alive for ever."""
    is_not_held(command, "return")


SCENES = [
    ends_by_closing, ends_by_returning, ends_by_exiting, ends_by_failing, is_not_held_by_closing,
    is_not_held_by_returning, tracks_at_the_end,
]  # fmt: skip
