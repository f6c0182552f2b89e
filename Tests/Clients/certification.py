"""The certification: a client program and a real daemon, which is killed in the middle."""

from fake_daemon import Broken
from program import Program
from real_daemon import BreakingPath, RealDaemon

SETTINGS = {"dispatchers": {"collect": {"kind": "file", "path": "events.ndjson"}}}
EVENTS = 2_000


def expect(name, wanted, got):
    if got != wanted:
        raise Broken(f"{name}: expected {wanted}, got {got}")


class Caller:
    """The program with the verb `calls`, one answer a call."""

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
        """Code, reason and path of the error."""
        answer = self.ask(method, **arguments)
        if "error" not in answer:
            raise Broken(f"{method} {arguments} should have been refused: {answer}")
        error = answer["error"]
        return error["code"], error["reason"], error["path"]


def survives_a_kill(command, daemon):
    """Q7: events that are tracked over kill -9 and a restart are delivered each once, and in order."""
    with Program(command, daemon.socket_path, "calls") as program:
        # Held, so that what is delivered twice has been stored twice: a kill must not come between sending and settling.
        Caller(program).result("dispatcher.pause", id="collect", reason="certification")
    path = BreakingPath(daemon, breaks_after=EVENTS // 4)
    with Program(command, path.path, "--max-unanswered", 300, "track", EVENTS, "certified") as program:
        receipts = program.finish()
    path.close()
    expect("whether the daemon was killed in the middle", True, path.has_broken)
    expect("the receipts", list(range(EVENTS)), [line["n"] for line in receipts if "result" in line])
    with Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        expect("what is queued", EVENTS, caller.result("dispatcher.list")["dispatchers"][0]["pending"])
        caller.result("dispatcher.resume", id="collect")
        expect("the flush", "settled", caller.result("flush", wait=True)["ended"])
    events = daemon.delivered()
    expect("the ids, each once and in order", [line["result"]["id"] for line in receipts], [e["id"] for e in events])
    expect("the order", list(range(EVENTS)), [event["data"]["n"] for event in events])
    expect("the places", [line["result"]["seq"] for line in receipts], [event["seq"] for event in events])
    expect("the client's name", {"certified/1.0"}, {event["context"]["client"] for event in events})


def is_refused(command, daemon):
    """Refusals come with their code, reason and path, and hinder nothing."""
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


def tells_duplicates(command, daemon):
    """Q7: an id is stored once in its namespace."""
    for namespace, is_duplicate in (("one", False), ("one", True), ("two", False)):
        with Program(command, daemon.socket_path, "--namespace", namespace, "calls") as program:
            receipt = Caller(program).result("track", event="x", id="twice")
            expect(f"a duplicate in {namespace}", is_duplicate, receipt["duplicate"])


def holds_events(command, daemon):
    """B29: a client's barrier holds events until it opens, and goes with its client."""
    with Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        caller.result("flush", wait=True)
        before = len(daemon.delivered())
        caller.result("barrier.register", id="guard", state="closed", scopes=["collect"], flushable=False)
        caller.result("track", event="guarded", id="g1", data={"text": "ü 😀 \u0000"})
        held = caller.result("flush", wait=True, timeout_ms=50)
        expect("a flush that is held", "timeout", held["ended"])
        expect("what holds it", ["guard"], held["dispatchers"]["collect"]["blocked_by"])
        barrier = next(one for one in caller.result("barrier.list")["barriers"] if one["id"] == "guard")
        expect("its state", {"collect": "closed"}, barrier["states"])
        expect("what is delivered meanwhile", before, len(daemon.delivered()))
        caller.result("barrier.set", id="guard", state="open", reason="checked")
        expect("a flush that passes", "settled", caller.result("flush", wait=True)["ended"])
        event = daemon.delivered()[-1]
        expect("what is delivered", ("g1", {"text": "ü 😀 \u0000"}), (event["id"], {"text": event["data"]["text"]}))
        caller.result("barrier.unregister", id="guard")
        expect("what is gone", (-32000, "not_found", None), caller.refusal("barrier.set", id="guard", state="open"))


def tells_how_things_stand(command, daemon):
    """Status, settings, and a watch that sees a way close and open."""
    with Program(command, daemon.socket_path, "calls") as program:
        caller = Caller(program)
        expect("readiness", True, caller.result("status")["ready"])
        expect("settings", "file", caller.result("config.get")["dispatchers"]["collect"]["kind"])
        caller.result("config.set", patch={"dispatchers": {"collect": {"dispatch_limit": 7}}})
        expect("a setting", 7, caller.result("config.get")["dispatchers"]["collect"]["dispatch_limit"])
        caller.result("config.reload")
        caller.result("application.status", status="foreground")
        with Program(command, daemon.socket_path, "handle", "watch:dispatchers") as watcher:
            way_is(watcher, "open")
            caller.result("dispatcher.pause", id="collect")
            way_is(watcher, "closed")
            caller.result("dispatcher.resume", id="collect")
            way_is(watcher, "open")


def way_is(watcher, way):
    """Reads news until the way is so."""
    while True:
        news = watcher.line()
        if news == "ready" or news["news"] != "changed":
            continue
        if any(one["id"] == "collect" and one["way"] == way for one in news["change"].get("dispatchers", [])):
            return


SCENES = [survives_a_kill, is_refused, tells_duplicates, holds_events, tells_how_things_stand]


def check_all(executable, command, skipped):
    """Plays all scenes but those skipped with a program, each with a daemon of its own; gives how many."""
    scenes = [scene for scene in SCENES if scene.__name__ not in skipped]
    for scene in scenes:
        with RealDaemon(executable, SETTINGS) as daemon:
            try:
                scene(command, daemon)
            except Broken as error:
                raise Broken(f"{scene.__name__}: {error}") from error
    return len(scenes)
