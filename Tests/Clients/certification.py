"""The certification: scenes of a client program with a real daemon, which is killed and restarted."""

from fake_daemon import Broken
from profiles import BOARDS, STANDING, WATCHES, WORKERS, needs
from program import Program
from real_daemon import BreakingPath, RealDaemon

SETTINGS = {"dispatchers": {"collect": {"kind": "file", "path": "events.ndjson"}}}
WORK = {"dispatchers": {"jobs": {"kind": "worker", "max_attempts": 2, "backoff": {"base_ms": 1, "cap_ms": 10}}}}
STATUS = {"barriers": {"ApplicationStatusBarrier": {
    "barrier_id": "ApplicationStatusBarrier", "scopes": ["collect"], "configuration": {"block_in_background": True},
}}}  # fmt: skip
EVENTS = 2_000
MANY = 20


def expect(name, wanted, got):
    if got != wanted:
        raise Broken(f"{name}: expected {wanted}, got {got}")


class Caller:
    """The program with the verb `calls`, which writes one answer per call."""

    def __init__(self, program):
        self.program = program

    def ask(self, method, **arguments):
        self.program.call(method, arguments)
        return self.program.line()

    def result(self, method, **arguments):
        answer = self.ask(method, **arguments)
        if "result" not in answer:
            raise Broken(f"{method} {arguments}: {answer}")
        return answer["result"]

    def refusal(self, method, **arguments):
        """Returns the code, reason and path of the error."""
        answer = self.ask(method, **arguments)
        if "error" not in answer:
            raise Broken(f"{method} {arguments} should have been refused: {answer}")
        error = answer["error"]
        return error["code"], error["reason"], error["path"]


def survives_a_kill(command, daemon):
    """Q7: events tracked across a SIGKILL and a restart are each delivered once, and in order."""
    survives(command, daemon, "kill")


def survives_a_restart(command, daemon):
    """Q7, D11: the same holds across an orderly stop."""
    survives(command, daemon, "stop")


def survives(command, daemon, how):
    with Program(command, daemon.socket_path, "calls") as program:
        # Held, so that an event delivered twice must have been stored twice: the daemon must not end between sending and settling.
        Caller(program).result("dispatcher.pause", id="collect", reason="certification")
    path = BreakingPath(daemon, EVENTS // 4, how)
    with Program(command, path.path, "--max-unanswered", 300, "track", EVENTS, "certified") as program:
        receipts = program.finish()
    path.close()
    expect("the daemon ended in the middle", True, path.has_broken)
    expect("the receipts", list(range(EVENTS)), [line["n"] for line in receipts if "result" in line])
    with Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        expect("the pending events", EVENTS, caller.result("dispatcher.list")["dispatchers"][0]["pending"])
        caller.result("dispatcher.resume", id="collect")
        expect("the flush", "settled", caller.result("flush", wait=True)["ended"])
    events = daemon.delivered()
    expect("the ids, each once and in order", [line["result"]["id"] for line in receipts], [e["id"] for e in events])
    expect("the order", list(range(EVENTS)), [event["data"]["n"] for event in events])
    expect("the places", [line["result"]["seq"] for line in receipts], [event["seq"] for event in events])
    expect("the client's name", {"certified/1.0"}, {event["context"]["client"] for event in events})


def survives_a_lost_answer(command, daemon):
    """Q7: events stored together, whose acknowledgement is lost by SIGKILL, are repeated as duplicates, and read-only calls
    are repeated."""
    # Ten answers arrive: that to `hello`, and nine more. The next one is lost.
    path = BreakingPath(daemon, MANY // 2, "swallow")
    with Program(command, path.path, "calls") as program:
        caller = Caller(program)
        receipts = [
            caller.result("track_many", events=[{"event": "one", "data": {"n": n}}, {"event": "two", "data": {"n": n}}])
            for n in range(MANY)
        ]
    path.close()
    expect("the daemon was killed in the middle", True, path.has_broken)
    expect("the duplicates", [0] * 8 + [2] + [0] * 11, [receipt["duplicates"] for receipt in receipts])
    path = BreakingPath(daemon, 2, "swallow")
    with Program(command, path.path, "calls") as program:
        caller = Caller(program)
        expect("a status whose answer was lost", True, caller.result("status")["ready"])
        expect("the flush", "settled", caller.result("flush", wait=True)["ended"])
    path.close()
    expect("the daemon was killed during the call of status", True, path.has_broken)
    events = daemon.delivered()
    delivered_ids = list(dict.fromkeys(event["id"] for event in events))
    expect("the ids, in order", [id for receipt in receipts for id in receipt["ids"]], delivered_ids)
    expect("the places", [receipt["first_seq"] for receipt in receipts], sorted({e["seq"] for e in events})[::2])


def is_refused(command, daemon):
    """Refusals have their code, reason and path, and do not affect later calls."""
    with Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        expect("an empty name", (-32602, None, "event"), caller.refusal("track", event=""))
        many = caller.refusal("track_many", events=[{"event": "a"}, {"event": ""}])
        expect("an empty name among others", (-32602, None, "events[1].event"), many)
        expect("an unknown dispatcher", (-32000, "not_found", None), caller.refusal("dispatcher.pause", id="nowhere"))
        faults = caller.refusal("config.set", patch={"dispatchers": {"collect": {"kind": "pigeon"}}})
        expect("settings", (-32000, "invalid_settings"), faults[:2])
        expect("a ping", {}, caller.result("ping"))
        expect("an event", False, caller.result("track", event="fine")["duplicate"])


def reports_duplicates(command, daemon):
    """Q7: an id is stored once in its namespace."""
    for namespace, is_duplicate in (("one", False), ("one", True), ("two", False)):
        with Program(command, daemon.socket_path, "--namespace", namespace, "calls") as program:
            receipt = Caller(program).result("track", event="x", id="twice")
            expect(f"a duplicate in {namespace}", is_duplicate, receipt["duplicate"])


def holds_events(command, daemon):
    """B29: a client's barrier holds events until it opens, and is removed with its client."""
    with Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        caller.result("flush", wait=True)
        before = len(daemon.delivered())
        caller.result("barrier.register", id="guard", state="closed", scopes=["collect"], flushable=False)
        caller.result("track", event="guarded", id="g1", data={"text": "ü 😀 \u0000"})
        held = caller.result("flush", wait=True, timeout_ms=50)
        expect("a flush that is held", "timeout", held["ended"])
        expect("the blocking barriers", ["guard"], held["dispatchers"]["collect"]["blocked_by"])
        barrier = next(one for one in caller.result("barrier.list")["barriers"] if one["id"] == "guard")
        expect("its state", {"collect": "closed"}, barrier["states"])
        expect("the events delivered meanwhile", before, len(daemon.delivered()))
        caller.result("barrier.set", id="guard", state="open", reason="checked")
        expect("a flush that passes", "settled", caller.result("flush", wait=True)["ended"])
        event = daemon.delivered()[-1]
        expect("the delivered events", ("g1", {"text": "ü 😀 \u0000"}), (event["id"], {"text": event["data"]["text"]}))
        caller.result("barrier.unregister", id="guard")
        expect("the removed entries", (-32000, "not_found", None), caller.refusal("barrier.set", id="guard", state="open"))


def reports_its_status(command, daemon):
    """Status and settings can be read and changed."""
    with Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        expect("readiness", True, caller.result("status")["ready"])
        expect("settings", "file", caller.result("config.get")["dispatchers"]["collect"]["kind"])
        caller.result("config.set", patch={"dispatchers": {"collect": {"dispatch_limit": 7}}})
        expect("a setting", 7, caller.result("config.get")["dispatchers"]["collect"]["dispatch_limit"])
        caller.result("config.reload")
        caller.result("application.status", status="foreground")


@needs(WATCHES)
def sees_states_change(command, daemon):
    """A watch reports that a dispatcher is blocked and open again."""
    with Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        with Program(command, daemon.socket_path, "handle", "watch:dispatchers") as watcher:
            state_is(watcher, "open")
            caller.result("dispatcher.pause", id="collect")
            state_is(watcher, "blocked")
            caller.result("dispatcher.resume", id="collect")
            state_is(watcher, "open")


def state_is(watcher, way):
    """Reads the watch's items until the dispatcher has this state."""
    while not reports_state(watcher.line(), way):
        pass


def reports_state(news, way):
    """Returns True if the item reports this state."""
    dispatchers = [] if news == "ready" else news["change"].get("dispatchers", [])
    return any(one["id"] == "collect" and one["state"] == way for one in dispatchers)


def with_settings(settings):
    """Marks a scene whose daemon has these settings."""

    def mark(scene):
        scene.settings = settings
        return scene

    return mark


def until(name, wanted, ask):
    """Asks until the answer meets a condition. The program's watchdog ends a wait in vain."""
    while ask() != wanted:
        pass


def kill_and_start(daemon, *callers):
    """Kills the daemon and starts it again, and waits until the callers are connected."""
    daemon.kill()
    daemon.start()
    for caller in callers:
        caller.result("ping")


@needs(WATCHES)
def watches_over_a_kill(command, daemon):
    """B10: a watch reports that the daemon is down, and the state when it is back."""
    topics = ("watch:dispatchers", "watch:outcomes")
    with Program(command, daemon.socket_path, "handle", *topics) as watcher, Program(
        command, daemon.socket_path, "calls"
    ) as program:
        caller = Caller(program)
        state_is(watcher, "open")
        caller.result("track", event="seen", id="w1")
        delivered = 0
        while delivered < 1:
            news = watcher.line()
            outcomes = [] if news == "ready" else news["change"].get("outcomes", [])
            delivered += sum(one["delivered"] for one in outcomes)
        caller.result("dispatcher.pause", id="collect", reason="certification")
        state_is(watcher, "blocked")
        kill_and_start(daemon, caller)
        words, is_closed = [], False
        while words.count("began") < len(topics) or not is_closed:
            news = watcher.line()
            words.append(news["news"])
            is_closed = "interrupted" in words and (is_closed or reports_state(news, "blocked"))
        expect("the report of the loss", len(topics), words.count("interrupted"))
        caller.result("dispatcher.resume", id="collect")
        state_is(watcher, "open")


@needs(STANDING)
def sets_its_barrier_again(command, daemon):
    """B29: after a kill a barrier has the state that its client set last, and after the client's end the state it requested."""

    def guard(caller):
        barriers = [one for one in caller.result("barrier.list")["barriers"] if one["id"] == "guard"]
        return [(one["states"], one["flushable"], one["reason"], one["owner"] is not None) for one in barriers]

    with Program(command, daemon.socket_path, "calls") as operator:
        with Program(command, daemon.socket_path, "calls") as program:
            caller = Caller(program)
            caller.result("barrier.register", id="guard", state="open", scopes=["collect"], on_disconnect="close")
            caller.result("barrier.set", id="guard", state="closed", reason="audit")
            caller.result("barrier.set", id="guard", flushable=False)
            kill_and_start(daemon, caller, Caller(operator))
            owned = [({"collect": "closed"}, False, "audit", True)]
            until("the barrier", owned, lambda: guard(Caller(operator)))
            expect("the refusal of another client", "conflict", Caller(operator).refusal("barrier.set", id="guard", state="open")[1])
            caller.result("barrier.set", id="guard", state="open", dispatcher="collect", reason="checked")
            opened = [({"collect": "open"}, False, "checked", True)]
            expect("for one dispatcher", opened, guard(caller))
            kill_and_start(daemon, caller, Caller(operator))
            until("it is open again", opened, lambda: guard(Caller(operator)))
        left = [({"collect": "closed"}, False, "its owner ", False)]
        until("it stays closed", left, lambda: [(*one[:2], one[2][:10], one[3]) for one in guard(Caller(operator))])
        Caller(operator).result("barrier.unregister", id="guard", force=True)
        expect("the remaining barriers", [], guard(Caller(operator)))


@needs(STANDING)
def keeps_a_barrier_closed(command, daemon):
    """B29: a refused change is in force neither before nor after a restart of the daemon."""
    with Program(command, daemon.socket_path, "calls") as operator, Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        caller.result("barrier.register", id="consent", state="closed", scopes=["collect"], on_disconnect="unregister")
        change = {"id": "consent", "state": "open", "reason": "x" * 2_000}
        expect("a change", -32602, caller.refusal("barrier.set", **change)[0])

        def states():
            barriers = Caller(operator).result("barrier.list")["barriers"]
            return [one["states"] for one in barriers if one["id"] == "consent" and one["owner"]]

        expect("before", [{"collect": "closed"}], states())
        kill_and_start(daemon, caller, Caller(operator))
        until("after", [{"collect": "closed"}], states)


@needs(BOARDS)
def serves_boards(command, daemon):
    """A1: a board is run with its input and returns its output, also after a kill of the daemon."""
    with Program(command, daemon.socket_path, "handle", "board:greeter") as server, Program(
        command, daemon.socket_path, "calls"
    ) as program:
        server.expect("ready")
        caller = Caller(program)
        text = {"text": "ü 😀 \u0000", "n": [1, 2.5, None]}
        outcome = caller.result("board.activate", board="greeter", input=text, mainboard="till")
        expect("its output", {"done": True, "output": text}, outcome)
        expect("no output", {"done": True}, caller.result("board.activate", board="greeter"))
        expect("not done", {"done": False}, caller.result("board.activate", board="greeter", input="refuse"))
        refusal = caller.refusal("board.activate", board="greeter", input="fail")
        expect("a failure", (-32000, "cancelled", None), refusal)
        refusal = caller.refusal("board.activate", board="nowhere")
        expect("nobody serves it", (-32000, "not_found", None), refusal)
        kill_and_start(daemon, caller)
        outcome = caller.result("board.activate", board="greeter", input=7, wait_ms=60_000)
        expect("after a kill", {"done": True, "output": 7}, outcome)


@needs(WORKERS)
@with_settings(WORK)
def works(command, daemon):
    """K3: a worker gets batches, and each event has the outcome that the worker reports, also after a kill of the daemon."""
    with Program(command, daemon.socket_path, "handle", "worker:jobs") as worker, Program(
        command, daemon.socket_path, "calls"
    ) as program:
        worker.expect("ready")
        caller = Caller(program)

        def track(name, id, *attempts):
            caller.result("track", event=name, id=id)
            for attempt in attempts:
                worker.expect({"batch": [id], "attempt": attempt})

        track("fine", "1", 1)
        track("dead", "2", 1)
        track("retry_once", "3", 1, 2)
        track("fail", "4", 1, 2)
        expect("the flush", "settled", caller.result("flush", wait=True)["ended"])
        letters = caller.result("dead_letters.list", dispatcher="jobs")["dead_letters"]
        expect("the dead letters", [("2", "refused"), ("4", "max_attempts")], [
            (letter["event"]["id"], letter["reason"]) for letter in letters
        ])  # fmt: skip
        page = caller.result("dead_letters.list", limit=1)
        expect("a page", [letters[0]["letter"]], [letter["letter"] for letter in page["dead_letters"]])
        rest = caller.result("dead_letters.list", after=page["next"])["dead_letters"]
        expect("the next page", [letters[1]["letter"]], [letter["letter"] for letter in rest])
        expect("the number of requeued events", 1, caller.result("dead_letters.requeue", letters=[letters[0]["letter"]])["count"])
        worker.expect({"batch": ["2"], "attempt": 1})
        caller.result("flush", wait=True)
        expect("the number of purged dead letters", 2, caller.result("dead_letters.purge", dispatcher="jobs")["count"])
        expect("the remaining dead letters", [], caller.result("dead_letters.list")["dead_letters"])
        kill_and_start(daemon, caller)
        track("fine", "5", 1)


@needs(WORKERS)
@with_settings({**WORK, "shutdown_timeout_ms": 60_000})
def stops_during_a_batch(command, daemon):
    """D11: a batch that a worker handles when the daemon stops is settled, and not sent again."""
    with Program(command, daemon.socket_path, "handle", "worker:jobs") as worker, Program(
        command, daemon.socket_path, "calls"
    ) as program:
        worker.expect("ready")
        caller = Caller(program)
        caller.result("track", event="wait", id="1")
        worker.expect({"batch": ["1"], "attempt": 1})
        with daemon.connect() as other:
            daemon.ask_to_stop()
            until("closing", "closing", lambda: (other.read() or {}).get("method"))
        worker.tell("go")
        daemon.start_once_stopped()
        caller.result("track", event="fine", id="2")
        worker.expect({"batch": ["2"], "attempt": 1})


def learns_lower_limits(command, daemon):
    """Limits that are lowered during a connection are an error only for calls that exceed them."""
    with Program(command, daemon.socket_path, "calls") as program, Program(command, daemon.socket_path, "calls") as operator:
        caller = Caller(program)
        long = {"text": "x" * 20_000}
        caller.result("track", event="x", data=long)
        Caller(operator).result("config.set", patch={"limits": {"max_line_bytes": 10_000}})
        expect("a long line", (-32000, "line_too_long", None), caller.refusal("track", event="x", data=long))
        caller.result("track", event="x")


def looks_into_queues(command, daemon):
    """Pending events can be listed and purged."""
    with Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        caller.result("dispatcher.pause", id="collect")
        places = [caller.result("track", event="e", id=id)["seq"] for id in ("1", "2", "3")]
        peeked = caller.result("queue.peek", dispatcher="collect", limit=2)["events"]
        expect("the first item", [("1", places[0]), ("2", places[1])], [(one["id"], one["seq"]) for one in peeked])
        purged = caller.result("queue.purge", dispatcher="collect", before_seq=places[2])
        expect("the number of purged events", {"purged": 2}, purged)
        caller.result("dispatcher.resume", id="collect")
        caller.result("flush", wait=True)
        expect("the delivered events", ["3"], [event["id"] for event in daemon.delivered()])


@needs(STANDING)
@with_settings({**SETTINGS, **STATUS})
def announces_its_status(command, daemon):
    """B26: while all clients that announced a status are in the background nothing is sent, also after a kill."""

    def way(caller):
        return caller.result("dispatcher.list")["dispatchers"][0]["state"]

    with Program(command, daemon.socket_path, "calls") as one, Program(command, daemon.socket_path, "calls") as other:
        first, second = Caller(one), Caller(other)
        first.result("application.status", status="background")
        expect("all in the background", "blocked", way(second))
        second.result("application.status", status="foreground")
        expect("one in front", "open", way(first))
        second.result("application.status", status="background")
        kill_and_start(daemon, first, second)
        until("all in the background again", "blocked", lambda: way(first))
        first.result("application.status", status="foreground")
        expect("one in front again", "open", way(second))


SCENES = [
    survives_a_kill, survives_a_restart, survives_a_lost_answer, is_refused, reports_duplicates, holds_events,
    reports_its_status, sees_states_change, watches_over_a_kill, sets_its_barrier_again, keeps_a_barrier_closed, serves_boards, works,
    stops_during_a_batch, learns_lower_limits, looks_into_queues, announces_its_status,
]  # fmt: skip


def check_all(executable, command, profile):
    """Runs all scenes of a profile with a program, each with its own daemon, and returns their number."""
    scenes = profile.scenes(SCENES)
    for scene in scenes:
        with RealDaemon(executable, getattr(scene, "settings", SETTINGS)) as daemon:
            try:
                scene(command, daemon)
            except Broken as error:
                raise Broken(f"{scene.__name__}: {error}") from error
    return len(scenes)
