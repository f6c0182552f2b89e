"""The required behaviour of a client when a daemon ends, is about to end, or sends invalid messages. Each scene is a function."""

import concurrent.futures
import json
import os
import signal

from fake_daemon import Broken, FakeDaemon
from profiles import BOARDS, STANDING, WATCHES, WORKERS, needs
from program import Program
from scenes.playing import expect_equal, ids, play_all


def expect_receipts(program, wanted):
    """Checks that the program writes the receipts of all events in order, and exits with 0."""
    expect_equal([line["result"]["id"] for line in program.finish()], wanted)


def breaks_in_an_answer(command):
    """Q7: unacknowledged events are sent again, with the same ids and in the same order."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "track", 50, "x") as program:
        first = daemon.greet()
        sent = first.requests("track", 50)
        for request in sent[:10]:
            first.acknowledge(request)
        first.write('{"jsonrpc":"2.0","id":11,"result":{"id":"' + sent[10]["params"]["id"])
        first.close()
        second = daemon.greet()
        again = second.requests("track", 40)
        expect_equal(ids(again), ids(sent)[10:])
        expect_equal([request["params"] for request in again], [request["params"] for request in sent[10:]])
        for request in again:
            second.acknowledge(request, duplicate=True)
        expect_receipts(program, ids(sent))


def breaks_in_the_greeting(command):
    """A connection that breaks before the answer to the greeting is retried."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "track", 3, "x") as program:
        for _ in range(2):
            connection = daemon.accept()
            connection.request("hello")
            connection.close()
        connection = daemon.greet()
        sent = connection.requests("track", 3)
        for request in sent:
            connection.acknowledge(request)
        expect_receipts(program, ids(sent))


def greets_and_drops(command):
    """A greeting alone is no progress: with a daemon that greets and disconnects, waits grow until the client fails."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--reconnect-timeout-ms", 2_000, "track", 1, "x") as program:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            end = pool.submit(program.finish)
            greeted = 0
            while not end.done():
                if daemon.is_called():
                    daemon.greet().close()
                    greeted += 1
                if greeted > 40:
                    program.process.kill()
            expect_equal([line["error"]["reason"] for line in end.result()], ["disconnected"])
    # Waits of 10, 20, 40 … 200 ms, each at least half as long.
    if not 1 < greeted < 30:
        raise Broken(f"connected {greeted} times")


def answers_out_of_order(command):
    """Each call gets its answer even if the answers arrive in another order."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "track", 20, "x") as program:
        connection = daemon.greet()
        sent = connection.requests("track", 20)
        for request in reversed(sent):
            connection.acknowledge(request)
        expect_receipts(program, ids(sent))


def answers_byte_by_byte(command):
    """The client reads answers whose lines arrive in arbitrary pieces."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "track", 2, "x") as program:
        connection = daemon.greet()
        sent = connection.requests("track", 2)
        lines = [
            {"jsonrpc": "2.0", "id": request["id"], "result": {"id": request["params"]["id"], "seq": 1}}
            for request in sent
        ]
        for byte in "".join(json.dumps(line) + "\n" for line in lines).encode():
            connection.write(bytes([byte]))
        expect_receipts(program, ids(sent))


def is_shutting_down(command):
    """Calls refused with `shutting_down` are repeated on the next connection, and nothing more is sent on this one."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "track", 20, "x") as program:
        first = daemon.greet()
        sent = first.requests("track", 20)
        for request in sent[:5]:
            first.acknowledge(request)
        for request in sent[5:]:
            first.refuse(request, "shutting_down")
        first.expect_end()
        second = daemon.greet()
        again = second.requests("track", 15)
        expect_equal(ids(again), ids(sent)[5:])
        for request in again:
            second.acknowledge(request)
        expect_receipts(program, ids(sent))


def says_that_it_closes(command):
    """After `closing` the client reads the outstanding answers, disconnects, and reconnects."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--max-unanswered", 4, "track", 6, "x") as program:
        first = daemon.greet()
        sent = first.requests("track", 4)
        first.tell({"method": "closing", "params": {"reason": "shutting_down"}})
        for request in sent:
            first.acknowledge(request)
        first.expect_end()
        second = daemon.greet()
        rest = second.requests("track", 2)
        for request in rest:
            second.acknowledge(request)
        expect_receipts(program, ids(sent + rest))


def greets_with_a_refusal(command):
    """`shutting_down` and `limit` instead of a greeting are temporary, `conflict` is permanent."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "track", 1, "x") as program:
        first = daemon.accept()
        first.refuse(first.request("hello"), "shutting_down")
        second = daemon.accept()
        second.request("hello")
        second.refuse({"id": None}, "limit", "too many connections")
        third = daemon.accept()
        third.refuse(third.request("hello"), "conflict", "this daemon speaks protocol 2")
        error = program.line()["error"]
        expect_equal((error["code"], error["reason"]), (-32000, "conflict"))


def is_found_stopping(command):
    """A stopping daemon is awaited like a lost one, not like one that was never running."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--connect-timeout-ms", 0, "track", 2, "x") as program:
        first = daemon.accept()
        first.request("hello")
        first.tell({"method": "closing", "params": {"reason": "shutting_down"}})
        second = daemon.accept()
        second.refuse(second.request("hello"), "shutting_down")
        third = daemon.greet()
        sent = third.requests("track", 2)
        for request in sent:
            third.acknowledge(request)
        expect_receipts(program, ids(sent))


def does_not_greet(command):
    """If a daemon does not answer the greeting, the client reconnects."""
    arguments = ("--greeting-timeout-ms", 100, "track", 1, "x")
    with FakeDaemon() as daemon, Program(command, daemon.path, *arguments) as program:
        silent = daemon.accept()
        silent.request("hello")
        silent.expect_end()
        request = None
        while request is None:  # on a busy machine this daemon may be late with a greeting, too
            connection = daemon.accept()
            message = connection.read()
            if message is not None:
                connection.answer(message, {"server": {"name": "fake"}, "protocol": 1, "session": "1"})
                request = connection.read()
        connection.acknowledge(request)
        expect_receipts(program, ids([request]))


def is_slow(command):
    """The number of unanswered requests is limited, and each answer makes room for one."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "--max-unanswered", 8, "track", 30, "x") as program:
        connection = daemon.greet()
        sent = connection.requests("track", 8)
        connection.expect_silence()
        for place in range(30):
            connection.acknowledge(sent[place])
            if len(sent) < 30:
                sent.append(connection.request("track"))
                connection.expect_silence()
        expect_receipts(program, ids(sent))


def has_limits(command):
    """The client itself refuses events that exceed the daemon's limits of length and depth, and continues with the others."""
    limits = {"max_line_bytes": 300, "max_depth": 6}
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("track", {"event": "x", "data": {"text": "y" * 300}})
        connection = daemon.greet(limits=limits)
        error = program.line()["error"]
        expect_equal((error["code"], error["reason"]), (-32000, "line_too_long"))
        program.call("track", {"event": "x", "data": {"deep": [[[[1]]]]}})
        error = program.line()["error"]
        expect_equal((error["code"], error["reason"]), (-32000, "limit"))
        program.call("track", {"event": "x", "data": {"brackets": "[[[[[[[["}})
        connection.acknowledge(connection.request("track"))
        if "result" not in program.line():
            raise Broken("the client counts brackets in a string as nesting")


def is_not_there(command):
    """A client with limited patience reports that it cannot connect."""
    with FakeDaemon() as daemon:
        daemon.stop_listening()
        with Program(command, daemon.path, "--connect-timeout-ms", 50, "track", 2, "x") as program:
            errors = [line["error"] for line in program.finish()]
        expect_equal([(error["code"], error["reason"]) for error in errors], [(0, "cannot_connect")] * 2)


def comes_later(command):
    """A client that starts before the daemon waits for it."""
    with FakeDaemon() as daemon:
        daemon.stop_listening()
        with Program(command, daemon.path, "track", 2, "x") as program:
            daemon.listen()
            connection = daemon.greet()
            sent = connection.requests("track", 2)
            for request in sent:
                connection.acknowledge(request)
            expect_receipts(program, ids(sent))


@needs(STANDING)
def forgets_barriers(command):
    """Barriers are registered again on the next connection, with their last state."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("barrier.register", {"id": "consent", "state": "open", "scopes": ["a", "b"], "flushable": False})
        first = daemon.greet()
        first.answer(first.request("barrier.register"), {})
        program.line()
        changes = [
            {"id": "consent", "dispatcher": "b", "state": "closed"},
            {"id": "consent", "state": "closed", "reason": "withdrawn"},
            {"id": "consent", "dispatcher": "a", "state": "open", "reason": "given"},
            {"id": "consent", "flushable": True},
        ]
        for change in changes:
            program.call("barrier.set", change)
            request = first.request("barrier.set")
            expect_equal(request["params"], change)
            first.answer(request, {})
            program.line()
        program.call("status", {})
        first.request("status")
        first.close()
        second = daemon.greet()
        register = second.request("barrier.register")
        wanted = {"id": "consent", "state": "closed", "scopes": ["a", "b"], "flushable": True}
        expect_equal(register["params"], wanted)
        # In one request, so that no event passes in between.
        expect_equal(second.request("barrier.set")["params"], {"id": "consent", "reason": "withdrawn"})
        expect_equal(second.request("barrier.set")["params"], changes[2])
        second.answer(second.request("status"), {})
        program.line()
        second.answer(register, {})
        program.call("ping", {})
        second.answer(second.request("ping"), {})
        expect_equal(program.line(), {"result": {}})


@needs(STANDING)
def registers_a_barrier_again(command):
    """If an id is registered again, only the last registration is renewed."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        first = None
        for registration in ({"id": "consent", "state": "open", "scopes": ["a"]}, {"id": "consent", "state": "closed"}):
            program.call("barrier.register", registration)
            first = first or daemon.greet()
            first.answer(first.request("barrier.register"), {})
            program.line()
        first.close()
        second = daemon.greet()
        register = second.request("barrier.register")
        expect_equal(register["params"], {"id": "consent", "state": "closed"})
        second.answer(register, {})
        program.call("ping", {})
        second.answer(second.request("ping"), {})
        expect_equal(program.line(), {"result": {}})


@needs(STANDING)
def still_knows_the_old_connection(command):
    """A barrier that the daemon still attributes to the old connection is requested again."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("barrier.register", {"id": "consent", "state": "closed"})
        first = daemon.greet()
        first.answer(first.request("barrier.register"), {})
        program.line()
        first.close()
        second = daemon.greet()
        second.refuse(second.request("barrier.register"), "conflict")
        second.answer(second.request("barrier.register"), {})
        program.call("barrier.set", {"id": "consent", "state": "open"})
        second.answer(second.request("barrier.set"), {})
        expect_equal(program.line(), {"result": {}})


@needs(STANDING)
def breaks_under_the_end_of_a_barrier(command):
    """B29: a barrier that outlives its connection is unregistered on the next one. The client first takes it over as open, even
    if the daemon still attributes it to the old connection."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("barrier.register", {"id": "consent", "state": "closed", "on_disconnect": "keep"})
        first = daemon.greet()
        first.answer(first.request("barrier.register"), {})
        program.line()
        program.call("barrier.unregister", {"id": "consent"})
        expect_equal(first.request("barrier.unregister")["params"], {"id": "consent"})
        first.close()
        second = daemon.greet()
        for is_free in (False, True):
            over, away = second.request("barrier.register"), second.request("barrier.unregister")
            expect_equal(over["params"], {"id": "consent", "state": "open", "scopes": []})
            expect_equal(away["params"], {"id": "consent"})
            for request in (over, away):
                if is_free:
                    second.answer(request, {})
                else:
                    second.refuse(request, "conflict")
        expect_equal(program.line(), {"result": {}})
        second.expect_silence()


@needs(BOARDS, WORKERS, WATCHES)
def forgets_who_serves(command):
    """Boards, workers, watches and the application status are renewed on the next connection."""
    served = ("board:greeter", "worker:jobs", "watch:dispatchers")
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", *served) as program:
        first = daemon.greet()
        serve_all(first)
        lines = [program.line(), program.line()]
        expect_equal(sorted(map(str, lines)), sorted(map(str, [{"news": "began", "change": {}}, "ready"])))
        first.tell({"method": "closing", "params": {"reason": "shutting_down"}})
        first.expect_end()
        second = daemon.greet()
        serve_all(second)
        expect_equal([program.line()["news"], program.line()["news"]], ["interrupted", "began"])
        run = {"board": "greeter", "activation": "1", "input": 7}
        second.tell({"id": "r", "method": "board.run", "params": run})
        expect_equal(second.read()["result"], {"done": True, "output": 7})


def serve_all(connection):
    connection.answer(connection.request("board.serve"), {})
    connection.answer(connection.request("dispatcher.subscribe"), {})
    connection.answer(connection.request("watch"), {"watch": "w"})


@needs(WORKERS)
def forgets_who_works(command):
    """A worker subscribes again on the next connection, and answers the requests of that connection there."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "handle", "worker:jobs") as program:
        first = daemon.greet()
        first.answer(first.request("dispatcher.subscribe"), {})
        program.expect("ready")
        first.close()
        second = daemon.greet()
        second.answer(second.request("dispatcher.subscribe"), {})
        event = {"id": "1", "seq": 1, "event": "retry", "attempt": 1, "context": {}, "data": {}}
        batch = {"dispatcher": "jobs", "batch": "b", "attempt": 1, "events": [event]}
        second.tell({"id": "d", "method": "dispatch", "params": batch})
        expect_equal(second.read()["result"], {"outcomes": {"1": "retry"}})
        program.expect({"batch": ["1"], "attempt": 1})


def breaks_under_a_change(command):
    """A call that changes something is not repeated: its caller gets an error with an unknown outcome."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("dispatcher.pause", {"id": "collect"})
        first = daemon.greet()
        first.request("dispatcher.pause")
        first.close()
        error = program.line()["error"]
        expect_equal((error["code"], error["reason"]), (0, "disconnected"))
        program.call("ping", {})
        second = daemon.greet()
        second.request("ping")
        second.close()
        third = daemon.greet()
        third.answer(third.request("ping"), {})
        expect_equal(program.line(), {"result": {}})


def is_stopped_for_a_while(command):
    """A program that is suspended during a call and resumed later still gets its answer."""
    with FakeDaemon() as daemon, Program(command, daemon.path, "calls") as program:
        program.call("ping", {})
        connection = daemon.greet()
        request = connection.request("ping")
        os.kill(program.process.pid, signal.SIGSTOP)
        connection.answer(request, {})
        os.kill(program.process.pid, signal.SIGCONT)
        expect_equal(program.line(), {"result": {}})


SCENES = [
    breaks_in_an_answer, breaks_in_the_greeting, greets_and_drops, answers_out_of_order, answers_byte_by_byte, is_shutting_down,
    says_that_it_closes, greets_with_a_refusal, is_found_stopping, does_not_greet, is_slow, has_limits,
    is_not_there, comes_later, forgets_barriers, registers_a_barrier_again, still_knows_the_old_connection,
    breaks_under_the_end_of_a_barrier, forgets_who_serves, forgets_who_works, breaks_under_a_change,
    is_stopped_for_a_while,
]  # fmt: skip


def check_all(command, profile):
    """Runs all scenes of a profile with a program, and returns their number."""
    return play_all(SCENES, command, profile)
