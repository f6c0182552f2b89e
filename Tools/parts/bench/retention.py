"""Measures how much an erasure delays other clients, and how fast a dispatcher is rewound and delivers again (Behaviour E2, R3)."""

import argparse
import os
import pathlib
import statistics
import sys
import threading
import time
from collections.abc import Iterator

import figures as figures_file
from deliver import EVENTS_A_MESSAGE, deliver, http_dispatcher, messages, store
from ingest import generate
from machine import ROOT, build_c, find_program, real_disk, run
from report import Load
from servers import BenchmarkError, Headgate
from sinks import CountingSink

LOAD = Load(4, 64)
HITS = 100
BATCH = 1000
MOST_P99_RATIO = 2
MOST_ERASE_SECONDS = 60
MOST_REWIND_MS = 50
LEAST_RATE_RATIO = 0.8


def verdict(is_met: bool) -> str:
    return "met" if is_met else "missed"


def messages_with_hits(count: int) -> Iterator[bytes]:
    """Yields messages that store `count` events. `HITS` of them, spread evenly, match the rule of the erasure."""
    total = count // EVENTS_A_MESSAGE
    for index, message in enumerate(messages(count, ids=False)):
        hits = (index + 1) * HITS // total - index * HITS // total
        yield message.replace(b'"text":"xxxx', b'"text":"gone', hits)


def measure_erasure(arguments: argparse.Namespace, loadgen: pathlib.Path) -> dict:
    """Loads a daemon with stored events, first alone and then during an erasure. Returns the median p99 of both, and its time."""
    os.sync()
    with Headgate(arguments.disk, arguments.headgated, delivering=False) as daemon:
        daemon.connection.settimeout(3600)
        store(daemon, arguments.events, source=messages_with_hits(arguments.events))
        quiet = [generate(loadgen, daemon, LOAD, arguments.seconds)["p99_us"] for _ in range(arguments.pairs)]
        erasure = Erasure(daemon)
        erasure.start()
        erasing = []
        while erasure.is_alive():
            erasing.append(generate(loadgen, daemon, LOAD, arguments.seconds)["p99_us"])
        erasure.join()
    if erasure.count != HITS:
        raise BenchmarkError(f"{erasure.count} events were erased instead of {HITS}")
    ratio = statistics.median(erasing) / statistics.median(quiet)
    print(f"An erasure of {HITS} events in {arguments.events:,}, beside {LOAD}, runs of {arguments.seconds:g} s:")
    print(f"  p99 of acknowledgements {span(quiet)} µs alone ({len(quiet)} runs), {span(erasing)} µs during it ({len(erasing)} runs)")
    print(f"  ratio of the medians {ratio:.2f}, target {MOST_P99_RATIO} or less: {verdict(ratio <= MOST_P99_RATIO)}")
    print(f"  {erasure.seconds:.1f} s, target under {MOST_ERASE_SECONDS}: {verdict(erasure.seconds < MOST_ERASE_SECONDS)}\n", flush=True)
    return {"load": "erasure", "quiet_p99_us": quiet, "erasing_p99_us": erasing, "ratio": ratio, "seconds": erasure.seconds}


class Erasure(threading.Thread):
    """An erasure of all hits, on the daemon's connection."""

    def __init__(self, daemon: Headgate) -> None:
        super().__init__()
        self.server = daemon
        self.count, self.seconds = 0, 0.0

    def run(self) -> None:
        begin = time.monotonic()
        rule = {"operator": "starts_with", "path": "data.text", "value": "gone"}
        try:
            self.count = self.server.call("store.erase", {"when": rule})["events"]
        except (BenchmarkError, OSError) as error:
            print(f"store.erase: {error}", file=sys.stderr)
        self.seconds = time.monotonic() - begin


def measure_rewind(arguments: argparse.Namespace, sink: CountingSink) -> dict:
    """Delivers a backlog, rewinds the dispatcher over it, and delivers it again."""
    os.sync()
    dispatcher = http_dispatcher(sink, BATCH)
    with Headgate(arguments.disk, arguments.headgated, delivering=False, dispatcher=dispatcher, retaining=True) as daemon:
        daemon.connection.settimeout(3600)
        # A first delivery loads all code of the daemon before its memory is measured.
        store(daemon, EVENTS_A_MESSAGE)
        deliver(daemon)
        pause(daemon)
        empty = daemon.resident_mebibytes()
        store(daemon, arguments.events)
        first, _ = deliver(daemon)
        pause(daemon)
        retained = daemon.resident_mebibytes()
        begin = time.monotonic()
        answer = daemon.call("dispatcher.rewind", {"id": "collect", "to": EVENTS_A_MESSAGE + 1})
        answered = time.monotonic() - begin
        if answer["events"] != arguments.events:
            raise BenchmarkError(f"{answer['events']} events are pending again instead of {arguments.events}")
        rewound = daemon.resident_mebibytes()
        before = sink.count()
        again, _ = deliver(daemon)
        if sink.count() - before < arguments.events:
            raise BenchmarkError(f"the sink has {sink.count() - before} events of the rewind")
    return {
        "load": "rewind", "answer_ms": answered * 1000, "backlog_rate": arguments.events / first,
        "replay_rate": arguments.events / again, "ratio": first / again, "empty_mebibytes": empty,
        "retained_mebibytes": retained, "rewound_mebibytes": rewound,
        "bytes_per_event": (rewound - empty) * (1 << 20) / arguments.events,
    }  # fmt: skip


def pause(daemon: Headgate) -> None:
    daemon.call("dispatcher.pause", {"id": "collect", "reason": "benchmark"})


def print_rewinds(arguments: argparse.Namespace, rows: list[dict]) -> None:
    def values(name: str) -> list[float]:
        return [row[name] for row in rows]

    slowest, ratio = max(values("answer_ms")), statistics.median(values("ratio"))
    print(f"A rewind over {arguments.events:,} retained events, {len(rows)} times, to an HTTP collector that counts, {BATCH} a batch:")
    print(f"  answered after {span(values('answer_ms'), '.1f')} ms, target under {MOST_REWIND_MS}: {verdict(slowest < MOST_REWIND_MS)}")
    print(f"  delivered {span(values('replay_rate'))} events/s, an ordinary backlog {span(values('backlog_rate'))}:", end=" ")
    print(f"ratio {span(values('ratio'), '.2f')}, target {LEAST_RATE_RATIO} or more: {verdict(ratio >= LEAST_RATE_RATIO)}")
    memory = ", ".join(f"{span(values(name + '_mebibytes'), '.1f')} MiB {name}" for name in ("empty", "retained", "rewound"))
    print(f"  memory {memory}: {span(values('bytes_per_event'), '.2f')} bytes for each retained event")


def span(values: list[float], form: str = ",.0f") -> str:
    """Returns the median, with the range behind it if there are several values."""
    if len(values) == 1:
        return format(values[0], form)
    return f"{statistics.median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Tools/bench retention", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short test run: 20 000 events and one pair")
    parser.add_argument("--events", type=int, help="stored or retained events, a multiple of 500 (1 000 000)")
    parser.add_argument("--pairs", type=int, help="runs of the load before the erasure, and rewinds (3)")
    parser.add_argument("--seconds", type=float, help="measured time of each run of the load (2)")
    parser.add_argument("--only", choices=("erase", "rewind"), help="one of the two parts")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    parser.add_argument("--headgated", type=pathlib.Path, help="a built daemon ($HEADGATED; else a release build)")
    parser.add_argument("--disk", type=pathlib.Path, help="where the daemon keeps its data (.build/bench)")
    arguments = parser.parse_args()
    arguments.events = arguments.events or (20_000 if arguments.quick else 1_000_000)
    arguments.pairs = arguments.pairs or (1 if arguments.quick else 3)
    arguments.seconds = arguments.seconds or (0.5 if arguments.quick else 2.0)
    if arguments.events < HITS * EVENTS_A_MESSAGE // 5 or arguments.events % EVENTS_A_MESSAGE:
        parser.error("--events must be a multiple of 500, and 10 000 or more")
    if arguments.pairs < 1 or not 0.05 <= arguments.seconds <= 3600:
        parser.error("--pairs must be 1 or more, --seconds 0.05 to 3600")
    return arguments


def main() -> None:
    arguments = read_arguments()
    arguments.headgated = find_program("headgated", arguments.headgated)
    arguments.disk = real_disk(arguments.disk or ROOT / ".build/bench")
    programs = build_c()
    rows = [] if arguments.only == "rewind" else [measure_erasure(arguments, programs / "loadgen")]
    if arguments.only != "erase":
        with CountingSink(programs / "sink") as sink:
            rewinds = [measure_rewind(arguments, sink) for _ in range(arguments.pairs)]
        print_rewinds(arguments, rewinds)
        rows += rewinds
    if arguments.json:
        figures_file.write(arguments.json, "retention", f"{arguments.events:,} events, {arguments.pairs} pairs", rows)


if __name__ == "__main__":
    run(main)
