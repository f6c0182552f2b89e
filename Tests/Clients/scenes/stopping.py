"""D11: after `closing` a client lets its handlers finish, and sends their answers before it disconnects. It does not start
work of a lost connection."""

from fake_daemon import FakeDaemon
from profiles import BOARDS, SERIAL, WORKERS, needs
from program import Program

from .playing import answer_to, dispatch, expect_equal, run_board, serve


def stops_under(command, what, method, ask, wanted):
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", what) as program:
        first = serve(daemon, program, method)
        ask(first, program)
        first.tell({"method": "closing", "params": {"reason": "shutting_down"}})
        # The client still answers, and has read `closing` before.
        first.expect_silence()
        first.expect_silence()
        program.tell("go")
        expect_equal(answer_to(first, 5)["result"], wanted)
        first.expect_end()
        second = daemon.greet()
        second.answer(second.request(method), {})


@needs(WORKERS)
def stops_under_a_worker(command):
    """A batch being handled is answered on the connection on which it came."""

    def ask(connection, program):
        dispatch(connection, 5, "wait", "retry")
        program.expect({"batch": ["5-0", "5-1"], "attempt": 1})

    stops_under(command, "worker:jobs", "dispatcher.subscribe", ask, {"outcomes": {"5-1": "retry"}})


@needs(BOARDS)
def stops_under_a_board(command):
    """A running board returns its output."""

    def ask(connection, program):
        run_board(connection, 5, "wait")
        program.expect({"runs": "greeter"})

    stops_under(command, "board:greeter", "board.serve", ask, {"done": True, "output": "wait"})


@needs(WORKERS, SERIAL)
def loses_its_connection_during_a_batch(command):
    """Batches that wait for a handler when their connection breaks are not started: the daemon sends them again, and the
    batches of the new connection come first."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "worker:jobs") as program:
        first = serve(daemon, program, "dispatcher.subscribe")
        dispatch(first, 1, "wait")
        program.expect({"batch": ["1-0"], "attempt": 1})
        for number in (2, 3, 4):
            dispatch(first, number, "retry")
        first.expect_silence()
        first.close()
        second = daemon.greet()
        second.answer(second.request("dispatcher.subscribe"), {})
        dispatch(second, 6, "retry")
        second.expect_silence()
        program.tell("go")
        expect_equal(answer_to(second, 6)["result"], {"outcomes": {"6-0": "retry"}})
        program.expect({"batch": ["6-0"], "attempt": 1})


SCENES = [stops_under_a_worker, stops_under_a_board, loses_its_connection_during_a_batch]
