"""Measures the time of a single event from `track` to its collector, next to a synced write and an HTTP request."""

import argparse
import os
import pathlib
import statistics
import subprocess

from machine import ROOT, build_c, find_program, real_disk, run
from servers import BenchmarkError, Headgate

TARGET = 2.0
"""The maximum ratio of an event's time to that of a synced write plus an HTTP request with its answer."""
NAMES = ["event", "acknowledgement", "write", "request"]


def measure(programs: pathlib.Path, headgated: pathlib.Path, disk: pathlib.Path, rounds: int) -> dict[str, float]:
    """Returns the medians of one daemon, in microseconds."""
    dispatcher = {"kind": "http", "format": "ndjson"}
    daemon = Headgate(disk, headgated, delivering=True, dispatcher=dispatcher)
    pipe = subprocess.PIPE
    command = [programs / "lone", daemon.socket_path, daemon.data / "written", str(rounds)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as lone:
        dispatcher["endpoint"] = f"http://127.0.0.1:{int(lone.stdout.readline())}/events"
        with daemon:
            answer, _ = lone.communicate("\n")
    if lone.returncode != 0:
        raise BenchmarkError("no figure")
    return dict(zip(NAMES, map(float, answer.split())))


def main() -> None:
    parser = argparse.ArgumentParser(prog="Tools/bench lone", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="number of runs, each with a new daemon (5)")
    parser.add_argument("--rounds", type=int, default=300, help="events of each run (300)")
    parser.add_argument("--headgated", type=pathlib.Path, help="a built daemon ($HEADGATED; else a release build)")
    parser.add_argument("--disk", type=pathlib.Path, help="where the daemon keeps its data (.build/bench)")
    arguments = parser.parse_args()
    if min(arguments.runs, arguments.rounds) < 1:
        parser.error("--runs and --rounds must be 1 or more")
    headgated = find_program("headgated", arguments.headgated)
    disk = real_disk(arguments.disk or ROOT / ".build/bench")
    programs = build_c()
    runs = [measure(programs, headgated, disk, arguments.rounds) for _ in range(arguments.runs)]
    ratios = [run["event"] / (run["write"] + run["request"]) for run in runs]
    print(f"Medians of {arguments.runs} runs of {arguments.rounds} events, in µs; {os.cpu_count()} CPUs.\n")
    for name in NAMES:
        print(f"{name:16}{statistics.median(run[name] for run in runs):8.0f}")
    ratio = statistics.median(ratios)
    verdict = "met" if ratio < TARGET else "missed"
    print(f"\nevent / (write + request): {ratio:.2f} ({min(ratios):.2f}–{max(ratios):.2f}), target under {TARGET:g}: {verdict}")


if __name__ == "__main__":
    run(main)
