"""The daemon's promises: the acknowledged events, and the destinations where each has arrived."""

import threading


class Broken(Exception):
    """The daemon broke a promise, or keeps memory that it should release."""


class Ledger:
    """All events by number. The id of an event is `e` and its number. Any thread may use it."""

    ACKNOWLEDGED = 1

    def __init__(self, *destinations: str) -> None:
        self.lock = threading.Lock()
        self.marks = bytearray()
        self.bits = {name: 2 << place for place, name in enumerate(destinations)}
        self.newest = dict.fromkeys(destinations, 0)
        self.repeated = dict.fromkeys(destinations, 0)
        self.faults: list[str] = []

    def new_ids(self, count: int) -> list[str]:
        with self.lock:
            first = len(self.marks)
            self.marks.extend(bytes(count))
        return [f"e{number}" for number in range(first, first + count)]

    def acknowledge(self, *ids: str) -> None:
        with self.lock:
            for event in ids:
                self.marks[int(event[1:])] |= self.ACKNOWLEDGED

    def take(self, destination: str, events: list[dict], in_order: bool = True) -> None:
        """Records events that arrived at a destination. An event may arrive again, but its first arrival must not come after a
        newer event (Behaviour P5, Q2)."""
        bit = self.bits[destination]
        with self.lock:
            for event in events:
                number, seq = int(event["id"][1:]), event["seq"]
                if self.marks[number] & bit:
                    self.repeated[destination] += 1
                    continue
                self.marks[number] |= bit
                if in_order and seq < self.newest[destination]:
                    self.faults.append(f"{destination} got {seq} after {self.newest[destination]}")
                self.newest[destination] = max(seq, self.newest[destination])

    def missing(self) -> dict[str, int]:
        """Returns the number of acknowledged events that have not arrived, by destination."""
        with self.lock:
            acknowledged = [mark for mark in self.marks if mark & self.ACKNOWLEDGED]
        return {name: sum(not mark & bit for mark in acknowledged) for name, bit in self.bits.items()}

    def acknowledged(self) -> int:
        with self.lock:
            return sum(mark & self.ACKNOWLEDGED for mark in self.marks)

    def fail(self, fault: str) -> None:
        with self.lock:
            self.faults.append(fault)
