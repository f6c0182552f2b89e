"""Measures the cost of an event with more dispatchers, stored events, connections, or barriers."""

import argparse
import dataclasses
import os
import pathlib
import statistics
from collections.abc import Callable

import figures as figures_file
from deliver import store
from ingest import SIZE, generate
from machine import ROOT, build_c, find_program, real_disk, run
from report import Load
from servers import Headgate

WINDOW = 64
"""The unanswered requests on each connection."""
MOST = 1.3
"""The maximum ratio of a point's cost to the best point of its curve."""


@dataclasses.dataclass(frozen=True)
class Point:
    """The numbers of dispatchers, stored events, connections and barriers during a measurement."""

    dispatchers: int = 1
    stored: int = 0
    connections: int = 4
    barriers: int = 0


CURVES: dict[str, Callable[[int], Point]] = {
    "dispatchers": lambda number: Point(dispatchers=number),
    "stored": lambda number: Point(stored=number),
    "connections": lambda number: Point(connections=number),
    "barriers": lambda number: Point(barriers=number),
}
PLACES = {
    "dispatchers": [1, 5, 10, 25, 50],
    "stored": [0, 100_000, 1_000_000, 10_000_000],
    "connections": [4, 40, 400, 4_000],
    "barriers": [0, 1, 10, 100],
}
QUICK = {"dispatchers": [1, 50], "stored": [0, 100_000], "connections": [4, 400], "barriers": [0, 100]}


class Subject(Headgate):
    """headgated with paused dispatchers, open barriers for each, and stored events, as many as a point has."""

    def __init__(self, disk: pathlib.Path, program: pathlib.Path, durability: str, point: Point) -> None:
        super().__init__(disk, program, delivering=False, durability=durability)
        self.point = point

    def settings(self) -> dict:
        ids = ["collect"] + [f"d{number}" for number in range(1, self.point.dispatchers)]
        barriers = {
            f"b{number}": {"barrier_id": f"b{number}", "kind": "ScheduleBarrier", "scopes": ["all"], "configuration": {}}
            for number in range(self.point.barriers)
        }
        return super().settings() | {
            "dispatchers": {name: {"kind": "file", "path": f"{name}.ndjson"} for name in ids},
            "barriers": barriers,
            "limits": {"max_connections": 8192, "max_connections_per_uid": 8192},
        }

    def prepare(self) -> None:
        for dispatcher in self.call("dispatcher.list", {})["dispatchers"]:
            self.call("dispatcher.pause", {"id": dispatcher["id"], "reason": "benchmark"})
        if self.point.stored:
            self.connection.settimeout(3600)
            store(self, self.point.stored)


def measure(arguments: argparse.Namespace, loadgen: pathlib.Path, point: Point) -> tuple[float, float]:
    """Returns the events per second, and the processor time of one, in microseconds."""
    os.sync()
    with Subject(arguments.disk, arguments.headgated, arguments.durability, point) as daemon:
        before = daemon.cpu_seconds()
        figures = generate(loadgen, daemon, Load(point.connections, WINDOW), arguments.seconds)
        return figures["rate"], (daemon.cpu_seconds() - before) / figures["total"] * 1e6


def measure_curve(arguments: argparse.Namespace, loadgen: pathlib.Path, name: str) -> list[dict]:
    """Measures and prints a curve. The points are measured in rotation, so that a slow moment of the machine affects all of them.

    Returns its points as `--json` writes them.
    """
    places = (QUICK if arguments.quick else PLACES)[name]
    runs: dict[int, list[tuple[float, float]]] = {place: [] for place in places}
    for _ in range(arguments.rounds):
        for place in places:
            runs[place].append(measure(arguments, loadgen, CURVES[name](place)))
    costs = {place: statistics.median(cost for _, cost in runs[place]) for place in places}
    least = min(costs.values())
    print(name)
    rows = []
    for place in places:
        rate = statistics.median(rate for rate, _ in runs[place])
        ratio = costs[place] / least
        mark = "" if ratio <= MOST else f"   over {MOST}"
        print(f"{place:>12,}  {rate:>10,.0f} events/s  {costs[place]:>6.2f} µs of CPU  {ratio:>5.2f}{mark}", flush=True)
        rows.append({"curve": name, "at": place, "rate": rate, "cpu_us": costs[place]})
    return rows


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Tools/bench scale", description=__doc__)
    parser.add_argument("curves", nargs="*", help=f"any of {', '.join(CURVES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="a short test run: the ends of each curve, once")
    parser.add_argument("--rounds", type=int, help="measurements of each point (3)")
    parser.add_argument("--seconds", type=float, help="measured time of each run (1)")
    parser.add_argument("--durability", default="normal", help="full, memory or normal (default: independent of the disk)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file, for Tools/bench plot")
    parser.add_argument("--headgated", type=pathlib.Path, help="a built daemon ($HEADGATED; else a release build)")
    parser.add_argument("--disk", type=pathlib.Path, help="where the data are (.build/bench)")
    arguments = parser.parse_args()
    if unknown := set(arguments.curves) - set(CURVES):
        parser.error(f"there is no curve {', '.join(sorted(unknown))}")
    arguments.rounds = arguments.rounds or (1 if arguments.quick else 3)
    arguments.seconds = arguments.seconds or (0.5 if arguments.quick else 1.0)
    return arguments


def main() -> None:
    arguments = read_arguments()
    arguments.headgated = find_program("headgated", arguments.headgated)
    arguments.disk = real_disk(arguments.disk or ROOT / ".build/bench")
    loadgen = build_c() / "loadgen"
    print(f"track requests of {SIZE} bytes, {WINDOW} unanswered on each connection, durability {arguments.durability};", end=" ")
    print(f"medians of {arguments.rounds} × {arguments.seconds:g} s; the ratio is to the lowest cost of the curve.\n")
    rows = [row for name in arguments.curves or CURVES for row in measure_curve(arguments, loadgen, name)]
    if arguments.json:
        conditions = f"medians of {arguments.rounds} × {arguments.seconds:g} s, durability {arguments.durability}"
        figures_file.write(arguments.json, "scale", conditions, rows)


if __name__ == "__main__":
    run(main)
