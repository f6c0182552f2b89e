"""A hostile neighbour: a process of one user, which attacks the daemon in every way that `WAYS` lists."""

import array
import collections
import os
import random
import socket
import time
from collections.abc import Callable
from typing import NamedTuple

from connection import LAST, PATIENCE, Connection, Refused
from lines import LINES, METHODS, call

# The seconds for which a connection with half a line, or one that does not read, stays open. The daemon may close it earlier.
HELD_SECONDS = 3.0
MOST_HELD = 6
# The seconds after which an attack that did not reach the daemon is repeated.
PAUSE = 0.02
# This is more than the daemon accepts from one user.
MANY_CONNECTIONS = 80
# Neighbours run at low priority, since the test is of the daemon and not of the kernel's scheduler.
NICENESS = 10
CUT = "cut "


class Slice(NamedTuple):
    """A part of the attack, from `start` to `end` on the monotonic clock. All neighbours use one kind of attack, or any kind if `kind` is None."""

    kind: str | None
    start: float
    end: float


class Neighbour:
    def __init__(self, path: str, user: int | None, chance: random.Random, methods: list[str]) -> None:
        self.path = path
        self.user = user
        self.chance = chance
        self.methods = methods
        # The numbers of attacks that reached the daemon, by way of attack, and of answers, by method.
        self.counts: collections.Counter[str] = collections.Counter()
        self.answered: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []
        self.held: collections.deque[tuple[float, Connection]] = collections.deque()

    def run(self, slices: list[Slice]) -> tuple[dict[str, int], dict[str, int], list[str]]:
        """Attacks during all slices. Returns the counts of attacks and of answers, and the faults."""
        os.nice(NICENESS)
        self.path = become(self.user, self.path)
        self.kinds = [part.kind for part in slices if part.kind]
        for part in slices:
            time.sleep(max(0.0, part.start - time.monotonic()))
            self.play(part)
        self.release(everything=True)
        return self.counts, self.answered, self.faults

    def play(self, part: Slice) -> None:
        # On a slow machine the first visits may last longer than the slice.
        for way in WAYS[part.kind] if part.kind else ():
            self.insist(way)
        while time.monotonic() < part.end and not self.faults:
            kind = part.kind or self.chance.choice(self.kinds)
            self.visit(self.chance.choice(WAYS[kind]))

    def insist(self, way: str) -> None:
        """Repeats an attack until it has reached the daemon."""
        end = time.monotonic() + PATIENCE
        while not self.visit(way) and not self.faults and time.monotonic() < end:
            time.sleep(PAUSE)

    def visit(self, way: str) -> bool:
        """Attacks once. Returns true if the attack reached the daemon."""
        self.release()
        connection = Connection(self.path)
        try:
            has_reached = attack(way)(self, connection)
        except (Refused, BlockingIOError, ConnectionError):
            # The daemon refused the connection, or closed it before the end.
            has_reached = False
        if all(connection is not held for _, held in self.held):
            connection.close()
        self.counts[way] += has_reached
        self.answered += connection.answered
        self.faults += [f"{way}: {fault}" for fault in connection.faults]
        return has_reached

    def payload(self, kind: str) -> bytes:
        if kind in METHODS:
            return METHODS[kind](self.chance, self.methods)
        return LINES[kind](self.chance)

    def any_payload(self) -> bytes:
        return self.payload(self.chance.choice([*LINES, *METHODS]))

    def hold(self, connection: Connection) -> None:
        self.held.append((time.monotonic() + HELD_SECONDS, connection))

    def release(self, everything: bool = False) -> None:
        while self.held and (everything or self.held[0][0] < time.monotonic() or len(self.held) > MOST_HELD):
            self.held.popleft()[1].close()


def become(user: int | None, path: str) -> str:
    """Changes the user of the process, unless `user` is None. Returns a path of the socket relative to its directory, since the user may
    have no access to the directories above."""
    os.chdir(os.path.dirname(path))
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    return os.path.basename(path)


# MARK: Attacks that consist of lines


def send_whole(neighbour: Neighbour, connection: Connection, kind: str) -> bool:
    """Sends all lines, and reads the answers until the last. The client then disconnects, even with open flushes or activations."""
    if kind == "each method":
        connection.awaited = set(neighbour.methods)
    connection.talk(neighbour.payload(kind))
    return connection.has_last


def send_part(neighbour: Neighbour, connection: Connection, kind: str) -> bool:
    """Disconnects in the middle of the lines, after some of the answers."""
    payload = neighbour.payload(kind)
    connection.exchange(payload[: neighbour.chance.randrange(1, len(payload))], neighbour.chance.choice([0.001, 0.05]))
    return connection.has_arrived(0.5)


def half_close(neighbour: Neighbour, connection: Connection) -> bool:
    """Sends lines, closes the sending direction, and reads the answers for a while."""
    connection.exchange(neighbour.any_payload(), 0.05)
    connection.shut()
    connection.exchange(b"", 0.3)
    return connection.has_arrived(0.5)


# MARK: Attacks on connections


def half_lines(neighbour: Neighbour, connection: Connection) -> bool:
    """Sends half of a line, and then waits or disconnects."""
    line = call("track", event="flood", data={"pad": "x" * neighbour.chance.choice([10, 1_000, 900_000])})
    connection.exchange(line[: neighbour.chance.randrange(1, len(line))], 0.05)
    if neighbour.chance.random() < 0.5:
        neighbour.hold(connection)
    return connection.has_arrived(0.5)


def read_slowly(neighbour: Neighbour, connection: Connection) -> bool:
    """Requests long answers and reads none until the daemon stops reading. The connection stays open."""
    line = neighbour.chance.choice([call("rpc.discover"), call("watch") + call("status"), call("metrics")])
    unsent, end = memoryview(line * (300_000 // len(line))), time.monotonic() + 0.3
    while unsent and time.monotonic() < end:
        unsent = unsent[connection.send(unsent) :]
        time.sleep(0.005)
    neighbour.hold(connection)
    return connection.unread() > 0


def send_out_of_band(neighbour: Neighbour, connection: Connection) -> bool:
    """Sends out-of-band bytes within and between lines."""
    line = call("ping")
    for _ in range(20):
        middle = neighbour.chance.randrange(len(line))
        connection.send(line[:middle])
        connection.send(b"!", socket.MSG_OOB)
        connection.send(line[middle:])
    connection.talk(b"\n")
    return connection.has_last or connection.has_arrived(0.5)


def send_descriptors(neighbour: Neighbour, connection: Connection) -> bool:
    """Sends open descriptors beside its lines. A daemon that keeps them has fewer for its clients."""
    with open(os.devnull, "rb") as file:
        rights = array.array("i", [file.fileno()] * neighbour.chance.choice([1, 50]))
        for _ in range(10):
            connection.socket.sendmsg([call("ping")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    connection.talk(b"")
    return connection.has_last


def come_and_go(neighbour: Neighbour, connection: Connection) -> bool:
    """Connects and disconnects many times, mostly without sending anything."""
    for _ in range(40):
        other = Connection(neighbour.path)
        if neighbour.chance.random() < 0.3:
            other.send(neighbour.chance.choice([b"\n", b"{", call("ping"), call("watch")]))
        other.close()
    connection.talk(b"")
    return connection.has_last


def connect_up_to_the_limit(neighbour: Neighbour, connection: Connection) -> bool:
    """Opens connections until the daemon refuses one, uses all of them, and closes them together."""
    others: list[Connection] = []
    try:
        while len(others) < MANY_CONNECTIONS and not connection.is_refused:
            connection = Connection(neighbour.path)
            others.append(connection)
            connection.exchange(call("ping", LAST), 0.2)
        for other in others:
            other.send(neighbour.chance.choice([call("watch"), call("ping") * 50, b"[" * 10_000]))
        time.sleep(0.1)
        return connection.is_refused
    finally:
        for other in others:
            other.close()


CONNECTIONS: dict[str, Callable[[Neighbour, Connection], bool]] = {
    "half-closed": half_close, "half lines": half_lines, "slow readers": read_slowly, "out-of-band bytes": send_out_of_band,
    "descriptors": send_descriptors, "come and go": come_and_go, "connections": connect_up_to_the_limit,
}  # fmt: skip
# The ways of each kind of attack. An attack that sends lines is made in two ways: with all lines, or cut in the middle.
WAYS = {kind: [kind, CUT + kind] for kind in [*METHODS, *LINES]} | {kind: [kind] for kind in CONNECTIONS}


def attack(way: str) -> Callable[[Neighbour, Connection], bool]:
    if way in CONNECTIONS:
        return CONNECTIONS[way]
    send = send_part if way.startswith(CUT) else send_whole
    return lambda neighbour, connection: send(neighbour, connection, way.removeprefix(CUT))
