"""Measures how many events per second pass from a socket over the disk to an HTTP collector, compared with syslog-ng."""

import argparse
import os
import pathlib
import shutil
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable

from deliver import http_dispatcher
from ingest import SIZE, generate
from machine import ROOT, build_c, find_program, real_disk, run
from report import Load
from servers import BenchmarkError, Headgate, Server
from sinks import CountingSink

BATCH = 1000
CONNECTIONS = 4
WINDOW = 64
PATIENCE_SECONDS = 60


class SyslogNg(Server):
    """syslog-ng, which forwards lines from a Unix socket in batches of the same size, without acknowledgement and sync."""

    name = "syslog-ng"

    def __init__(self, disk: pathlib.Path, endpoint: str) -> None:
        super().__init__(disk)
        self.endpoint = endpoint

    def command(self) -> list[str]:
        file = self.data / "syslog-ng.conf"
        file.write_text(
            f"""@version: 3.35
options {{ stats-freq(0); log-fifo-size(100000); }};
source lines {{ unix-stream("{self.socket_path}" flags(no-parse) max-connections(16) log-iw-size(16000)); }};
destination collector {{ http(url("{self.endpoint}") method("POST") body("$MSG") delimiter("\\n") body-suffix("\\n")
    batch-lines({BATCH}) batch-timeout(10) workers(1)); }};
log {{ source(lines); destination(collector); flags(flow-control); }};
"""
        )
        paths = [f"--{name}={self.data / name}" for name in ("persist-file", "pidfile", "control")]
        return ["syslog-ng", "--foreground", "--no-caps", f"--cfgfile={file}", *paths]


def send_lines(path: pathlib.Path, count: int) -> int:
    """Sends lines over the same number of connections, each as fast as possible. Returns the number of lines."""
    opening = b'{"event":"bench","data":{"text":"'
    line = opening + b"x" * (SIZE - len(opening) - 4) + b'"}}\n'
    block = line * WINDOW
    blocks = count // CONNECTIONS // WINDOW

    def send() -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            for _ in range(blocks):
                connection.sendall(block)

    threads = [threading.Thread(target=send) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return blocks * CONNECTIONS * WINDOW


def wait_for(delivered: Callable[[], int], count: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while delivered() < count:
        if time.monotonic() > deadline:
            raise BenchmarkError(f"{delivered()} events were delivered instead of {count}")
        time.sleep(0.002)


def measure(server: Server, send: Callable[[], int], delivered: Callable[[], int]) -> dict[str, float]:
    """Returns the events per second until the last one is delivered, and the server's processor time for each, in microseconds."""
    os.sync()
    with server:
        before, cpu, start = delivered(), server.cpu_seconds(), time.monotonic()
        total = send()
        wait_for(delivered, before + total)
        seconds, cpu = time.monotonic() - start, server.cpu_seconds() - cpu
    return {"total": total, "rate": total / seconds, "cpu": cpu / total * 1e6}


def measure_headgate(arguments: argparse.Namespace, loadgen: pathlib.Path, sink: CountingSink) -> dict[str, float]:
    compression = {arguments.compress: True} if arguments.compress else {}
    dispatcher = {**http_dispatcher(sink, BATCH), **compression}
    daemon = Headgate(arguments.disk, arguments.headgated, delivering=True, dispatcher=dispatcher)
    load = Load(CONNECTIONS, arguments.window, noise=bool(compression))
    # The sink counts lines, which it cannot find in a compressed body.
    delivered = daemon.delivered if compression else sink.count
    return measure(daemon, lambda: int(generate(loadgen, daemon, load, arguments.seconds)["total"]), delivered)


def measure_syslog(arguments: argparse.Namespace, sink: CountingSink, count: int) -> dict[str, float]:
    """Measures syslog-ng with about the same number of lines."""
    server = SyslogNg(arguments.disk, sink.endpoint)
    return measure(server, lambda: send_lines(server.socket_path, count), sink.count)


def print_runs(name: str, runs: list[dict[str, float]]) -> None:
    rate, cpu = (statistics.median(run[key] for run in runs) for key in ("rate", "cpu"))
    print(f"{name:12}{rate:12,.0f}/s{cpu:10.2f} µs of the processor an event")


def main() -> None:
    parser = argparse.ArgumentParser(prog="Tools/bench live", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs (5)")
    parser.add_argument("--seconds", type=float, default=2, help="time for which events are sent in each run (2)")
    parser.add_argument("--window", type=int, default=WINDOW, help=f"unanswered requests of each connection ({WINDOW})")
    parser.add_argument("--compress", choices=("gzip", "zstd"), help="compression of Headgate's bodies, with text that compresses badly (none)")
    parser.add_argument("--headgated", type=pathlib.Path, help="a built daemon ($HEADGATED; else a release build)")
    parser.add_argument("--disk", type=pathlib.Path, help="where the daemon keeps its data (.build/bench)")
    arguments = parser.parse_args()
    if arguments.pairs < 1 or arguments.window < 1 or arguments.seconds <= 0:
        parser.error("--pairs and --window must be 1 or more, and --seconds more than 0")
    if not shutil.which("syslog-ng"):
        raise BenchmarkError("syslog-ng is missing: apt-get install syslog-ng-core syslog-ng-mod-http")
    arguments.headgated = find_program("headgated", arguments.headgated)
    arguments.disk = real_disk(arguments.disk or ROOT / ".build/bench")
    programs = build_c()
    ours, theirs = [], []
    with CountingSink(programs / "sink") as sink:
        for pair in range(1, arguments.pairs + 1):
            ours.append(measure_headgate(arguments, programs / "loadgen", sink))
            theirs.append(measure_syslog(arguments, sink, int(ours[-1]["total"])))
            print(f"pair {pair}: {ours[-1]['rate']:,.0f} / {theirs[-1]['rate']:,.0f}", file=sys.stderr)
    print(f"{CONNECTIONS} × {arguments.window}, {SIZE} bytes each, {BATCH} a batch; medians of {arguments.pairs} pairs; {os.cpu_count()} CPUs.\n")
    print_runs("Headgate", ours)
    print_runs("syslog-ng", theirs)
    ratios = [one["rate"] / other["rate"] for one, other in zip(ours, theirs)]
    print(f"\nratio {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})")


if __name__ == "__main__":
    run(main)
