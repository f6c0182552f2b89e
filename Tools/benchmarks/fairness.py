"""What is left to a client at work beside others that send garbage as fast as they are taken (Behaviour X3)."""

import argparse
import contextlib
import pathlib
import select
import socket
import statistics
import subprocess
import sys

from machine import ROOT, build_c, find_program, real_disk, run
from servers import BenchmarkError, Headgate

# What a line costs the daemon most: tiny ones, each answered; long ones; calls that tell much.
GARBAGE = {
    "2-byte lines": b"x\n",
    "60 KB lines": b"x" * 60_000 + b"\n",
    "rpc.discover": b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n',
}
MAKERS = [1, 3]
PIECE = 1 << 16


def make_garbage(path: str, line: bytes) -> None:
    """Sends lines as fast as they are taken, and takes the answers. Ends with the daemon."""
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
    """So many makers of a kind of garbage, each a process."""
    command = [sys.executable, __file__, "--make", kind, str(server.socket_path)]
    processes = [subprocess.Popen(command) for _ in range(makers)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def rate(loadgen: pathlib.Path, server: Headgate, seconds: float) -> float:
    """Acknowledged events of one connection with 256 unanswered, by seconds of the daemon's processor time."""
    command = [
        str(loadgen), "--proto", "headgate", "--socket", str(server.socket_path), "--size", "300",
        "--connections", "1", "--window", "256", "--seconds", str(seconds),
    ]  # fmt: skip
    before = server.cpu_seconds()
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    cpu = server.cpu_seconds() - before
    if "no request was acknowledged" in finished.stderr:
        return 0.0
    if finished.returncode != 0:
        raise BenchmarkError(f"loadgen failed:\n{finished.stderr}")
    return float(dict(field.split("=") for field in finished.stdout.split())["total"]) / cpu


def ratio(loadgen: pathlib.Path, arguments: argparse.Namespace, kind: str, makers: int) -> tuple[float, float]:
    """The client's events alone, and what part of it is left beside the garbage, in turns on one daemon."""
    alone, beside = [], []
    # A daemon for each pair: what those who are gone had sent is still read, and would count against the next.
    for _ in range(arguments.pairs):
        with Headgate(arguments.disk, arguments.headgated, delivering=False) as server:
            alone.append(rate(loadgen, server, arguments.seconds))
            if alone[-1] == 0:
                raise BenchmarkError("nothing was acknowledged to a client that was alone: the machine is too busy")
            with garbage(server, kind, makers):
                beside.append(rate(loadgen, server, arguments.seconds))
    pairs = [there / here for here, there in zip(alone, beside)]
    return statistics.median(alone), statistics.median(pairs)


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
    print("| garbage | makers | alone, events by CPU s | ratio beside | its share |\n| --- | ---: | ---: | ---: | ---: |")
    for kind in GARBAGE:
        for makers in MAKERS:
            alone, part = ratio(loadgen, arguments, kind, makers)
            print(f"| {kind} | {makers} | {alone:,.0f} | {part:.2f} | {1 / (makers + 1):.2f} |", flush=True)


if __name__ == "__main__":
    run(main)
