"""Measures the cost of one call of a command line tool: `headgate send` compared with `redis-cli XADD`."""

import argparse
import dataclasses
import os
import pathlib
import shutil
import statistics
import time

from ingest import first_line
from machine import ROOT, find_program, real_disk, run
from servers import BenchmarkError, Headgate, Redis


@dataclasses.dataclass
class Calls:
    """The calls of one command, with the elapsed time and the CPU time of each, in milliseconds."""

    name: str
    command: list[str]
    wall: list[float] = dataclasses.field(default_factory=list)
    cpu: list[float] = dataclasses.field(default_factory=list)

    def call(self) -> None:
        silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        begin = time.perf_counter()
        process = os.posix_spawn(self.command[0], self.command, os.environ, file_actions=silent)
        _, status, usage = os.wait4(process, 0)
        self.wall.append((time.perf_counter() - begin) * 1e3)
        self.cpu.append((usage.ru_utime + usage.ru_stime) * 1e3)
        if status != 0:
            raise BenchmarkError(f"{' '.join(self.command)} failed")


def measure(headgate: pathlib.Path, daemon: Headgate, redis: Redis, rounds: int) -> list[tuple[Calls, Calls]]:
    """Runs pairs of equivalent commands alternately, so that a slow moment affects both."""
    ours = [str(headgate), "--socket", str(daemon.socket_path)]
    theirs = [shutil.which("redis-cli"), "-s", str(redis.socket_path)]
    pairs = [
        (Calls("help", [str(headgate), "--help"]), Calls("help", [theirs[0], "--version"])),
        (
            Calls("an event", [*ours, "send", '{"event":"backup","bytes":1}']),
            Calls("an event", [*theirs, "XADD", "events", "*", "event", '{"event":"backup","bytes":1}']),
        ),
    ]
    for _ in range(rounds):
        for pair in pairs:
            for calls in pair:
                calls.call()
    return pairs


def print_table(pairs: list[tuple[Calls, Calls]]) -> None:
    print(f"{'call':10}{'headgate ms':>13}{'redis-cli ms':>14}{'ratio':>7}{'CPU ms H / R':>16}{'ratio':>7}")
    for ours, theirs in pairs:
        wall = [statistics.median(calls.wall) for calls in (ours, theirs)]
        cpu = [statistics.median(calls.cpu) for calls in (ours, theirs)]
        used = f"{cpu[0]:.1f} / {cpu[1]:.1f}"
        print(
            f"{ours.name:10}{wall[0]:13.2f}{wall[1]:14.2f}{wall[0] / wall[1]:7.2f}{used:>16}{cpu[0] / cpu[1]:7.2f}")
    ours, theirs = pairs[-1]
    ratio = statistics.median(ours.wall) / statistics.median(theirs.wall)
    print(f"\nan event: ratio {ratio:.2f}, target 1.0 or less: {'met' if ratio <= 1 else 'missed'}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="Tools/bench start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="calls of each command (200)")
    parser.add_argument("--headgated", type=pathlib.Path, help="a built daemon ($HEADGATED; else a release build)")
    parser.add_argument("--headgate", type=pathlib.Path, help="a built tool ($HEADGATE; else a release build)")
    parser.add_argument("--disk", type=pathlib.Path, help="where both servers keep their data (.build/bench)")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be 1 or more")
    daemon = find_program("headgated", arguments.headgated)
    tool = find_program("headgate", arguments.headgate)
    disk = real_disk(arguments.disk or ROOT / ".build/bench")
    with Headgate(disk, daemon, delivering=True) as headgate, Redis(disk) as redis:
        pairs = measure(tool, headgate, redis, arguments.rounds)
    print(f"Medians of {arguments.rounds} alternating calls of each; an event is stored and synced before the call ends.")
    print(f"{first_line('redis-cli', '--version')}; {os.cpu_count()} CPUs.\n")
    print_table(pairs)


if __name__ == "__main__":
    run(main)
