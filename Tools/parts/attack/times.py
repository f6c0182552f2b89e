"""The times of a bystander's calls before and during the attack, and their comparison."""

from collections.abc import Sequence

from bystanders import Sample
from neighbour import Slice

# The largest p99 of the daemon's processor time before an answer. The unit is the time for a plain line of a mebibyte, for each
# hostile user: users share a turn of the event loop, and a line may exceed the turn.
MOST_LINES = 150
# The largest p99 is the largest of three: a multiple of the p99 before the attack, a multiple of the work, and FLOOR in seconds.
MOST_RATIO = 50
MOST_OF_WORK = 10
FLOOR = 1.0
# The largest time of a single answer, in seconds.
LATEST = 30.0


def percentile(times: Sequence[float], share: float) -> float:
    """Returns a percentile, or 0 if there are no times."""
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] if times else 0.0


def p99(samples: Sequence[Sample]) -> float:
    return percentile([sample.seconds for sample in samples], 0.99)


def p99_of_work(samples: Sequence[Sample]) -> float:
    return percentile([sample.work for sample in samples], 0.99)


def percentiles(samples: Sequence[Sample]) -> str:
    times, work = [sample.seconds for sample in samples], [sample.work for sample in samples]
    return (
        f"p50 {percentile(times, 0.5) * 1e3:.2f} ms, p99 {p99(samples) * 1e3:.1f} ms; "
        f"of the daemon's work p50 {percentile(work, 0.5) * 1e3:.2f} ms, p99 {p99_of_work(samples) * 1e3:.1f} ms"
    )


class Times:
    """The samples of one bystander, before and during the attack."""

    def __init__(self, name: str, samples: Sequence[Sample], start: float) -> None:
        self.name = name
        self.quiet = [sample for sample in samples if sample.start < start]
        self.attacked = [sample for sample in samples if sample.start >= start]

    def faults(self, line: float, users: int) -> list[str]:
        """Returns the times over their limits. `line` is the daemon's processor time for a plain line of a mebibyte, in seconds."""
        if not self.quiet or not self.attacked:
            return [f"{self.name} made {len(self.quiet)} calls before the attack and {len(self.attacked)} during it"]
        most_work = MOST_LINES * line * users
        most = max(FLOOR, MOST_RATIO * p99(self.quiet), MOST_OF_WORK * most_work)
        measured = [
            ("p99 of the daemon's work", p99_of_work(self.attacked), most_work),
            ("p99", p99(self.attacked), most),
            ("the latest answer", max(sample.seconds for sample in self.attacked), max(LATEST, most)),
        ]
        return [
            f"{self.name}: {what} {seconds * 1e3:.0f} ms, bound {bound * 1e3:.0f} ms"
            for what, seconds, bound in measured if seconds > bound
        ]

    def during(self, part: Slice) -> list[Sample]:
        return [sample for sample in self.attacked if part.start <= sample.start < part.end]

    def __str__(self) -> str:
        quiet, attacked = (f"{len(samples)} calls, {percentiles(samples)}" for samples in (self.quiet, self.attacked))
        return f"{self.name}: {quiet}\n  attacked: {attacked}"
