"""The processes of an attack: neighbours, the good client and the operator, and the collection of their results."""

import contextlib
import multiprocessing
import random
import time
import traceback
from collections.abc import Callable

from bystanders import Work, be_good_client, be_operator
from connection import PATIENCE
from neighbour import Neighbour, Slice

# The first user id of the neighbours.
FIRST_USER = 61_001
# The number of attacking processes if there is only one user.
PROCESSES_OF_ONE = 4
# The share of the time in which all neighbours use the same kind of attack, one kind after the other.
TOGETHER = 0.6

context = multiprocessing.get_context("fork")


class Part:
    """A process that returns a value."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.receiver, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=self.run, args=(work, sender), daemon=True)
        self.process.start()
        sender.close()

    @staticmethod
    def run(work: Callable[[], object], sender) -> None:
        try:
            sender.send((work(), None))
        except Exception:
            sender.send((None, traceback.format_exc()))

    def has_ended(self) -> bool:
        return self.receiver.poll()

    def result(self, seconds: float) -> tuple[object, str | None]:
        """Returns the value and None, or None and the reason if there is no value within a number of seconds."""
        if not self.receiver.poll(seconds):
            self.process.kill()
            return None, f"no result of a process within {seconds:.0f} s"
        with contextlib.suppress(EOFError):
            return self.receiver.recv()
        return None, "a process died"


class Bystanders:
    """The good client and the operator, from their start to their end."""

    def __init__(self, path: str, process: int, user: int | None, rate: float) -> None:
        self.is_over = context.Event()
        self.parts = [
            Part(lambda: be_good_client(path, process, user, rate, self.is_over)),
            Part(lambda: be_operator(path, process, "archive", self.is_over)),
        ]

    def end(self) -> list[Work]:
        self.is_over.set()
        results = [part.result(2 * PATIENCE) for part in self.parts]
        return [work or Work([], [], [str(reason)]) for work, reason in results]


def plan(seconds: float, chance: random.Random, kinds: list[str]) -> list[Slice]:
    """Returns the slices: one for each kind of attack, in random order, and then all of them at once."""
    now = time.monotonic() + 0.1
    if len(kinds) == 1:
        return [Slice(kinds[0], now, now + seconds)]
    kinds = chance.sample(kinds, len(kinds))
    each = seconds * TOGETHER / len(kinds)
    slices = [Slice(kind, now + number * each, now + (number + 1) * each) for number, kind in enumerate(kinds)]
    return [*slices, Slice(None, slices[-1].end, now + seconds)]


def start_neighbours(path: str, users: int, is_root: bool, seed: int, methods: list[str], slices: list[Slice]) -> list[Part]:
    """Starts a process for each user, or several for a single one."""
    def start(number: int, user: int | None) -> Part:
        neighbour = Neighbour(path, user, random.Random(f"{seed} {number}"), methods)
        return Part(lambda: neighbour.run(slices))

    if users == 1:
        return [start(number, FIRST_USER if is_root else None) for number in range(PROCESSES_OF_ONE)]
    return [start(number, FIRST_USER + number) for number in range(users)]
