"""Compares synced, acknowledged events per second of Headgate and of Redis with `appendfsync always`, or of another build of Headgate, in
interleaved pairs."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import figures as figures_file
from machine import ROOT, build_c, find_program, real_disk, run
from report import Load, Row, Run, print_remarks, print_table, print_verdict
from servers import BenchmarkError, Headgate, Redis, Server

SIZE = 300
LOADS = [
    Load(4, 64), Load(4, 64, ids=True), Load(4, 64, noise=True), Load(1, 256), Load(4, 1), Load(1, 1), Load(4, 8, events=100),
    Load(4, 64, synced=False), Load(1, 1, synced=False),
]  # fmt: skip


def generate(loadgen: pathlib.Path, server: Server, load: Load, seconds: float) -> dict[str, float]:
    """Loads the server and returns the generator's figures by name."""
    command = [
        str(loadgen), "--proto", server.name, "--socket", str(server.socket_path), "--size", str(SIZE),
        "--connections", str(load.connections), "--window", str(load.window), "--seconds", str(seconds),
        "--events", str(load.events),
    ]  # fmt: skip
    options = ["--ids"] * load.ids + ["--noise"] * load.noise
    finished = subprocess.run(command + options, stdout=subprocess.PIPE, text=True)
    if finished.returncode != 0:
        log = server.log.read_text(errors="replace")[-2000:]
        raise BenchmarkError(f"{server.name} failed under {load}; its log ends:\n{log}")
    return {name: float(value) for name, value in (field.split("=") for field in finished.stdout.split())}


def measure(loadgen: pathlib.Path, server: Server, load: Load, seconds: float) -> Run:
    """Loads a server once with a new data directory. The acknowledged events must be as many as the server reports stored."""
    # Write back the data of earlier runs now, so that it does not happen during this one.
    os.sync()
    with server:
        cpu_before = server.cpu_seconds()
        figures = generate(loadgen, server, load, seconds)
        cpu = server.cpu_seconds() - cpu_before
        delivered = server.delivered()
        total = int(figures["total"]) * load.events
        if (stored := server.stored()) != total:
            raise BenchmarkError(f"{server.name} acknowledged {total} events and has {stored}")
        return Run(
            figures["rate"] * load.events, figures["p50_us"], figures["p99_us"], figures["cpu"],
            cpu / total * 1e6, server.peak_mebibytes(), delivered / total,
        )  # fmt: skip


def run_pairs(arguments: argparse.Namespace, loadgen: pathlib.Path, disk: pathlib.Path, load: Load) -> Row:
    row = Row(load)
    for pair in range(1, arguments.pairs + 1):
        durability = "full" if load.synced else "normal"
        headgate = Headgate(disk, arguments.headgated, load.delivering, durability=durability, encrypted=arguments.encrypted)
        if arguments.beside:
            peer = Headgate(disk, arguments.beside, load.delivering, durability=durability)
        else:
            peer = Redis(disk, load.synced)
        row.headgate.append(measure(loadgen, headgate, load, arguments.seconds))
        row.peer.append(measure(loadgen, peer, load, arguments.seconds))
        ours, theirs = row.headgate[-1].rate, row.peer[-1].rate
        print(f"{load}, pair {pair}: {ours:,.0f} / {theirs:,.0f} = {ours / theirs:.2f}", file=sys.stderr)
    return row


def first_line(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[0]


def figures_of(row: Row) -> dict:
    """Returns a row for `--json`: the medians of both, and the range of the ratios of single pairs."""
    ratios = [ours.rate / theirs.rate for ours, theirs in zip(row.headgate, row.peer)]
    names = ("rate", "p50_us", "p99_us", "server_cpu_us", "peak_mebibytes")
    both = {"headgate": row.headgate, "redis": row.peer}
    medians = {name: {figure: Row.median(figure, runs) for figure in names} for name, runs in both.items()}
    return {"load": str(row.load), **medians, "ratio": row.ratio, "ratio_range": [min(ratios), max(ratios)]}


def print_conditions(arguments: argparse.Namespace, loads: list[Load]) -> None:
    except_delivering = " except where it says delivering" if any(load.delivering for load in loads) else ""
    pairs = "pair" if arguments.pairs == 1 else "pairs"
    print("connections × unanswered requests on each (× events in a request, if several);", end=" ")
    print(f"medians of {arguments.pairs} {pairs} of {arguments.seconds:g} s;")
    print(f"track requests of {SIZE} bytes, or XADD of the same event objects to Redis, over a Unix socket.")
    encryption = "store.encryption, " if arguments.encrypted else ""
    print(f"Headgate: {encryption}durability full, or normal in the rows that say so, its dispatcher paused{except_delivering}.")
    if arguments.beside:
        print(f"Peer: {arguments.beside}, with the same settings" + (" without encryption." if arguments.encrypted else "."))
    else:
        print(f"Redis: appendfsync always, or everysec in the rows with normal; no rewrite. {first_line('redis-server', '--version')}")
    print(f"{os.cpu_count()} CPUs for servers and generator; data of both in {arguments.disk}.\n")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Tools/bench ingest", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short test run: one pair of 0.5 s for each load")
    parser.add_argument("--pairs", type=int, help="pairs of runs for each load (5)")
    parser.add_argument("--seconds", type=float, help="measured time of each run (2)")
    parser.add_argument("--delivering", action="store_true", help="an additional row: 4 × 64 while the file dispatcher delivers")
    parser.add_argument("--encrypted", action="store_true", help="switch on store.encryption, except for the daemon of --beside")
    parser.add_argument("--beside", type=pathlib.Path, help="compare with this other headgated instead of Redis")
    parser.add_argument("--only", help="only the loads whose names begin with this text, such as '4 × 64'")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file, for Tools/bench plot")
    parser.add_argument("--headgated", type=pathlib.Path, help="a built daemon ($HEADGATED; else a release build)")
    parser.add_argument("--disk", type=pathlib.Path, help="where both servers keep their data (.build/bench)")
    arguments = parser.parse_args()
    arguments.pairs = arguments.pairs or (1 if arguments.quick else 5)
    arguments.seconds = arguments.seconds or (0.5 if arguments.quick else 2.0)
    if arguments.json and (arguments.beside or arguments.encrypted or arguments.only):
        parser.error("--json takes the figures of all loads beside Redis")
    if arguments.pairs < 1 or not 0.05 <= arguments.seconds <= 3600:
        parser.error("--pairs must be 1 or more, --seconds 0.05 to 3600")
    return arguments


def find_programs(arguments: argparse.Namespace) -> pathlib.Path:
    """Sets `arguments.headgated` and `arguments.disk`, and returns the load generator."""
    if arguments.beside:
        arguments.beside = find_program("headgated", arguments.beside)
    elif not shutil.which("redis-server"):
        raise BenchmarkError("redis-server is missing: apt-get install redis-server")
    arguments.headgated = find_program("headgated", arguments.headgated)
    arguments.disk = real_disk(arguments.disk or ROOT / ".build/bench")
    return build_c() / "loadgen"


def main() -> None:
    arguments = read_arguments()
    loads = LOADS + [Load(4, 64, delivering=True)] * arguments.delivering
    loads = [load for load in loads if str(load).startswith(arguments.only or "")]
    if not loads:
        raise BenchmarkError(f"no load's name begins with {arguments.only!r}")
    loadgen = find_programs(arguments)
    rows = [run_pairs(arguments, loadgen, arguments.disk, load) for load in loads]
    print_conditions(arguments, loads)
    print_table(rows, "Peer" if arguments.beside else "Redis")
    print()
    print_remarks(rows)
    if not arguments.beside and not arguments.only:
        print_verdict(rows)
    if arguments.json:
        conditions = f"medians of {arguments.pairs} pairs of {arguments.seconds:g} s"
        figures_file.write(arguments.json, "ingest", conditions, [figures_of(row) for row in rows])


if __name__ == "__main__":
    run(main)
