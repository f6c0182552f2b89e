"""What the daemon has promised: which events it has acknowledged, under which numbers, and for whom."""

import dataclasses
import json
import pathlib
from collections.abc import Iterable


class Broken(Exception):
    """The daemon did not keep what it had promised."""


@dataclasses.dataclass(eq=False)
class Event:
    """An event that a client tracks, and what it was told of it."""

    params: dict
    destinations: frozenset[str]
    # None where the daemon chooses it.
    id: str | None
    # Its number lies between these: for one of many, that is all that is told.
    first: int = 0
    last: int = 0

    @property
    def is_acknowledged(self) -> bool:
        return self.last > 0


class Ledger:
    """All events of one data directory."""

    def __init__(self) -> None:
        self.events: dict[str, Event] = {}
        # Events whose id the daemon chooses have none before they are acknowledged.
        self.nameless = 0
        # Whether a power cut may have taken what was delivered, so that its number is given again.
        self.may_reuse_numbers = False

    def track(self, event: Event) -> None:
        if event.id is None:
            self.nameless += 1
        else:
            self.events[event.id] = event

    def acknowledge(self, event: Event, id: str, first: int, last: int, is_duplicate: bool) -> None:
        """Takes an answer down, and holds it against an earlier one to the same event."""
        if event.id not in (None, id):
            raise Broken(f"{event.id} was acknowledged as {id}")
        if event.is_acknowledged and not (is_duplicate and first <= event.last and event.first <= last):
            raise Broken(f"{id} was acknowledged as {event.first}…{event.last}, and then as {first}…{last}")
        event.id, event.first, event.last = id, max(event.first, first), min(event.last or last, last)
        self.events[id] = event

    def lose(self, event: Event) -> None:
        """What was not synced is gone in a power cut, which was said before: it was acknowledged for nothing."""
        event.first = event.last = 0
        self.may_reuse_numbers = True

    def acknowledged(self, destination: str) -> Iterable[Event]:
        return (event for event in self.events.values() if event.is_acknowledged and destination in event.destinations)

    def check_files(self, destination: str, files: Iterable[pathlib.Path]) -> int:
        """All that was acknowledged for a destination is in its files, under the number that was told, and nothing else
        is; no number was given twice.
        - Returns: how many events they hold, repeats not counted.
        """
        delivered: dict[str, int] = {}
        for event in (event for path in files for event in whole_events(path)):
            if delivered.setdefault(event["id"], event["seq"]) != event["seq"] and not self.may_reuse_numbers:
                raise Broken(f"{destination}: {event['id']} came as {delivered[event['id']]} and as {event['seq']}")
        for event in self.acknowledged(destination):
            if event.id not in delivered:
                raise Broken(f"{destination}: {event.id} was acknowledged as {event.first}, and never came")
            if not (event.first <= delivered[event.id] <= event.last or self.may_reuse_numbers):
                raise Broken(f"{destination}: {event.id} was acknowledged as {event.first}, came as {delivered[event.id]}")
        self.expect_known(destination, delivered)
        return len(delivered)

    def expect_known(self, destination: str, delivered: dict[str, int]) -> None:
        """What came was tracked, and each has a number of its own."""
        strangers = [id for id in delivered if id not in self.events]
        named = [id for id in strangers if id.startswith("t")]
        if named or len(strangers) > self.nameless:
            raise Broken(f"{destination}: nobody tracked {(named or strangers)[:3]}")
        if len(set(delivered.values())) < len(delivered) and not self.may_reuse_numbers:
            raise Broken(f"{destination}: two events have one number")


def whole_events(path: pathlib.Path) -> Iterable[dict]:
    """The events of a file. A power cut may leave holes in what was not settled yet, which comes again."""
    for line in path.read_bytes().splitlines():
        if b"\0" in line:
            continue
        try:
            yield json.loads(line)
        except ValueError:
            raise Broken(f"{path.name} has a line that is no event: {line[:200]}") from None
