"""The loads, what their runs showed, and the table that is printed."""

import dataclasses
import statistics

TARGET = 2.5


@dataclasses.dataclass(frozen=True)
class Load:
    """One row of the table: so many connections, each with so many unanswered requests."""

    connections: int
    window: int
    ids: bool = False
    noise: bool = False
    """Whether a third of each event is letters by chance, which the log cannot pack."""
    delivering: bool = False
    events: int = 1
    """Events in each request: more than one are a `track_many`, or a transaction."""
    synced: bool = True
    """Whether an event is synced before it is acknowledged; otherwise both servers do so some time later."""

    def __str__(self) -> str:
        notes = f" of {self.events}" if self.events > 1 else ""
        notes += (" with ids" if self.ids else "") + (" of noise" if self.noise else "") + (" delivering" if self.delivering else "")
        return f"{self.connections} × {self.window}{notes}" + ("" if self.synced else " `normal`")


@dataclasses.dataclass(frozen=True)
class Run:
    """What the generator and the server's process showed in one run."""

    rate: float
    p50_us: float
    p99_us: float
    generator_cpu: float
    server_cpu_us: float
    """CPU time of the server per event, in µs."""
    peak_mebibytes: float
    delivered_share: float


@dataclasses.dataclass
class Row:
    """The pairs of one load, in the order they ran."""

    load: Load
    headgate: list[Run] = dataclasses.field(default_factory=list)
    redis: list[Run] = dataclasses.field(default_factory=list)

    @property
    def ratio(self) -> float:
        return self.median("rate", self.headgate) / self.median("rate", self.redis)

    @staticmethod
    def median(name: str, runs: list[Run]) -> float:
        return statistics.median(getattr(run, name) for run in runs)

    def cells(self) -> list[str]:
        both = [self.headgate, self.redis]
        ratios = [ours.rate / theirs.rate for ours, theirs in zip(self.headgate, self.redis)]
        return [
            str(self.load),
            *(f"{self.median('rate', runs):,.0f}" for runs in both),
            f"{self.ratio:.2f}",
            f"{min(ratios):.2f}–{max(ratios):.2f}",
            *(f"{self.median('p50_us', runs):,.0f} / {self.median('p99_us', runs):,.0f}" for runs in both),
            " / ".join(f"{self.median('server_cpu_us', runs):.1f}" for runs in both),
            " / ".join(f"{self.median('peak_mebibytes', runs):,.0f}" for runs in both),
        ]


HEADINGS = [
    "load", "Headgate/s", "Redis/s", "ratio", "pairs", "Headgate p50 / p99 µs", "Redis p50 / p99 µs",
    "CPU µs/event H / R", "peak MiB H / R",
]  # fmt: skip


def print_table(rows: list[Row]) -> None:
    table = [HEADINGS] + [row.cells() for row in rows]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(HEADINGS))]
    for cells in table:
        rest = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))
        print("  ".join([cells[0].ljust(widths[0]), *rest]))


def print_remarks(rows: list[Row]) -> None:
    """What a reader must know to trust the table, then the verdict on the primary load."""
    for row in rows:
        if row.load.delivering:
            share = Row.median("delivered_share", row.headgate)
            print(f"{row.load}: {share:.1%} were delivered by the end of the run; Redis delivers nothing.")
        busiest = max(run.generator_cpu for run in row.headgate + row.redis)
        if busiest > 0.8:
            print(f"{row.load}: the generator used {busiest:.0%} of a core and may have been the limit.")
    verdict = "met" if rows[0].ratio >= TARGET else "missed"
    print(f"{rows[0].load}: ratio {rows[0].ratio:.2f}, target {TARGET:.1f} or more: {verdict}")
