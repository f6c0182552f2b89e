"""The clients of the daemon while it is killed: trackers, a worker, an operator."""

import collections
import contextlib
import json
import random
import selectors
import socket
import time
from collections.abc import Sequence

from daemon import Daemon
from ledger import Broken, Event, Ledger

# The dispatchers of kind `file`. Many events go only to these two.
FILES = frozenset({"archive", "held"})
MOST_UNSENT = 1 << 16


class Party:
    """A connection that never blocks. It is recreated with each start of the daemon."""

    def __init__(self, ledger: Ledger, chance: random.Random) -> None:
        self.ledger = ledger
        self.chance = chance
        self.connection: socket.socket | None = None
        self.requests = 0
        self.unsent = b""
        self.partial = b""

    def connect(self, daemon: Daemon) -> None:
        self.connection = daemon.connect()
        self.connection.setblocking(False)
        self.unsent = self.partial = b""
        self.begin()

    def begin(self) -> None:
        """Sends the first requests on a new connection."""

    def fill(self) -> None:
        """Adds a message to the output."""

    def take(self, message: dict) -> None:
        """Handles a message of the daemon."""

    def request(self, method: str, **params: object) -> int:
        self.requests += 1
        self.put({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params})
        return self.requests

    def put(self, message: dict) -> None:
        self.unsent += json.dumps(message).encode() + b"\n"

    def send(self) -> None:
        self.fill()
        with contextlib.suppress(BlockingIOError, ConnectionError):
            self.unsent = self.unsent[self.connection.send(self.unsent) :]

    def receive(self) -> bool:
        """Reads and handles the available messages. Returns False if the daemon has closed the connection."""
        try:
            chunk = self.connection.recv(1 << 18)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        *lines, self.partial = (self.partial + chunk).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "error" in message:
                raise Broken(f"{type(self).__name__} got the error {message['error']}")
            self.take(message)
        return bool(chunk)

    def drain(self) -> None:
        """Reads what the daemon sent before it was killed."""
        self.connection.setblocking(True)
        while self.receive():
            pass
        self.connection.close()


class Tracker(Party):
    """A client that tracks single events or many in a request, waits for each answer or for none, and sometimes repeats an event.
    After a restart of the daemon it tracks the unacknowledged events again."""

    def __init__(self, name: str, ledger: Ledger, chance: random.Random) -> None:
        super().__init__(ledger, chance)
        self.name = name
        self.count = 0
        self.unanswered: dict[int, list[Event]] = {}
        self.again: list[list[Event]] = []
        # The events acknowledged since the last round, and their durability.
        self.news: dict[Event, str] = {}
        self.recent: collections.deque[Event] = collections.deque(maxlen=100)
        self.durability = "full"

    def connect(self, daemon: Daemon) -> None:
        self.durability = daemon.durability
        # A quiet client only sends its unacknowledged events again.
        self.is_quiet = bool(self.unanswered) and self.chance.random() < 0.5
        self.window = self.chance.choice([1, 1, 8, 64, 512])
        self.most = self.chance.choice([1, 1, 1, 8, 50])
        # A line may have up to one MiB.
        self.size = self.chance.choice([20, 200, 200, 2_000, 60_000 if self.most < 10 else 10_000])
        lost = [[event for event in events if event.id] for events in self.unanswered.values()]
        self.again = [events for events in lost + self.again if events]
        self.unanswered = {}
        super().connect(daemon)

    def fill(self) -> None:
        while len(self.unsent) < MOST_UNSENT and len(self.unanswered) < self.window and (self.again or not self.is_quiet):
            self.track(self.next())

    def next(self) -> list[Event]:
        if self.again:
            return self.again.pop(0)
        if self.recent and self.chance.random() < 0.03:
            return [self.chance.choice(self.recent)]
        return [self.new_event() for _ in range(self.chance.randint(1, self.most))]

    def new_event(self) -> Event:
        self.count += 1
        id = f"t{self.name}-{self.count}" if self.chance.random() < 0.9 else None
        params = {"event": "plain", "data": {"pad": "x" * self.chance.randint(0, self.size)}}
        destinations = FILES
        if id:
            params["id"] = id
        if self.chance.random() < 0.05:
            params["event"] = "doubtful"
            destinations = FILES | {"doubtful"}
        elif self.chance.random() < 0.1:
            destinations = frozenset({self.chance.choice(sorted(FILES))})
            params["dispatchers"] = sorted(destinations)
        event = Event(params, destinations, id)
        self.ledger.track(event)
        return event

    def track(self, events: list[Event]) -> None:
        if len(events) == 1 and self.most == 1:
            number = self.request("track", **events[0].params)
        else:
            number = self.request("track_many", events=[event.params for event in events])
        self.unanswered[number] = events

    def take(self, message: dict) -> None:
        events, result = self.unanswered.pop(message["id"]), message["result"]
        ids = result.get("ids") or [result["id"]]
        first, last = result.get("first_seq") or result["seq"], result.get("last_seq") or result["seq"]
        is_duplicate = bool(result.get("duplicate") or result.get("duplicates"))
        for event, id in zip(events, ids, strict=True):
            if "id" in event.params:
                self.recent.append(event)
            # A client may rely on an answer with `duplicate` as on the first answer.
            if not event.is_acknowledged or self.durability == "full":
                self.news[event] = self.durability
            self.ledger.acknowledge(event, id, first, last, is_duplicate)


class Worker(Party):
    """A worker of the dispatcher `doubtful`, which refuses some events and retries others."""

    def __init__(self, ledger: Ledger, chance: random.Random) -> None:
        super().__init__(ledger, chance)
        self.done: set[str] = set()
        self.is_kind = False

    def begin(self) -> None:
        self.request("dispatcher.subscribe", id="doubtful", credit=2)

    def take(self, message: dict) -> None:
        if message.get("method") != "dispatch":
            return
        ids = [event["id"] for event in message["params"]["events"]]
        outcomes = {id: "delivered" if self.is_kind else self.outcome() for id in ids}
        self.done.update(id for id, outcome in outcomes.items() if outcome == "delivered")
        self.put({"jsonrpc": "2.0", "id": message["id"], "result": {"outcomes": outcomes}})

    def outcome(self) -> str:
        return self.chance.choices(["delivered", "dead", "retry"], [60, 30, 10])[0]


class Operator(Party):
    """A client that requeues dead letters."""

    def fill(self) -> None:
        if not self.unsent and self.chance.random() < 0.05:
            self.request("dead_letters.requeue", dispatcher="doubtful")


def work(parties: Sequence[Party], seconds: float) -> None:
    """Lets the clients work for a while."""
    selector = selectors.DefaultSelector()
    for party in parties:
        selector.register(party.connection, selectors.EVENT_READ | selectors.EVENT_WRITE, party)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key, ready in selector.select(0.01):
            if ready & selectors.EVENT_READ:
                key.data.receive()
            if ready & selectors.EVENT_WRITE:
                key.data.send()
        # Sockets are almost always writable, so the loop would spin without this pause.
        time.sleep(0.0005)
