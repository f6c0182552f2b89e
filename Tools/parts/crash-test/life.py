"""The life of one data directory: rounds of work that each end badly, and a good end, in which all promises are checked."""

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
        # How far it has come.
        self.past = "before the first round"

    def live(self, rounds: int) -> None:
        """Plays so many rounds; all promises hold, or `Broken` says which does not."""
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
        # What a daemon finds that nobody has synced must not count as safe.
        if self.chance.random() < 0.4:
            fault.kill()
            self.drain()
            self.daemon.start(self.durability(), self.kind(), fault.environment)
            self.work(0.003)
        fault.strike(self.parties)
        self.drain()
        self.forget_nameless(fault)
        self.last = fault

    def start(self, fault: Kill) -> None:
        """Starts the daemon that comes to that end, and holds it to what the one before acknowledged."""
        fault.prepare()
        self.daemon.start(self.durability(), self.kind(), fault.environment)
        for tracker in self.trackers:
            self.check(tracker)

    def durability(self) -> str:
        return self.chance.choice(["full", "full", "full", "normal"])

    def kind(self) -> str:
        """Another kind of store has what is stored moved at the start."""
        return self.chance.choice(["log", "log", "log", "sqlite"])

    def work(self, least: float = 0.02) -> None:
        """Lets all work, short times as likely as long ones."""
        for party in self.parties:
            party.connect(self.daemon)
        work(self.parties, least * (0.3 / least) ** self.chance.random())

    def drain(self) -> None:
        for party in self.parties:
            party.drain()

    # MARK: Promises

    def forget_nameless(self, fault: Kill) -> None:
        """Nobody can ask for events without an id of the client's. Those that a power cut may have taken are not looked for."""
        for tracker in self.trackers:
            for event, durability in tracker.news.items():
                if "id" not in event.params and fault.takes_unsynced and durability == "normal":
                    self.ledger.lose(event)

    def check(self, tracker: Tracker) -> None:
        """Asks for all that was acknowledged last: each event is known under its number. Of what a power cut may take, the
        newest may be gone; that is tracked anew."""
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
        """All that is stored is delivered, and then everything is looked at."""
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
            raise Broken("what is stored is not delivered")
        for destination in ("archive", "held"):
            self.ledger.check_files(destination, self.files(destination))
        for event in self.ledger.acknowledged("doubtful"):
            if event.id not in self.worker.done:
                raise Broken(f"{event.id} was acknowledged as {event.first}, and no worker got it")

    def files(self, destination: str) -> list[pathlib.Path]:
        """The files of a dispatcher, the oldest first."""
        files = self.daemon.data.glob(f"{destination}.ndjson*")
        return sorted(files, key=lambda path: -int(path.suffix[1:]) if path.suffix[1:].isdigit() else 1)
