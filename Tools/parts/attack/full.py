"""A store that one user keeps full, while another user tracks events at a low rate (Behaviour Q4)."""

import http.server
import json
import multiprocessing
import os
import pathlib
import socket
import threading
import time
from typing import NamedTuple

from bystanders import Caller, RefusedCall, Sample
from connection import PATIENCE
from fight import FIRST_USER, Part, context
from ledger import Broken
from lines import GOOD_USER, call
from neighbour import NICENESS, become
from target import Target
from times import percentiles, p99

# The destination's events per second.
DESTINATION_RATE = 1_000
# The good client's events per second.
GOOD_RATE = 10
# The time of measurement before the flood, as a share of the flood's time.
QUIET = 0.5
# The unanswered requests of the flood, and the events of each request.
WINDOW, EVENTS = 8, 50
MOST_EVENTS = 100_000


class Flood(NamedTuple):
    stored: int
    refused: int
    seconds: float


def run(program: pathlib.Path, folder: pathlib.Path, seconds: float, durability: str) -> list[str]:
    """Measures the other user's answers before and during the flood, and prints the result. Returns the faults."""
    port = start_destination()
    target = Target(program, folder, 1)
    target.configuration.write_text(json.dumps(settings(port, durability)))
    is_over, is_full, floods = context.Event(), context.Event(), context.Event()
    try:
        target.start()
        path, process = target.socket, target.process.pid
        good = Part(lambda: track(path, process, is_over))
        time.sleep(seconds * QUIET)
        floods_at = time.monotonic()
        flood = Part(lambda: fill(path, is_full, is_over))
        if not is_full.wait(PATIENCE):
            raise Broken("the flood does not fill the store")
        full_at = time.monotonic()
        time.sleep(seconds)
        look = Caller(path, "look", process).call("status")["store"]["events"]
        is_over.set()
        result, reason = good.result(PATIENCE)
        flooded, flood_reason = flood.result(PATIENCE)
        target.expect_life()
    finally:
        target.kill()
    if result is None or flooded is None:
        raise Broken(f"{reason or ''} {flood_reason or ''}")
    samples, refusals = result
    quiet = [sample for sample in samples if sample.start < floods_at]
    full = [sample for sample in samples if sample.start >= full_at]
    print(f"store: {MOST_EVENTS} events, {look} at the end, durability {durability}; destination: {DESTINATION_RATE} events/s")
    print(f"flood for {flooded.seconds:.0f} s: {flooded.stored / flooded.seconds:.0f} events/s stored, "
          f"{flooded.refused / flooded.seconds:.0f} events/s refused")
    print(f"the other user, quiet: {len(quiet)} events, {percentiles(quiet)}")
    print(f"the other user, full store: {len(full)} events, {len(refusals)} refused, {percentiles(full)}")
    print(f"p99 full / quiet: {p99(full) / p99(quiet):.1f}; load average {os.getloadavg()[0]:.1f}")
    return [f"the other user: {refusal}" for refusal in refusals]


def settings(port: int, durability: str) -> dict:
    return {
        "durability": durability,
        "store": {"max_events": MOST_EVENTS},
        "dispatchers": {"collect": {"kind": "http", "endpoint": f"http://127.0.0.1:{port}/", "dispatch_limit": 100}},
    }


# MARK: The destination


class Destination(http.server.BaseHTTPRequestHandler):
    """An HTTP server that accepts events at the destination's rate."""

    protocol_version = "HTTP/1.1"
    free_at = 0.0
    lock = threading.Lock()

    def do_POST(self) -> None:
        count = len(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        with Destination.lock:
            Destination.free_at = max(Destination.free_at, time.monotonic()) + count / DESTINATION_RATE
            wait = Destination.free_at - time.monotonic()
        time.sleep(max(0.0, wait))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def start_destination() -> int:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Destination)
    multiprocessing.get_context("fork").Process(target=server.serve_forever, daemon=True).start()
    return server.server_port


# MARK: The users


def track(path: str, process: int, is_over) -> tuple[list[Sample], list[str]]:
    """Tracks events at the good client's rate, one after the other. Returns the times of the answers, and the refusals."""
    client, refusals = Caller(become(GOOD_USER, path), "good", process), []
    client.samples.clear()
    while not is_over.wait(1 / GOOD_RATE):
        try:
            client.call("track", event="good", data={"number": len(client.samples)})
        except RefusedCall as refusal:
            refusals.append(str(refusal))
    return client.samples, refusals


def fill(path: str, is_full, is_over) -> Flood:
    """Sends events as fast as the daemon answers, even while it refuses them."""
    os.nice(NICENESS)
    link = socket.socket(socket.AF_UNIX)
    link.connect(become(FIRST_USER, path))
    link.settimeout(PATIENCE)
    answers = link.makefile("rb")
    events = [{"event": "flood", "data": {"pad": "x" * 100, "number": number}} for number in range(EVENTS)]
    line = call("track_many", events=events)
    stored, refused, start = 0, 0, time.monotonic()
    link.sendall(line * WINDOW)
    while not is_over.is_set():
        answer = answers.readline()
        if not answer:
            raise Broken("the daemon closed the flood's connection")
        if b'"error"' in answer:
            if b"queue_full" not in answer:
                raise Broken(f"the flood was answered with {answer!r}")
            refused += EVENTS
            is_full.set()
        else:
            stored += EVENTS
        link.sendall(line)
    return Flood(stored, refused, time.monotonic() - start)
