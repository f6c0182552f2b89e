"""Every end of a handler is answered, so that each batch and activation gets an answer."""

from fake_daemon import FakeDaemon
from profiles import BOARDS, WORKERS, needs
from program import Program

from .playing import answer_to, dispatch, expect_equal, run_board, serve

ENDS = {
    "fail": "an ordinary error",
    "leave": "the handler is left in another way: the program's exit, the end of its thread",
    "cancel": "what the handler waits for is cancelled",
    "mute": "an error whose text cannot be shown",
    "wrong": "what it returns is no answer",
}


@needs(WORKERS)
def workers_end(command):
    """Each end is answered with an error, so that the events are retried, and the client takes the next batch."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "worker:jobs") as program:
        connection = serve(daemon, program, "dispatcher.subscribe")
        for number, name in enumerate([*ENDS, *ENDS], 100):
            dispatch(connection, number, name)
            program.expect({"batch": [f"{number}-0"], "attempt": 1})
            expect_equal((name, "error" in answer_to(connection, number)), (name, True))
        dispatch(connection, 1, "retry")
        expect_equal(answer_to(connection, 1)["result"], {"outcomes": {"1-0": "retry"}})


@needs(BOARDS)
def boards_end(command):
    """Each end is answered with an error, and the client runs the next activation."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "board:greeter") as program:
        connection = serve(daemon, program, "board.serve")
        for number, name in enumerate([*ENDS, *ENDS], 100):
            run_board(connection, number, name)
            expect_equal((name, "error" in answer_to(connection, number)), (name, True))
        run_board(connection, 1, 7)
        expect_equal(answer_to(connection, 1)["result"], {"done": True, "output": 7})


SCENES = [workers_end, boards_end]
