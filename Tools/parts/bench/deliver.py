"""Measures how fast a stored backlog is delivered, the processor time for it, and the cost of a large backlog at a start."""

import argparse
import dataclasses
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Iterator

import figures as figures_file
from machine import ROOT, build_c, find_program, real_disk, run
from servers import BenchmarkError, Headgate
from sinks import CollectorSink, CountingSink, KafkaSink, NATSSink, Sink

SIZE = 300
EVENTS_A_MESSAGE = 500
"""The number of events in each message. A few messages are in flight at once."""
WINDOW = 16
TARGET_MEBIBYTES = 64
TARGET_START_SECONDS = 0.3


def messages(count: int, ids: bool) -> Iterator[bytes]:
    """Yields messages that store `count` events, either all with ids or all without."""
    frame = '{"event":"bench","data":{"text":""}' + (',"id":"e000000000"}' if ids else "}")
    event = frame.replace('""', f'"{"x" * (SIZE - len(frame))}"')
    line = '{"jsonrpc":"2.0","id":1,"method":"track_many","params":{"events":['
    message = (line + ",".join([event] * EVENTS_A_MESSAGE) + "]}}\n").encode()
    for first in range(0, count, EVENTS_A_MESSAGE):
        if not ids:
            yield message
            continue
        parts = message.split(b"000000000")
        numbers = [b"%09d" % number for number in range(first, first + EVENTS_A_MESSAGE)]
        yield b"".join(part + number for part, number in zip(parts, [*numbers, b""]))


def store(daemon: Headgate, count: int, ids: bool = False, source: Iterator[bytes] | None = None) -> int:
    """Stores `count` events, from the messages of `source` if given. Returns the size of one as JSON, in bytes."""
    answers = daemon.connection.makefile("rb")
    waiting = 0
    for message in source or messages(count, ids):
        daemon.connection.sendall(message)
        waiting += 1
        if waiting == WINDOW:
            check(answers.readline())
            waiting -= 1
    for _ in range(waiting):
        check(answers.readline())
    stored = daemon.call("status", {})["store"]
    if stored["events"] < count:
        raise BenchmarkError(f"{stored['events']} events are stored instead of {count}")
    return round(stored["bytes"] / stored["events"])


def check(answer: bytes) -> None:
    if b'"result"' not in answer:
        raise BenchmarkError(f"headgate: {answer!r}")


def deliver(daemon: Headgate) -> tuple[float, float]:
    """Resumes the dispatcher and waits until all events are settled. Returns the elapsed and the processor seconds."""
    start, cpu = time.monotonic(), daemon.cpu_seconds()
    daemon.call("dispatcher.resume", {"id": "collect"})
    flushed = daemon.call("flush", {"wait": True, "timeout_ms": 0})["dispatchers"]["collect"]
    seconds, cpu = time.monotonic() - start, daemon.cpu_seconds() - cpu
    if flushed["left"] or flushed["failed"]:
        raise BenchmarkError(f"some events were not delivered: {flushed}")
    return seconds, cpu


@dataclasses.dataclass(frozen=True)
class Delivery:
    """The results of one run, and of the ideal sender that ran after it. The figures `alone_…` are None if there is no such sender."""

    rate: float
    cpu_us: float
    """The daemon's processor time per event, in µs."""
    cores: float
    sink_cores: float | None
    peak_mebibytes: float
    alone_rate: float | None = None
    alone_cpu_us: float | None = None


@dataclasses.dataclass
class Row:
    """The pairs of one destination, in the order in which they ran."""

    name: str
    runs: list[Delivery] = dataclasses.field(default_factory=list)

    def median(self, figure: str) -> float | None:
        values = [getattr(run, figure) for run in self.runs]
        return None if None in values else statistics.median(values)

    @property
    def ratio(self) -> float | None:
        alone = self.median("alone_rate")
        return self.median("rate") / alone if alone else None

    @property
    def ratio_range(self) -> list[float] | None:
        return [find(run.rate / run.alone_rate for run in self.runs) for find in (min, max)] if self.ratio else None

    def cells(self) -> list[str]:
        forms = [
            ("rate", ",.0f"), ("cpu_us", ".2f"), ("cores", ".2f"), ("sink_cores", ".2f"), ("peak_mebibytes", ".0f"),
            ("alone_rate", ",.0f"), ("alone_cpu_us", ".2f"),
        ]  # fmt: skip
        cells = ["" if (value := self.median(name)) is None else format(value, form) for name, form in forms]
        ratios = self.ratio_range
        return cells + [f"{self.ratio:.2f}" if ratios else "", "–".join(f"{ratio:.2f}" for ratio in ratios or [])]

    def figures(self) -> dict:
        """Returns the row for `--json`: the medians, and the range of the ratios of single pairs."""
        medians = {field.name: self.median(field.name) for field in dataclasses.fields(Delivery)}
        return {"load": self.name, **medians, "ratio": self.ratio, "ratio_range": self.ratio_range}


HEADINGS = [
    "events/s", "CPU µs/event", "cores", "sink's cores", "peak MiB", "sink alone/s", "its CPU µs", "ratio", "pairs",
]  # fmt: skip


def print_cells(name: str, cells: list[str]) -> None:
    print("  ".join([name.ljust(16)] + [cell.rjust(12) for cell in cells]), flush=True)


def measure(arguments: argparse.Namespace, name: str, dispatcher: dict, sink: Sink | None) -> Delivery:
    """Delivers all events once, from a new data directory. Then an ideal sender sends as many events of the same size."""
    # Write back the data of earlier runs now, so that it does not happen during this one.
    os.sync()
    daemon = Headgate(arguments.disk, arguments.headgated, delivering=False, dispatcher=dispatcher)
    with daemon:
        daemon.connection.settimeout(3600)
        event_bytes = store(daemon, arguments.events)
        before = sink.count() if sink else 0
        sink_cpu = sink.cpu_seconds() if sink else 0
        seconds, cpu = deliver(daemon)
        sink_cpu = sink.cpu_seconds() - sink_cpu if sink else 0
        peak = daemon.peak_mebibytes()
    if sink and sink.count() - before < arguments.events:
        raise BenchmarkError(f"{name}: the sink has {sink.count() - before} events")
    alone = sink.alone(arguments.events, dispatcher["dispatch_limit"], event_bytes + 16) if sink else None
    return Delivery(
        arguments.events / seconds, cpu / arguments.events * 1e6, cpu / seconds, sink_cpu / seconds if sink else None, peak,
        *(alone or (None, None)),
    )  # fmt: skip


def run_pairs(arguments: argparse.Namespace, rows: list[Row], name: str, dispatcher: dict, sink: Sink | None) -> None:
    """Appends a row, unless `--only` excludes its name."""
    if not name.startswith(arguments.only):
        return
    row = Row(name)
    for pair in range(1, arguments.pairs + 1):
        row.runs.append(measure(arguments, name, dispatcher, sink))
        ours, theirs = row.runs[-1].rate, row.runs[-1].alone_rate
        print(f"{name}, pair {pair}: {ours:,.0f}" + (f" / {theirs:,.0f} = {ours / theirs:.2f}" if theirs else ""), file=sys.stderr)
    rows.append(row)
    print_cells(name, row.cells())


def http_dispatcher(sink: Sink, limit: int) -> dict:
    dispatcher = {"kind": "http", "endpoint": sink.endpoint, "format": "ndjson", "dispatch_limit": limit}
    return {**dispatcher, "byte_limit": 1 << 20}


def measure_backlog(arguments: argparse.Namespace, ids: bool) -> None:
    """Starts a daemon with a large backlog, and measures the time until it is ready and its memory then."""
    daemon = Headgate(arguments.disk, arguments.headgated, delivering=False)
    with daemon:
        daemon.connection.settimeout(3600)
        first = restart(daemon)
        event_bytes = store(daemon, arguments.backlog, ids)
        filled = daemon.peak_mebibytes()
        seconds = restart(daemon)
        peak = daemon.peak_mebibytes()
        pending = daemon.call("dispatcher.list", {})["dispatchers"][0]["pending"]
        if pending < arguments.backlog:
            raise BenchmarkError(f"{pending} events are pending instead of {arguments.backlog}")
        begun = seconds_until_first(daemon)
    size = arguments.backlog * event_bytes / 1e9
    print(f"\nA backlog of {arguments.backlog:,} events{' with ids' if ids else ''} ({size:.1f} GB of JSON):")
    print(f"  ready {seconds * 1000:.0f} ms after its start (an empty one: {first * 1000:.0f} ms),", end=" ")
    print(f"the first event delivered {begun * 1000:.0f} ms after the dispatcher was resumed;")
    print(f"  peak memory {filled:.0f} MiB while it was stored, {peak:.0f} MiB after the start.")
    verdict = "met" if seconds < TARGET_START_SECONDS and max(filled, peak) < TARGET_MEBIBYTES else "missed"
    print(f"  target: under {TARGET_START_SECONDS:g} s and {TARGET_MEBIBYTES} MiB: {verdict}")


def restart(daemon: Headgate) -> float:
    """Returns the seconds from the start of the process until it answers."""
    daemon.connection.close()
    daemon.stop()
    start = time.monotonic()
    daemon.start()
    daemon.connection = daemon.connect()
    daemon.connection.settimeout(3600)
    daemon.call("ping", {})
    return time.monotonic() - start


def seconds_until_first(daemon: Headgate) -> float:
    start = time.monotonic()
    daemon.call("dispatcher.resume", {"id": "collect"})
    while daemon.call("status", {})["counters"]["delivered"] == 0:
        time.sleep(0.001)
    return time.monotonic() - start


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Tools/bench deliver", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short test run: one pair of 20 000 events, a backlog of 100 000")
    parser.add_argument("--pairs", type=int, help="pairs of runs for each row (5)")
    parser.add_argument("--events", type=int, help="events of each run (1 000 000)")
    parser.add_argument("--only", default="", help="only rows whose names begin with this text, such as kafka")
    parser.add_argument("--backlog", type=int, help="events of the backlog (10 000 000), or 0 for no backlog")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures of the rows to this file")
    parser.add_argument("--headgated", type=pathlib.Path, help="a built daemon ($HEADGATED; else a release build)")
    parser.add_argument("--disk", type=pathlib.Path, help="where the daemon keeps its data (.build/bench)")
    arguments = parser.parse_args()
    arguments.pairs = arguments.pairs or (1 if arguments.quick else 5)
    arguments.events = arguments.events or (20_000 if arguments.quick else 1_000_000)
    if arguments.backlog is None:
        arguments.backlog = 100_000 if arguments.quick else 10_000_000
    if arguments.pairs < 1 or arguments.events < 1:
        parser.error("--pairs and --events must be 1 or more")
    return arguments


def run_windows(arguments: argparse.Namespace, rows: list[Row], name: str, sink: KafkaSink | NATSSink) -> None:
    """Appends a row for each combination of batches in flight and events in a batch."""
    for batches, limit in [(1, 1000), (8, 1000), (1, 10_000)]:
        run_pairs(arguments, rows, f"{name}, {batches} × {limit}", {**sink.dispatcher(limit), "in_flight": batches}, sink)


def run_rows(arguments: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    programs = build_c()
    with CountingSink(programs / "sink") as sink:
        for limit in (25, 1000):
            run_pairs(arguments, rows, f"http, {limit}", http_dispatcher(sink, limit), sink)
    with CollectorSink(arguments.disk) as sink:
        for limit in (25, 1000):
            run_pairs(arguments, rows, f"collector, {limit}", http_dispatcher(sink, limit), sink)
    for partitions in (1, 4):
        with KafkaSink(programs, partitions) as sink:
            run_windows(arguments, rows, f"kafka {partitions}", sink)
    with NATSSink(programs, arguments.disk) as sink:
        run_windows(arguments, rows, "nats", sink)
    for name, path in [("file", "events.ndjson"), ("/dev/null", "/dev/null")]:
        dispatcher = {"kind": "file", "path": path, "dispatch_limit": 1000, "byte_limit": 1 << 20}
        run_pairs(arguments, rows, name, dispatcher, None)
    return rows


def main() -> None:
    arguments = read_arguments()
    arguments.headgated = find_program("headgated", arguments.headgated)
    arguments.disk = real_disk(arguments.disk or ROOT / ".build/bench")
    conditions = f"medians of {arguments.pairs} pairs of {arguments.events:,} stored events of {SIZE} bytes"
    print(f"{conditions}; CPU and cores are the daemon's own; {os.cpu_count()} CPUs.")
    print_cells("", HEADINGS)
    rows = run_rows(arguments)
    if arguments.json:
        figures_file.write(arguments.json, "deliver", conditions, [row.figures() for row in rows])
    if arguments.backlog:
        measure_backlog(arguments, ids=False)
        measure_backlog(arguments, ids=True)


if __name__ == "__main__":
    run(main)
