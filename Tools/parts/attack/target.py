"""The daemon under attack: its settings, and the checks of its state from outside."""

import json
import pathlib
import re
import time
from collections.abc import Callable

from fight import FIRST_USER
from lines import GOOD_USER
from ledger import Broken
from subject import PATIENCE, Subject

# Small limits, so that few connections reach them.
LIMITS = {
    "max_connections": 120, "max_connections_per_uid": 40, "max_line_bytes": 1 << 20, "max_unanswered": 1_024,
    "max_unanswered_bytes": 1 << 20, "max_output_bytes": 1 << 18, "slow_reader_timeout_ms": 500,
}  # fmt: skip
# Control characters in the log, other than the ends of lines.
CONTROL = re.compile(rb"[\0-\x09\x0b-\x1f\x7f]")


class Target(Subject):
    def __init__(self, program: pathlib.Path, folder: pathlib.Path, users: int) -> None:
        self.run = folder / "run"
        self.run.mkdir(0o755)
        folder.chmod(0o755)
        super().__init__(program, folder, settings(folder, users))
        self.socket = str(self.run / "s")

    def start(self) -> None:
        super().start()
        # Every user may connect.
        pathlib.Path(self.socket).chmod(0o666)

    def expect_clean_log(self) -> None:
        """Checks that no client could write control characters into the log."""
        if found := CONTROL.search(self.log.read_bytes()):
            raise Broken(f"the log has control characters: {self.log.read_bytes()[max(0, found.start() - 100) :][:200]!r}")


def settings(folder: pathlib.Path, users: int) -> dict:
    """Returns settings that grant the neighbours all rights except to read events and to change settings."""
    neighbours = {"uids": list(range(FIRST_USER, FIRST_USER + users))}
    return {
        "durability": "normal",
        "limits": LIMITS,
        "access": {"observe": neighbours, "control": neighbours, "serve": neighbours},
        # With these limits the memory for ids and traces soon reaches its maximum.
        "store": {"dedupe_ids": 10_000},
        "trace": {"remember": 1_000},
        "dispatchers": {
            "archive": {"kind": "file", "path": str(folder / "archive.ndjson"), "dispatch_limit": 500, "load_rule": named("good")},
            "flood": {
                "kind": "file", "path": str(folder / "flood.ndjson"), "dispatch_limit": 1_000, "byte_limit": 4 << 20,
                "rotate_bytes": 16 << 20, "keep": 1, "load_rule": named("flood"),
            },
            "decoy": {"kind": "worker", "lease_ms": 1_000, "load_rule": named("decoy")},
        },
    }  # fmt: skip


def named(event: str) -> dict:
    return {"operator": "equals", "path": "event", "value": event}


def most_mebibytes(quiet: float) -> float:
    """Returns the limit of the daemon's memory in MiB: its memory before the attack, and the maximum of each connection (Behaviour X2)."""
    account = LIMITS["max_line_bytes"] + LIMITS["max_unanswered_bytes"] + LIMITS["max_output_bytes"]
    return quiet + LIMITS["max_connections"] * account / (1 << 20)


def expect_soon(name: str, look: Callable[[], float], most: float) -> None:
    """Waits until a number falls to its limit."""
    deadline = time.monotonic() + PATIENCE
    while (now := look()) > most:
        if time.monotonic() > deadline:
            raise Broken(f"{name}: {now:.0f}, and should be no more than {most:.0f}")
        time.sleep(0.1)


def expect_delivered(archive: pathlib.Path, acknowledged: list[int], is_root: bool) -> None:
    """Waits until the file has exactly the acknowledged events of the good client, each once and in order."""
    deadline = time.monotonic() + PATIENCE
    while (delivered := good_numbers(archive, is_root)) != acknowledged:
        if time.monotonic() > deadline or len(delivered) > len(acknowledged):
            missing = sorted(set(acknowledged) - set(delivered))
            raise Broken(
                f"{len(acknowledged)} events acknowledged, {len(delivered)} delivered; missing: {missing[:10]}; "
                f"in order: {delivered == sorted(delivered)}; repeated: {len(delivered) - len(set(delivered))}"
            )
        time.sleep(0.1)


def good_numbers(archive: pathlib.Path, is_root: bool) -> list[int]:
    """Returns the numbers of the good client's events in the file. Neighbours copy its ids, but cannot send as its user (Behaviour P2)."""
    if not archive.exists():
        return []
    events = [json.loads(line) for line in archive.read_bytes().split(b"\n")[:-1]]
    own = [event for event in events if "number" in event["data"] and (not is_root or event["context"]["uid"] == GOOD_USER)]
    return [event["data"]["number"] for event in own]
