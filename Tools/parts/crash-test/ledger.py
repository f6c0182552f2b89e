"""The daemon's promises: the acknowledged events, their sequence numbers, and their dispatchers."""

import dataclasses
import json
import pathlib
from collections.abc import Iterable


class Broken(Exception):
    """The daemon broke a promise."""


@dataclasses.dataclass(eq=False)
class Event:
    """An event that a client tracks, and the daemon's answer."""

    params: dict
    destinations: frozenset[str]
    # None if the daemon chooses the id.
    id: str | None
    # The bounds of the sequence number: for an event of `track_many` the exact number is unknown.
    first: int = 0
    last: int = 0

    @property
    def is_acknowledged(self) -> bool:
        return self.last > 0


class Ledger:
    """All events of one data directory."""

    def __init__(self) -> None:
        self.events: dict[str, Event] = {}
        # Events whose id the daemon chooses have no id before they are acknowledged.
        self.nameless = 0
        # True if a power failure may have lost delivered events, so that their numbers are used again.
        self.may_reuse_numbers = False

    def track(self, event: Event) -> None:
        if event.id is None:
            self.nameless += 1
        else:
            self.events[event.id] = event

    def acknowledge(self, event: Event, id: str, first: int, last: int, is_duplicate: bool) -> None:
        """Records an answer, and compares it with an earlier answer for the same event."""
        if event.id not in (None, id):
            raise Broken(f"{event.id} was acknowledged as {id}")
        if event.is_acknowledged and not (is_duplicate and first <= event.last and event.first <= last):
            raise Broken(f"{id} was acknowledged as {event.first}…{event.last}, and then as {first}…{last}")
        event.id, event.first, event.last = id, max(event.first, first), min(event.last or last, last)
        self.events[id] = event

    def lose(self, event: Event) -> None:
        """Drops unsynced events after a power failure. Their durability does not promise that they survive."""
        event.first = event.last = 0
        self.may_reuse_numbers = True

    def acknowledged(self, destination: str) -> Iterable[Event]:
        return (event for event in self.events.values() if event.is_acknowledged and destination in event.destinations)

    def check_files(self, destination: str, files: Iterable[pathlib.Path]) -> int:
        """Checks that a destination's files have every event acknowledged for it, under the acknowledged number, and nothing
        else, and that no number was used twice. Returns the number of events in the files without repeats.
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
        """Checks that every delivered event was tracked, and that each has its own sequence number."""
        strangers = [id for id in delivered if id not in self.events]
        named = [id for id in strangers if id.startswith("t")]
        if named or len(strangers) > self.nameless:
            raise Broken(f"{destination}: no client tracked {(named or strangers)[:3]}")
        if len(set(delivered.values())) < len(delivered) and not self.may_reuse_numbers:
            raise Broken(f"{destination}: two events have one number")


def whole_events(path: pathlib.Path) -> Iterable[dict]:
    """Yields the events of a file. A power failure may damage unsettled events, which are delivered again."""
    for line in path.read_bytes().splitlines():
        if b"\0" in line:
            continue
        try:
            yield json.loads(line)
        except ValueError:
            raise Broken(f"{path.name} has a line that is no event: {line[:200]}") from None
