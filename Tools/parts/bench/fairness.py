"""Measures a client's throughput while other clients send garbage as fast as the daemon reads it (Behaviour X3)."""

import argparse
import contextlib
import dataclasses
import itertools
import pathlib
import select
import socket
import statistics
import subprocess
import sys
import time

from machine import ROOT, build_c, find_program, real_disk, run
from servers import BenchmarkError, Headgate

# The most expensive kinds of input: tiny lines, each answered; long lines; calls with long answers; many calls in one line.
CALL = b'{"jsonrpc":"2.0","id":1,"method":"%s"}'
GARBAGE = {
    "2-byte lines": b"x\n",
    "60 KB lines": b"x" * 60_000 + b"\n",
    "rpc.discover": CALL % b"rpc.discover" + b"\n",
    "1000 pings a line": b"[" + b",".join([CALL % b"ping"] * 1000) + b"]\n",
}
MAKERS = [1, 3]
# The default durability, and `memory`: the daemon then never waits for a disk, so that garbage directly costs throughput.
DURABILITIES = ["full", "memory"]
PIECE = 1 << 16


def make_garbage(path: str, line: bytes) -> None:
    """Sends lines as fast as the daemon reads them, and reads the answers. Ends with the daemon."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.setblocking(False)
        piece = line * max(1, PIECE // len(line))
        unsent = memoryview(piece)
        with contextlib.suppress(ConnectionError):
            while True:
                select.select([connection], [connection], [])
                with contextlib.suppress(BlockingIOError):
                    unsent = unsent[connection.send(unsent) :] or memoryview(piece)
                with contextlib.suppress(BlockingIOError):
                    while connection.recv(1 << 20):
                        pass


@contextlib.contextmanager
def garbage(server: Headgate, kind: str, makers: int):
    """Runs processes that send one kind of garbage, as a context manager."""
    command = [sys.executable, __file__, "--make", kind, str(server.socket_path)]
    processes = [subprocess.Popen(command) for _ in range(makers)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def rate(loadgen: pathlib.Path, server: Headgate, seconds: float) -> tuple[float, float]:
    """Returns the acknowledged events per second of a connection with 256 in flight, and the processors that the daemon used."""
    command = [
        str(loadgen), "--proto", "headgate", "--socket", str(server.socket_path), "--size", "300",
        "--connections", "1", "--window", "256", "--seconds", str(seconds),
    ]  # fmt: skip
    cpu, clock = server.cpu_seconds(), time.monotonic()
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    load = (server.cpu_seconds() - cpu) / (time.monotonic() - clock)
    if "no request was acknowledged" in finished.stderr:
        return 0.0, load
    if finished.returncode != 0:
        raise BenchmarkError(f"loadgen failed:\n{finished.stderr}")
    return float(dict(field.split("=") for field in finished.stdout.split())["rate"]), load


@dataclasses.dataclass
class Pair:
    """The results of one daemon: the events per second of the client alone, the processors used for them, and the share of that rate
    that the client keeps while others send garbage."""

    alone: float
    load: float
    ratio: float


def measure(loadgen: pathlib.Path, arguments: argparse.Namespace, durability: str, kind: str, makers: int) -> Pair:
    # Each pair has its own daemon. A used daemon would still read the input of earlier senders.
    with Headgate(arguments.disk, arguments.headgated, delivering=False, durability=durability) as server:
        alone, load = rate(loadgen, server, arguments.seconds)
        if alone == 0:
            raise BenchmarkError("the client alone got no acknowledgement: the machine is too busy")
        with garbage(server, kind, makers):
            beside, _ = rate(loadgen, server, arguments.seconds)
    return Pair(alone, load, beside / alone)


def row(pairs: list[Pair], durability: str, kind: str, makers: int) -> str:
    ratios = [pair.ratio for pair in pairs]
    alone = statistics.median(pair.alone for pair in pairs)
    load = statistics.median(pair.load for pair in pairs)
    return (
        f"| {durability} | {kind} | {makers} | {alone:,.0f} | {load:.2f} "
        f"| {statistics.median(ratios):.2f} | {min(ratios):.2f}-{max(ratios):.2f} | {1 / (makers + 1):.2f} |"
    )


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Tools/bench fairness", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs for each row (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="measured time of each run (1)")
    parser.add_argument("--headgated", type=pathlib.Path, help="a built daemon ($HEADGATED; else a release build)")
    parser.add_argument("--disk", type=pathlib.Path, help="where the daemon keeps its data (.build/bench)")
    parser.add_argument("--make", nargs=2, metavar=("KIND", "SOCKET"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    arguments = read_arguments()
    if arguments.make:
        kind, path = arguments.make
        return make_garbage(path, GARBAGE[kind])
    arguments.headgated = find_program("headgated", arguments.headgated)
    arguments.disk = real_disk(arguments.disk or ROOT / ".build/bench")
    loadgen = build_c() / "loadgen"
    print(f"one client, 256 unanswered; medians of {arguments.pairs} pairs of {arguments.seconds:g} s\n")
    print("| durability | garbage | makers | alone/s | load | ratio | pairs | share |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for durability, kind, makers in itertools.product(DURABILITIES, GARBAGE, MAKERS):
        pairs = [measure(loadgen, arguments, durability, kind, makers) for _ in range(arguments.pairs)]
        print(row(pairs, durability, kind, makers), flush=True)


if __name__ == "__main__":
    run(main)
