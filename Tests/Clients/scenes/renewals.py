"""After a refusal the client still renews its registrations on the next connection."""

from fake_daemon import FakeDaemon
from profiles import BOARDS, STANDING, WATCHES, WORKERS, needs
from program import Program

from .playing import answer_to, call_until_connected, dispatch, expect_equal, fault, run_board

CLOSED = {"id": "consent", "state": "closed"}
WRONG = {"code": -32602, "message": "too long", "data": {"path": "reason"}}


def ping(connection, program):
    """Checks that the program has read all earlier answers, and has sent nothing else."""
    program.call("ping", {})
    connection.answer(connection.request("ping"), {})
    program.expect({"result": {}})


def begin(daemon, program, registration=CLOSED):
    """Lets the program register a barrier, grants it, and returns the connection."""
    program.call("barrier.register", registration)
    connection = daemon.greet()
    connection.answer(connection.request("barrier.register"), {})
    program.expect({"result": {}})
    return connection


def registers_again(daemon, program, first, registration=CLOSED):
    """Checks that the barrier is registered like this on the next connection, and nothing follows."""
    first.close()
    second = daemon.greet()
    request = second.request("barrier.register")
    expect_equal(request["params"], registration)
    second.answer(request, {})
    ping(second, program)


@needs(STANDING)
def a_change_is_refused(command):
    """A barrier that stayed closed because its change was refused is renewed as closed."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        first = begin(daemon, program)
        change = {"id": "consent", "state": "open", "reason": "x" * 2_000}
        program.call("barrier.set", change)
        request = first.request("barrier.set")
        first.tell({"id": request["id"], "error": WRONG})
        expect_equal(fault(program.line()), (-32602, None))
        registers_again(daemon, program, first)


@needs(STANDING)
def a_change_of_one_scope_is_refused(command):
    """An earlier change for a dispatcher stays in force if a later one is refused."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        first = begin(daemon, program)
        change = {"id": "consent", "dispatcher": "a", "state": "open"}
        program.call("barrier.set", change)
        first.answer(first.request("barrier.set"), {})
        program.expect({"result": {}})
        program.call("barrier.set", {**change, "state": "ajar"})
        request = first.request("barrier.set")
        first.tell({"id": request["id"], "error": WRONG})
        program.line()
        first.close()
        second = daemon.greet()
        register, again = second.request("barrier.register"), second.request("barrier.set")
        expect_equal((register["params"], again["params"]), (CLOSED, change))
        second.answer(register, {})
        second.answer(again, {})
        ping(second, program)


@needs(STANDING)
def a_second_registration_is_refused(command):
    """The first registration stays in force."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        first = begin(daemon, program)
        program.call("barrier.register", {"id": "consent", "state": "open", "scopes": ["nowhere"]})
        first.refuse(first.request("barrier.register"), "not_found")
        expect_equal(fault(program.line()), (-32000, "not_found"))
        registers_again(daemon, program, first)


@needs(STANDING)
def a_change_is_not_answered(command):
    """A change whose deadline passed may or may not be in force. The barrier is renewed with its last acknowledged state,
    and is never removed."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--deadline-ms", 500, "calls") as program:
        first = begin_in_time(daemon, program)
        is_written_and_cancelled(first, program, "barrier.set", {"id": "consent", "state": "open"})
        first.close()
        second = daemon.greet()
        expect_equal(second.request("barrier.register")["params"], CLOSED)


@needs(STANDING)
def a_second_registration_is_not_answered(command):
    """If the deadline has passed, the first registration stays in force."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--deadline-ms", 500, "calls") as program:
        first = begin_in_time(daemon, program)
        is_written_and_cancelled(first, program, "barrier.register", {"id": "consent", "state": "open", "scopes": ["a"]})
        first.close()
        second = daemon.greet()
        expect_equal(second.request("barrier.register")["params"], CLOSED)


def is_written_and_cancelled(connection, program, method, arguments):
    """Lets the program call until a call reaches the daemon before its deadline, even on a busy machine."""
    while True:
        program.call(method, arguments)
        expect_equal(fault(program.line()), (0, "timed_out"))
        if connection.has_message():
            return connection.request(method)


def begin_in_time(daemon, program):
    """Like `begin`, with a deadline that the program may miss on a busy machine, so that it tries again."""
    connection = call_until_connected(daemon, program, "barrier.register", CLOSED)
    while True:
        while connection.speaks_before(program.process.stdout):
            connection.answer(connection.read(), {})
        if "result" in program.line():
            return connection
        program.call("barrier.register", CLOSED)


@needs(STANDING)
def a_renewal_is_refused(command):
    """A barrier that is refused on a later connection is reported, and requested again there."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--tell", "yes", "calls") as program:
        told = []

        def line():
            while True:
                got = program.line()
                if isinstance(got, dict) and ("state" in got or "warning" in got):
                    told.append(got)
                    continue
                return got

        program.call("barrier.register", {**CLOSED, "scopes": ["later"]})
        first = daemon.greet()
        first.answer(first.request("barrier.register"), {})
        expect_equal(line(), {"result": {}})
        first.close()
        second = daemon.greet()
        second.refuse(second.request("barrier.register"), "not_found", "there is no dispatcher later")
        second.answer(second.request("barrier.register"), {})
        program.call("ping", {})
        second.answer(second.request("ping"), {})
        expect_equal(line(), {"result": {}})
        warnings = [one["warning"] for one in told if "warning" in one]
        expect_equal(["consent" in warning for warning in warnings], [True])


@needs(STANDING)
def a_status_is_refused(command):
    """The client renews the status that the daemon accepted last."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("application.status", {"status": "background"})
        first = daemon.greet()
        first.answer(first.request("application.status"), {})
        program.expect({"result": {}})
        program.call("application.status", {"status": "foreground"})
        first.refuse(first.request("application.status"), "limit")
        expect_equal(fault(program.line()), (-32000, "limit"))
        first.close()
        second = daemon.greet()
        request = second.request("application.status")
        expect_equal(request["params"], {"status": "background"})
        second.answer(request, {})
        ping(second, program)


def is_asked_again(command, what, method, check):
    """Checks that the program repeats a renewal that was refused on a later connection."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", what) as program:
        first = daemon.greet()
        first.answer(first.request(method), {})
        program.expect("ready")
        first.close()
        second = daemon.greet()
        second.refuse(second.request(method), "not_found")
        second.answer(second.request(method), {})
        check(second)


@needs(WORKERS)
def a_subscription_is_refused(command):
    """A subscription to a dispatcher that is missing after a restart is repeated until it exists."""

    def works(connection):
        dispatch(connection, 9, "retry")
        expect_equal(answer_to(connection, 9)["result"], {"outcomes": {"9-0": "retry"}})

    is_asked_again(command, "worker:jobs", "dispatcher.subscribe", works)


@needs(BOARDS)
def a_board_is_refused(command):
    """A board that another process serves for a moment is requested until it is free."""

    def runs(connection):
        run_board(connection, 9, 7)
        expect_equal(answer_to(connection, 9)["result"], {"done": True, "output": 7})

    is_asked_again(command, "board:greeter", "board.serve", runs)


@needs(WATCHES)
def a_watch_is_refused(command):
    """A watch that is refused on a later connection is repeated there."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "watch:dispatchers") as program:
        first = daemon.greet()
        first.answer(first.request("watch"), {"watch": "w"})
        lines = [program.line(), program.line()]
        expect_equal(sorted(map(str, lines)), sorted(map(str, [{"news": "began", "change": {}}, "ready"])))
        first.close()
        second = daemon.greet()
        second.refuse(second.request("watch"), "limit")
        second.answer(second.request("watch"), {"watch": "w"})
        expect_equal([program.line()["news"], program.line()["news"]], ["interrupted", "began"])


SCENES = [
    a_change_is_refused, a_change_of_one_scope_is_refused, a_second_registration_is_refused, a_change_is_not_answered,
    a_second_registration_is_not_answered, a_renewal_is_refused, a_status_is_refused, a_subscription_is_refused, a_board_is_refused,
    a_watch_is_refused,
]  # fmt: skip
