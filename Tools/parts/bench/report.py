"""The loads, the results of their runs, and the printed table."""

import dataclasses
import statistics

TARGET = 2.5


@dataclasses.dataclass(frozen=True)
class Load:
    """One row of the table: a number of connections, and the unanswered requests on each."""

    connections: int
    window: int
    ids: bool = False
    noise: bool = False
    """True if a third of each event is random text, which the log cannot compress."""
    delivering: bool = False
    events: int = 1
    """The events in each request. Several events are a `track_many`, or a transaction."""
    synced: bool = True
    """True if an event is synced before it is acknowledged. Otherwise both servers sync later."""

    def __str__(self) -> str:
        notes = f" of {self.events}" if self.events > 1 else ""
        notes += (" with ids" if self.ids else "") + (" of noise" if self.noise else "") + (" delivering" if self.delivering else "")
        return f"{self.connections} × {self.window}{notes}" + ("" if self.synced else " `normal`")


@dataclasses.dataclass(frozen=True)
class Run:
    """The results of the generator and of the server's process in one run."""

    rate: float
    p50_us: float
    p99_us: float
    generator_cpu: float
    server_cpu_us: float
    """The server's CPU time per event, in µs."""
    peak_mebibytes: float
    delivered_share: float


@dataclasses.dataclass
class Row:
    """The pairs of one load, in the order in which they ran."""

    load: Load
    headgate: list[Run] = dataclasses.field(default_factory=list)
    peer: list[Run] = dataclasses.field(default_factory=list)

    @property
    def ratio(self) -> float:
        return self.median("rate", self.headgate) / self.median("rate", self.peer)

    @staticmethod
    def median(name: str, runs: list[Run]) -> float:
        return statistics.median(getattr(run, name) for run in runs)

    def cells(self) -> list[str]:
        both = [self.headgate, self.peer]
        ratios = [ours.rate / theirs.rate for ours, theirs in zip(self.headgate, self.peer)]
        return [
            str(self.load),
            *(f"{self.median('rate', runs):,.0f}" for runs in both),
            f"{self.ratio:.2f}",
            f"{min(ratios):.2f}–{max(ratios):.2f}",
            *(f"{self.median('p50_us', runs):,.0f} / {self.median('p99_us', runs):,.0f}" for runs in both),
            " / ".join(f"{self.median('server_cpu_us', runs):.1f}" for runs in both),
            " / ".join(f"{self.median('peak_mebibytes', runs):,.0f}" for runs in both),
        ]


def headings(peer: str) -> list[str]:
    return [
        "load", "Headgate/s", f"{peer}/s", "ratio", "pairs", "Headgate p50 / p99 µs", f"{peer} p50 / p99 µs",
        f"CPU µs/event H / {peer[0]}", f"peak MiB H / {peer[0]}",
    ]  # fmt: skip


def print_table(rows: list[Row], peer: str) -> None:
    table = [headings(peer)] + [row.cells() for row in rows]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(table[0]))]
    for cells in table:
        rest = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))
        print("  ".join([cells[0].ljust(widths[0]), *rest]))


def print_remarks(rows: list[Row]) -> None:
    """Prints notes on how to read the table."""
    for row in rows:
        if row.load.delivering:
            share = Row.median("delivered_share", row.headgate)
            print(f"{row.load}: {share:.1%} were delivered by the end of the run.")
        busiest = max(run.generator_cpu for run in row.headgate + row.peer)
        if busiest > 0.8:
            print(f"{row.load}: the generator used {busiest:.0%} of a core and may have been the limit.")


def print_verdict(rows: list[Row]) -> None:
    """Prints whether the ratio to Redis under the primary load is as high as it should be."""
    verdict = "met" if rows[0].ratio >= TARGET else "missed"
    print(f"{rows[0].load}: ratio {rows[0].ratio:.2f}, target {TARGET:.1f} or more: {verdict}")
