"""Measures how fast a stored backlog is delivered, the processor time for it, and the cost of a large backlog at a start."""

import argparse
import pathlib
import socket
import subprocess
import time
from collections.abc import Iterator

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


def store(daemon: Headgate, count: int, ids: bool = False) -> int:
    """Stores `count` events, and returns the size of one as JSON, in bytes."""
    answers = daemon.connection.makefile("rb")
    waiting = 0
    for message in messages(count, ids):
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
        raise BenchmarkError(f"not all was delivered: {flushed}")
    return seconds, cpu


def measure(arguments: argparse.Namespace, name: str, dispatcher: dict, sink: Sink | None) -> None:
    if not name.startswith(arguments.only):
        return
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
    rate = arguments.events / seconds
    cells = [f"{rate:,.0f}", f"{cpu / arguments.events * 1e6:.2f}", f"{cpu / seconds:.2f}"]
    cells += [f"{sink_cpu / seconds:.2f}" if sink else "", f"{peak:.0f}"]
    capacity = sink.capacity(dispatcher["dispatch_limit"], event_bytes + 16) if sink else None
    cells += [f"{capacity:,.0f}", f"{rate / capacity:.2f}"] if capacity else ["", ""]
    print("  ".join([name.ljust(16)] + [cell.rjust(12) for cell in cells]), flush=True)


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
            raise BenchmarkError(f"{pending} events wait instead of {arguments.backlog}")
        begun = seconds_until_first(daemon)
    size = arguments.backlog * event_bytes / 1e9
    print(f"\nA backlog of {arguments.backlog:,} events{' with ids' if ids else ''} ({size:.1f} GB of JSON):")
    print(f"  ready {seconds * 1000:.0f} ms after its start (an empty one: {first * 1000:.0f} ms),", end=" ")
    print(f"the first event delivered {begun * 1000:.0f} ms after the way was opened;")
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
    parser.add_argument("--quick", action="store_true", help="20 000 events, a backlog of 100 000: does it work at all")
    parser.add_argument("--events", type=int, help="events of each row (1 000 000)")
    parser.add_argument("--only", default="", help="only rows whose names begin so, like kafka")
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
    print(f"{arguments.events:,} stored events of {SIZE} bytes; CPU and cores are the daemon's own.")
    headings = ["events/s", "CPU µs/event", "cores", "sink's cores", "peak MiB", "sink alone/s", "ratio"]
    print("  ".join([" " * 16] + [heading.rjust(12) for heading in headings]))
    programs = build_c()
    with CountingSink(programs / "sink") as sink:
        for limit in (25, 1000):
            measure(arguments, f"http, {limit}", http_dispatcher(sink, limit), sink)
    with CollectorSink(arguments.disk) as sink:
        for limit in (25, 1000):
            measure(arguments, f"collector, {limit}", http_dispatcher(sink, limit), sink)
    for partitions in (1, 4):
        with KafkaSink(programs, partitions) as sink:
            for limit in (1000, 10_000):
                measure(arguments, f"kafka {partitions}, {limit}", sink.dispatcher(limit), sink)
    with NATSSink(programs, arguments.disk) as sink:
        for limit in (1000, 10_000):
            measure(arguments, f"nats, {limit}", sink.dispatcher(limit), sink)
    for name, path in [("file", "events.ndjson"), ("/dev/null", "/dev/null")]:
        measure(arguments, name, {"kind": "file", "path": path, "dispatch_limit": 1000, "byte_limit": 1 << 20}, None)
    if arguments.backlog:
        measure_backlog(arguments, ids=False)
        measure_backlog(arguments, ids=True)


if __name__ == "__main__":
    run(main)
