"""An answer that exceeds the daemon's limit is never sent: it is cut, or replaced by an error."""

from fake_daemon import Broken, FakeDaemon
from profiles import BOARDS, WORKERS, needs
from program import Program

from .playing import answer_to, dispatch, expect_equal, run_board, serve

LIMITS = {"max_line_bytes": 2_000, "max_depth": 16}


def short_answer(connection, number, is_error):
    """Checks that the next line is the answer, and short enough."""
    message = answer_to(connection, number)
    if connection.length > LIMITS["max_line_bytes"]:
        raise Broken(f"an answer of {connection.length} bytes")
    expect_equal("error" in message, is_error)
    return message


@needs(WORKERS)
def an_error_is_long(command):
    """A worker's error with a long message is cut."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "worker:jobs") as program:
        connection = serve(daemon, program, "dispatcher.subscribe", limits=LIMITS)
        dispatch(connection, 1, "long")
        if not short_answer(connection, 1, is_error=True)["error"]["message"]:
            raise Broken("the cut error has no text")
        dispatch(connection, 2, "retry")
        expect_equal(short_answer(connection, 2, is_error=False)["result"], {"outcomes": {"2-0": "retry"}})


@needs(WORKERS)
def outcomes_are_long(command):
    """Outcomes that do not fit are replaced by an error, so that all events are retried."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "worker:jobs") as program:
        connection = serve(daemon, program, "dispatcher.subscribe", limits=LIMITS)
        dispatch(connection, 1, *["retry"] * 200)
        short_answer(connection, 1, is_error=True)
        dispatch(connection, 2, "retry")
        expect_equal(short_answer(connection, 2, is_error=False)["result"], {"outcomes": {"2-0": "retry"}})


@needs(BOARDS)
def an_output_is_long(command):
    """A board's output that does not fit, or is nested too deeply, is replaced by an error."""
    deep = 1
    for _ in range(16):
        deep = [deep]
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "board:greeter") as program:
        connection = serve(daemon, program, "board.serve", limits=LIMITS)
        for number, input in ((1, "x" * 5_000), (2, deep)):
            run_board(connection, number, input)
            short_answer(connection, number, is_error=True)
        run_board(connection, 3, "fine")
        expect_equal(short_answer(connection, 3, is_error=False)["result"], {"done": True, "output": "fine"})


SCENES = [an_error_is_long, outcomes_are_long, an_output_is_long]
