#!/usr/bin/env python3
"""Tracks the lines of a file, using only the standard library.

    tracker.py SOCKET LINES ACKNOWLEDGED PER_SECOND

The program assigns the ids of the events. Up to WINDOW events are in flight at once. When the connection breaks, the
unacknowledged events are sent again with the same ids, so that no event is lost or stored twice. Each acknowledged id is a
line in ACKNOWLEDGED.
"""

import collections
import json
import random
import select
import socket
import sys
import time
import uuid

WINDOW = 64


class Tracker:
    def __init__(self, path, acknowledged):
        self.path = path
        self.acknowledged = acknowledged
        self.waiting = collections.OrderedDict()  # request id: (event id, request)
        self.last_request = 0
        self.socket = None
        self.input = b""

    def track(self, event, data):
        """Sends one event, and waits while WINDOW events are unacknowledged."""
        self.last_request += 1
        params = {"event": event, "id": str(uuid.uuid4()), "data": data}
        request = {"jsonrpc": "2.0", "id": self.last_request, "method": "track", "params": params}
        line = json.dumps(request, ensure_ascii=False).encode() + b"\n"
        self.waiting[self.last_request] = (params["id"], line)
        self.attempt(lambda: self.socket.sendall(line))
        self.receive(0)
        while len(self.waiting) >= WINDOW:
            self.receive(1)

    def finish(self):
        """Waits until every event is acknowledged."""
        while self.waiting:
            self.receive(1)

    def receive(self, seconds):
        """Handles answers. Waits for them for a number of seconds if none are available."""
        if self.socket is None:
            self.connect()
        readable, _, _ = select.select([self.socket], [], [], seconds)
        if readable:
            self.attempt(self.read)

    def read(self):
        chunk = self.socket.recv(65536)
        if not chunk:
            raise ConnectionResetError("the daemon closed the connection")
        *lines, self.input = (self.input + chunk).split(b"\n")
        for line in lines:
            self.take(json.loads(line))

    def take(self, answer):
        if answer.get("id") not in self.waiting:
            return
        event_id, _ = self.waiting.pop(answer["id"])
        if "error" in answer:
            sys.exit(f"refused: {answer['error']}")
        self.acknowledged.write(event_id + "\n")
        self.acknowledged.flush()

    def attempt(self, action):
        """Calls a function. If the connection breaks, it reconnects, which sends the unacknowledged events again."""
        if self.socket is None:
            return self.connect()
        try:
            action()
        except OSError:
            self.connect()

    def connect(self):
        """Connects with growing random waits, and sends the unacknowledged events."""
        for failures in range(1_000_000):
            try:
                self.input = b""
                self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self.socket.connect(self.path)
                return self.socket.sendall(b"".join(line for _, line in self.waiting.values()))
            except OSError:
                time.sleep(random.uniform(0, min(1, 0.05 * 2 ** min(failures, 10))))


def main():
    path, lines, acknowledged, per_second = sys.argv[1:]
    with open(lines, encoding="utf-8", errors="replace") as source, open(acknowledged, "w", encoding="ascii") as done:
        tracker = Tracker(path, done)
        start = time.monotonic()
        for number, line in enumerate(source):
            time.sleep(max(0, start + number / float(per_second) - time.monotonic()))
            day, clock, action, *details = line.split()
            tracker.track("package_" + action, {"at": f"{day} {clock}", "details": " ".join(details)})
        tracker.finish()


main()
