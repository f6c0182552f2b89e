"""The ways in which the daemon ends: SIGKILL, a disk that stops during a commit, a power failure."""

import fcntl
import pathlib
import random
import subprocess
from collections.abc import Sequence

from daemon import Daemon
from disk import Disk
from parties import Party, work

SOURCES = pathlib.Path(__file__).resolve().parent


class Kill:
    """A SIGKILL at any moment."""

    # True if data that was written but not synced may be lost.
    takes_unsynced = False

    def __init__(self, daemon: Daemon, chance: random.Random) -> None:
        self.daemon = daemon
        self.chance = chance
        self.environment: dict[str, str] = {}

    def prepare(self) -> None:
        """Prepares the fault, before the start of the daemon."""

    def kill(self) -> None:
        """Ends the daemon in this way."""
        self.daemon.kill()

    def strike(self, parties: Sequence[Party]) -> None:
        self.kill()

    def library(self, name: str) -> pathlib.Path:
        """Builds the library that the daemon preloads."""
        library = self.daemon.folder / f"{name}.so"
        options = ["-D_GNU_SOURCE", "-O1", "-shared", "-fPIC"]
        subprocess.run(["gcc", *options, "-o", library, SOURCES / f"{name}.c"], check=True)
        return library


class Freeze(Kill):
    """An end during a commit. The store stops before a write or sync, while the rest of the daemon continues and
    acknowledges events that it considers safe."""

    def __init__(self, daemon: Daemon, chance: random.Random) -> None:
        super().__init__(daemon, chance)
        self.switch = daemon.folder / "freeze"
        self.environment = {"LD_PRELOAD": str(self.library("freeze")), "HEADGATE_FREEZE": str(self.switch)}

    def prepare(self) -> None:
        self.switch.unlink(missing_ok=True)

    def strike(self, parties: Sequence[Party]) -> None:
        partial = self.switch.with_suffix(".new")
        partial.write_text(str(self.chance.randint(0, 12)))
        partial.rename(self.switch)
        work(parties, 0.05)
        self.kill()


class Power(Kill):
    """A power failure, which loses any part of the unsynced data."""

    takes_unsynced = True

    def __init__(self, daemon: Daemon, chance: random.Random) -> None:
        super().__init__(daemon, chance)
        self.journal = daemon.folder / "journal"
        self.environment = {
            "LD_PRELOAD": str(self.library("power")),
            "HEADGATE_DISK": str(daemon.data.resolve()),
            "HEADGATE_JOURNAL": str(self.journal),
        }

    def prepare(self) -> None:
        # With slow syncs, daemons are often killed during a sync.
        self.environment["HEADGATE_SYNC_US"] = str(self.chance.choice([200, 2_000, 30_000, 100_000]))
        self.disk = Disk(self.daemon.data)
        self.journal.write_bytes(b"")

    def kill(self) -> None:
        """Locks the journal before the kill. Otherwise a kill between a change and its record would leave a change on disk
        that the journal does not have."""
        with self.journal.open() as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            self.daemon.kill()

    def strike(self, parties: Sequence[Party]) -> None:
        self.kill()
        self.disk.replay(self.journal)
        self.disk.cut_power(self.chance)


FAULTS = {"kill": Kill, "freeze": Freeze, "power": Power}
