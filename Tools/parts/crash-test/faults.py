"""The ends that a daemon comes to: kill -9, a disk that stops in the middle of a commit, a power cut."""

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
    """At any moment."""

    # Whether what was only written may be lost.
    takes_unsynced = False

    def __init__(self, daemon: Daemon, chance: random.Random) -> None:
        self.daemon = daemon
        self.chance = chance
        self.environment: dict[str, str] = {}

    def prepare(self) -> None:
        """Called before the daemon is started that comes to this end."""

    def kill(self) -> None:
        """Ends the daemon on the way to this end, or at it."""
        self.daemon.kill()

    def strike(self, parties: Sequence[Party]) -> None:
        self.kill()

    def library(self, name: str) -> pathlib.Path:
        """Builds what is loaded into the daemon."""
        library = self.daemon.folder / f"{name}.so"
        options = ["-D_GNU_SOURCE", "-O1", "-shared", "-fPIC"]
        subprocess.run(["gcc", *options, "-o", library, SOURCES / f"{name}.c"], check=True)
        return library


class Freeze(Kill):
    """In the middle of a commit: the store stops before one of its writes or syncs, while the rest of the daemon goes on and
    acknowledges what it thinks is safe."""

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
    """Of what was not synced, any part is gone."""

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
        # On slow disks daemons are killed while they sync.
        self.environment["HEADGATE_SYNC_US"] = str(self.chance.choice([200, 2_000, 30_000, 100_000]))
        self.disk = Disk(self.daemon.data)
        self.journal.write_bytes(b"")

    def kill(self) -> None:
        """Never between what happens to a file and the note of it: a daemon that is started again would find what the journal
        does not have."""
        with self.journal.open() as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            self.daemon.kill()

    def strike(self, parties: Sequence[Party]) -> None:
        self.kill()
        self.disk.replay(self.journal)
        self.disk.cut_power(self.chance)


FAULTS = {"kill": Kill, "freeze": Freeze, "power": Power}
