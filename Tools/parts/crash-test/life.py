"""The life of one data directory: rounds of work that each end in a crash, and an orderly end, where all promises are checked."""

import pathlib
import random
from collections.abc import Sequence

from daemon import Daemon
from faults import FAULTS, Kill
from ledger import Broken, Event, Ledger
from parties import Operator, Tracker, Worker, work

PATIENCE = 120


class Life:
    def __init__(self, program: pathlib.Path, folder: pathlib.Path, faults: Sequence[str], chance: random.Random) -> None:
        self.chance = chance
        self.daemon = Daemon(program, folder)
        self.peace = Kill(self.daemon, chance)
        self.faults = [FAULTS[name](self.daemon, chance) for name in faults]
        self.ledger = Ledger()
        self.trackers = [Tracker(str(number), self.ledger, chance) for number in range(4)]
        self.worker = Worker(self.ledger, chance)
        self.parties = [*self.trackers, self.worker, Operator(self.ledger, chance)]
        self.last = self.peace
        # A data directory belongs to one kind of store.
        self.kind = chance.choice(["log", "log", "log", "sqlite"])
        # The present step, for error messages.
        self.past = "before the first round"

    def live(self, rounds: int) -> None:
        """Runs the rounds. Raises `Broken` if a promise is broken."""
        self.start(self.peace)
        self.daemon.ask("dispatcher.pause", id="held")
        self.daemon.kill()
        for number in range(1, rounds + 1):
            fault = self.chance.choice(self.faults)
            self.play(fault)
            self.past = f"after round {number} ({type(fault).__name__.lower()})"
        self.start(self.peace)
        self.past = f"at the end of {rounds} rounds"
        self.finish()

    # MARK: A round

    def play(self, fault: Kill) -> None:
        self.start(fault)
        self.work()
        # The next daemon must not treat data that it finds, and that was never synced, as safe.
        if self.chance.random() < 0.4:
            fault.kill()
            self.drain()
            self.daemon.start(self.durability(), self.kind, fault.environment)
            self.work(0.003)
        fault.strike(self.parties)
        self.drain()
        self.forget_nameless(fault)
        self.last = fault

    def start(self, fault: Kill) -> None:
        """Starts the next daemon, and checks it against the acknowledgements of the previous one."""
        fault.prepare()
        self.daemon.start(self.durability(), self.kind, fault.environment)
        for tracker in self.trackers:
            self.check(tracker)

    def durability(self) -> str:
        return self.chance.choice(["full", "full", "full", "normal"])

    def work(self, least: float = 0.02) -> None:
        """Lets all clients work for a random time, with short times as likely as long ones."""
        for party in self.parties:
            party.connect(self.daemon)
        work(self.parties, least * (0.3 / least) ** self.chance.random())

    def drain(self) -> None:
        for party in self.parties:
            party.drain()

    # MARK: Promises

    def forget_nameless(self, fault: Kill) -> None:
        """Drops from the ledger the events that the power failure may have lost, if the daemon chose their ids. Without a client's
        id the next daemon cannot be asked for them."""
        for tracker in self.trackers:
            for event, durability in tracker.news.items():
                if "id" not in event.params and fault.takes_unsynced and durability == "normal":
                    self.ledger.lose(event)

    def check(self, tracker: Tracker) -> None:
        """Asks for the last acknowledged events: each must be known under its number. After a power failure the newest unsynced
        ones may be lost, and are tracked again."""
        news = [entry for entry in tracker.news.items() if "id" in entry[0].params]
        news.sort(key=lambda entry: entry[0].first)
        tracker.news = {}
        answers = self.daemon.ask_all("track", [event.params for event, _ in news])
        is_lost = False
        for (event, durability), answer in zip(news, answers, strict=True):
            is_known = bool(answer.get("duplicate"))
            if not is_known:
                self.expect_may_be_lost(event, durability)
                is_lost = True
                self.ledger.lose(event)
                tracker.news[event] = self.daemon.durability
            elif is_lost:
                raise Broken(f"{event.id} was kept ({event.first}), and an older event was lost")
            self.ledger.acknowledge(event, answer["id"], answer["seq"], answer["seq"], is_known)

    def expect_may_be_lost(self, event: Event, durability: str) -> None:
        if durability == "full" or not self.last.takes_unsynced:
            raise Broken(f"{event.id} was acknowledged as {event.first} ({durability}), and is not known after the restart")

    def finish(self) -> None:
        """Delivers everything that is stored, and then checks all promises."""
        if any(self.files("held")):
            raise Broken("a paused dispatcher has delivered")
        self.daemon.ask("dispatcher.resume", id="held")
        self.worker.is_kind = True
        self.worker.connect(self.daemon)
        for _ in range(PATIENCE * 10):
            work([self.worker], 0.1)
            again = self.daemon.ask("dead_letters.requeue", dispatcher="doubtful")["count"]
            if again == 0 and self.daemon.ask("status")["store"]["events"] == 0:
                break
        else:
            raise Broken("some stored events are not delivered")
        for destination in ("archive", "held"):
            self.ledger.check_files(destination, self.files(destination))
        for event in self.ledger.acknowledged("doubtful"):
            if event.id not in self.worker.done:
                raise Broken(f"{event.id} was acknowledged as {event.first}, and no worker got it")

    def files(self, destination: str) -> list[pathlib.Path]:
        """Returns the files of a dispatcher, oldest first."""
        files = self.daemon.data.glob(f"{destination}.ndjson*")
        return sorted(files, key=lambda path: -int(path.suffix[1:]) if path.suffix[1:].isdigit() else 1)
