"""How quickly a stored backlog goes out, what that takes, and what a large backlog costs at the start."""

import argparse
import pathlib
import socket
import subprocess
import time

from machine import ROOT, build_c, find_program, real_disk, run
from servers import BenchmarkError, Headgate

SIZE = 300
EVENTS_A_MESSAGE = 500
"""Each message stores so many events; a few messages are on their way at once."""
WINDOW = 16
TARGET_MEBIBYTES = 64
TARGET_START_SECONDS = 1.0


class Sink:
    """An HTTP server in C that counts events and does nothing else."""

    def __init__(self, program: pathlib.Path) -> None:
        self.program = program
        self.process = subprocess.Popen([program, "serve"], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def __enter__(self) -> "Sink":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/events"

    def capacity(self, batch: int, event_bytes: int) -> float:
        """Events a second that a sender in C gets rid of, one batch after the other on one connection."""
        batches = max(1_000_000 // batch, 1)
        command = [self.program, "post", str(self.port), str(batches), str(batch), str(event_bytes)]
        return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)

    def count(self) -> int:
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"GET /count HTTP/1.1\r\nHost: sink\r\n\r\n")
            return int(connection.recv(4096).rpartition(b"\r\n\r\n")[2])


def store(daemon: Headgate, count: int) -> int:
    """Stores so many events; returns how many bytes of JSON one has become."""
    frame = '{"event":"bench","data":{"text":""}}'
    event = frame.replace('""', f'"{"x" * (SIZE - len(frame))}"')
    line = '{"jsonrpc":"2.0","id":1,"method":"track_many","params":{"events":['
    message = (line + ",".join([event] * EVENTS_A_MESSAGE) + "]}}\n").encode()
    answers = daemon.connection.makefile("rb")
    waiting = 0
    for _ in range(-(-count // EVENTS_A_MESSAGE)):
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
    """Opens the way and waits until all is settled; returns seconds, and seconds of the processor."""
    start, cpu = time.monotonic(), daemon.cpu_seconds()
    daemon.call("dispatcher.resume", {"id": "collect"})
    flushed = daemon.call("flush", {"wait": True, "timeout_ms": 0})["dispatchers"]["collect"]
    seconds, cpu = time.monotonic() - start, daemon.cpu_seconds() - cpu
    if flushed["left"] or flushed["failed"]:
        raise BenchmarkError(f"not all was delivered: {flushed}")
    return seconds, cpu


def measure(arguments: argparse.Namespace, name: str, dispatcher: dict, sink: Sink | None) -> None:
    daemon = Headgate(arguments.disk, arguments.headgated, delivering=False, dispatcher=dispatcher)
    with daemon:
        daemon.connection.settimeout(3600)
        event_bytes = store(daemon, arguments.events)
        before = sink.count() if sink else 0
        seconds, cpu = deliver(daemon)
        peak = daemon.peak_mebibytes()
    if sink and sink.count() - before < arguments.events:
        raise BenchmarkError(f"{name}: the sink has {sink.count() - before} events")
    rate = arguments.events / seconds
    cells = [f"{rate:,.0f}", f"{cpu / arguments.events * 1e6:.2f}", f"{cpu / seconds:.2f}", f"{peak:.0f}"]
    if sink:
        capacity = sink.capacity(dispatcher["dispatch_limit"], event_bytes + 16)
        cells += [f"{capacity:,.0f}", f"{rate / capacity:.2f}"]
    else:
        cells += ["", ""]
    print("  ".join([name.ljust(12)] + [cell.rjust(12) for cell in cells]), flush=True)


def measure_backlog(arguments: argparse.Namespace) -> None:
    """Starts a daemon on a large backlog: how long until it is ready, and what memory it has taken by then."""
    daemon = Headgate(arguments.disk, arguments.headgated, delivering=False)
    with daemon:
        daemon.connection.settimeout(3600)
        first = restart(daemon)
        event_bytes = store(daemon, arguments.backlog)
        filled = daemon.peak_mebibytes()
        seconds = restart(daemon)
        peak = daemon.peak_mebibytes()
        pending = daemon.call("dispatcher.list", {})["dispatchers"][0]["pending"]
        if pending < arguments.backlog:
            raise BenchmarkError(f"{pending} events wait instead of {arguments.backlog}")
        begun = seconds_until_first(daemon)
    size = arguments.backlog * event_bytes / 1e9
    print(f"\nA backlog of {arguments.backlog:,} events ({size:.1f} GB of JSON):")
    print(f"  ready {seconds * 1000:.0f} ms after its start (an empty one: {first * 1000:.0f} ms),", end=" ")
    print(f"the first event delivered {begun * 1000:.0f} ms after the way was opened;")
    print(f"  peak memory {filled:.0f} MiB while it was stored, {peak:.0f} MiB after the start.")
    verdict = "met" if seconds < TARGET_START_SECONDS and max(filled, peak) < TARGET_MEBIBYTES else "missed"
    print(f"  target: under {TARGET_START_SECONDS:g} s and {TARGET_MEBIBYTES} MiB: {verdict}")


def restart(daemon: Headgate) -> float:
    """Seconds from the start of the process until it answers."""
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
    parser.add_argument("--quick", action="store_true", help="20 000 events, a backlog of 100 000: does it work at all")
    parser.add_argument("--events", type=int, help="events of each row (1 000 000)")
    parser.add_argument("--backlog", type=int, help="events of the backlog (10 000 000); 0: leave it out")
    parser.add_argument("--headgated", type=pathlib.Path, help="a built daemon ($HEADGATED; else a release build)")
    parser.add_argument("--disk", type=pathlib.Path, help="where the daemon keeps its data (.build/bench)")
    arguments = parser.parse_args()
    arguments.events = arguments.events or (20_000 if arguments.quick else 1_000_000)
    if arguments.backlog is None:
        arguments.backlog = 100_000 if arguments.quick else 10_000_000
    return arguments


def main() -> None:
    arguments = read_arguments()
    arguments.headgated = find_program("headgated", arguments.headgated)
    arguments.disk = real_disk(arguments.disk or ROOT / ".build/bench")
    with Sink(build_c() / "sink") as sink:
        print(f"{arguments.events:,} stored events of {SIZE} bytes; CPU is the daemon's own.")
        headings = ["events/s", "CPU µs/event", "cores", "peak MiB", "sink alone/s", "ratio"]
        print("  ".join([" " * 12] + [heading.rjust(12) for heading in headings]))
        for limit in (25, 1000):
            http = {"kind": "http", "endpoint": sink.endpoint, "format": "ndjson", "dispatch_limit": limit}
            http["byte_limit"] = 1 << 20
            measure(arguments, f"http, {limit}", http, sink)
        for name, path in [("file", "events.ndjson"), ("/dev/null", "/dev/null")]:
            measure(arguments, name, {"kind": "file", "path": path, "dispatch_limit": 1000, "byte_limit": 1 << 20}, None)
    if arguments.backlog:
        measure_backlog(arguments)


if __name__ == "__main__":
    run(main)
