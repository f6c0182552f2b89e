"""The clients: each party connects, does its work, disconnects, and repeats that until the end of the soak."""

import contextlib
import itertools
import json
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from ledger import Ledger
from subject import Subject

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "Packages/Client/Python"))
import headgate  # noqa: E402

# Longer than any wait of the daemon: a client without an answer by then is stuck.
PATIENCE = 60.0


class Party(threading.Thread):
    """A thread that runs clients of one kind, one after the other."""

    numbers = itertools.count()

    def __init__(self, visit: Callable[["Party"], None], subject: Subject, ledger: Ledger, seed: int) -> None:
        number = next(self.numbers)
        super().__init__(name=f"{visit.__name__}-{number}", daemon=True)
        self.visit = visit
        self.subject = subject
        self.ledger = ledger
        self.chance = random.Random(seed * 1_000 + number)
        self.is_over = threading.Event()
        self.visits = 0

    def run(self) -> None:
        while not self.is_over.is_set():
            try:
                self.visit(self)
            except Exception as error:
                self.ledger.fail(f"{self.name}, visit {self.visits}: {type(error).__name__}: {error}")
                return
            self.visits += 1

    def stays(self, least: float, most: float):
        """Yields repeatedly until a time has passed or the soak ends."""
        end = time.monotonic() + self.chance.uniform(least, most)
        while time.monotonic() < end and not self.is_over.is_set():
            yield

    def rest(self, least: float, most: float) -> None:
        self.is_over.wait(self.chance.uniform(least, most))

    def client(self) -> headgate.Client:
        return headgate.Client(self.name, "1", socket_path=self.subject.socket)

    @contextlib.contextmanager
    def raw(self):
        """Opens a raw connection, for input that no library sends."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.subject.socket)
            connection.settimeout(PATIENCE)
            # The daemon may close the connection at any time.
            with contextlib.suppress(ConnectionError):
                yield connection

    def event(self, id: str) -> headgate.Event:
        data = {"pad": "x" * self.chance.randint(0, 400)}
        return {"event": "soak", "id": id, "key": str(self.chance.randint(0, 9)), "data": data}

    def deadline(self) -> float:
        return time.monotonic() + PATIENCE


def line(method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


# MARK: Tracking


def web_worker(party: Party) -> None:
    """Tracks many events at once over one connection."""
    with party.client() as client:
        for _ in party.stays(1, 20):
            ids = party.ledger.new_ids(party.chance.randint(1, 60))
            for future in [client.track_soon(party.event(id)) for id in ids]:
                party.ledger.acknowledge(future.result(PATIENCE).id)
            party.rest(0, 0.3)


def importer(party: Party) -> None:
    """Tracks lists of events, each of which is accepted or refused as a whole."""
    with party.client() as client:
        ids = party.ledger.new_ids(party.chance.randint(1, 200))
        client.track_many([party.event(id) for id in ids], deadline=party.deadline())
        party.ledger.acknowledge(*ids)
    party.rest(0.2, 2)


def cron_script(party: Party) -> None:
    """Tracks one event and disconnects."""
    [id] = party.ledger.new_ids(1)
    with party.raw() as connection, connection.makefile("rb") as answers:
        connection.sendall(line("track", **party.event(id)))
        if "result" in json.loads(answers.readline()):
            party.ledger.acknowledge(id)
    party.rest(0, 0.1)


def shell(party: Party) -> None:
    """Uses the command line tool."""
    [id] = party.ledger.new_ids(1)
    program = party.subject.program.with_name("headgate")
    command = [program, "send", "--stdin", "--socket", party.subject.socket]
    event = json.dumps(party.event(id)) + "\n"
    subprocess.run(command, input=event, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL, text=True)
    party.ledger.acknowledge(id)
    party.rest(0.1, 1)


# MARK: Serving


def worker(party: Party) -> None:
    """Works on jobs, and reports some of them for a retry."""

    def work(batch: headgate.Batch) -> dict[str, str]:
        outcomes = {event["id"]: "retry" for event in batch.events if party.chance.random() < 0.02}
        done = [event for event in batch.events if event["id"] not in outcomes]
        party.ledger.take("jobs", done, in_order=False)
        return outcomes

    with party.client() as client:
        client.subscribe("jobs", work, credit=2, deadline=party.deadline())
        party.rest(1, 10)
        client.unsubscribe("jobs", deadline=party.deadline())


def deserter(party: Party) -> None:
    """Takes a batch of jobs, and disconnects or keeps the batch until its lease has expired."""
    with party.raw() as connection:
        connection.sendall(line("dispatcher.subscribe", id="jobs"))
        connection.recv(1 << 16)
        connection.settimeout(2)
        with contextlib.suppress(TimeoutError):
            connection.recv(1 << 16)
        party.rest(0, 1.5)
    party.rest(2, 6)


def board_server(party: Party) -> None:
    """Serves a board and the barrier before it, and disconnects at any moment."""
    with party.client() as client:
        client.serve_board("login", lambda _: party.rest(0, 0.1), deadline=party.deadline())
        client.serve_board(
            "greeter", lambda activation: activation.input, barrier={"board": "login", "timeout_ms": 2_000},
            deadline=party.deadline(),
        )  # fmt: skip
        party.rest(0.2, 4)
    party.rest(0, 0.5)


def activator(party: Party) -> None:
    with party.client() as client:
        for _ in party.stays(0.5, 5):
            try:
                answer = client.activate("greeter", 7, wait_ms=200, timeout_ms=3_000, deadline=party.deadline())
                if answer.get("output") != 7:
                    party.ledger.fail(f"an activation was answered with {answer}")
            except headgate.HeadgateError as error:
                if error.reason not in ("not_found", "provider_lost", "cancelled", "timeout"):
                    raise
            party.rest(0, 0.2)


# MARK: Controlling


def barrier_owner(party: Party) -> None:
    """Registers a barrier before a dispatcher, which ends with the connection at the latest."""
    with party.client() as client:
        client.register_barrier(party.name, "closed", scopes=["collect", "archive"], deadline=party.deadline())
        for _ in party.stays(0.2, 2):
            state = party.chance.choice(["open", "closed"])
            client.set_barrier(party.name, state, reason="it is so", deadline=party.deadline())
            party.rest(0, 0.2)
        if party.chance.random() < 0.5:
            client.unregister_barrier(party.name, deadline=party.deadline())
    party.rest(1, 4)


def application(party: Party) -> None:
    with party.client() as client:
        for status in party.chance.choices(["foreground", "background", "exiting"], k=3):
            client.application_status(status, deadline=party.deadline())
            party.rest(0, 0.5)
    party.rest(0, 2)


def operator(party: Party) -> None:
    """Pauses and flushes dispatchers, lists state, and changes settings."""
    with party.client() as client:
        client.pause("collect", "soak", flushable=party.chance.random() < 0.5, deadline=party.deadline())
        client.status(deadline=party.deadline())
        client.peek("archive", deadline=party.deadline())
        client.flush(wait=True, timeout_ms=500, deadline=party.deadline())
        client.resume("collect", deadline=party.deadline())
        limit = party.chance.randint(5, 100)
        client.set_config({"dispatchers": {"collect": {"dispatch_limit": limit}}}, deadline=party.deadline())
        client.barriers(deadline=party.deadline())
    if party.chance.random() < 0.3:
        party.subject.reload()
    party.rest(0.5, 3)


# MARK: Watching and misbehaving


def watcher(party: Party) -> None:
    with party.client() as client:
        watch = client.watch(deadline=party.deadline())
        for _ in party.stays(0.5, 10):
            watch.next(time.monotonic() + 1)
        watch.close()


def slow_reader(party: Party) -> None:
    """Sends many requests and reads no answer."""
    with party.raw() as connection:
        connection.settimeout(5)
        with contextlib.suppress(TimeoutError):
            connection.sendall(line("watch") + line("rpc.discover") * 500)
            party.rest(1, 5)
    party.rest(0, 2)


def babbler(party: Party) -> None:
    """Sends random bytes, some of which look like messages."""
    pieces = [b"{", b"}", b"[", b"\n", b'"track"', b'{"jsonrpc":"2.0",', b"\xff\x00", b"x" * 5_000, line("ping"), line("no")]
    with party.raw() as connection:
        for _ in party.stays(0.1, 2):
            connection.sendall(b"".join(party.chance.choices(pieces, k=50)) + b"\n")
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while connection.recv(1 << 16):
                    pass
            connection.settimeout(PATIENCE)
            party.rest(0, 0.05)
    party.rest(0, 1)


def sleeper(party: Party) -> None:
    """Sends half a line, and then nothing for a while."""
    with party.raw() as connection:
        connection.sendall(line("track", event="never")[:-10])
        party.rest(1, 10)


PARTIES = (
    [web_worker] * 2 + [importer, cron_script, cron_script, shell] + [worker] * 2
    + [deserter, board_server, activator, activator, barrier_owner, application, operator, watcher, watcher]
    + [slow_reader, babbler, sleeper, sleeper]
)  # fmt: skip
