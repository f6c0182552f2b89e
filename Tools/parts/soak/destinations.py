"""The destinations: a collector that often fails, and a dispatcher's file that is rotated."""

import json
import os
import pathlib
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ledger import Ledger


class Collector(ThreadingHTTPServer):
    """An HTTP server that accepts most batches. It refuses the others, reports them as too large, delays them, or accepts them
    without an answer."""

    daemon_threads = True

    def __init__(self, ledger: Ledger, chance: random.Random) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.ledger = ledger
        self.chance = chance
        self.is_kind = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """Ignores errors of a connection that the daemon closes."""


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Collector

    def do_POST(self) -> None:
        events = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        mood = 1.0 if self.server.is_kind else self.server.chance.random()
        if mood < 0.04:
            return self.answer(503)
        if mood < 0.06:
            return self.answer(429, {"Retry-After": "0"})
        if mood < 0.08 and len(events) > 1:
            return self.answer(413)
        if mood < 0.10:
            self.close_connection = True
            return None
        if mood < 0.11:
            time.sleep(1.5)  # longer than the timeout of the daemon
            self.close_connection = True
            return None
        self.server.ledger.take("collect", events)
        if mood < 0.13:
            self.close_connection = True
            return None
        self.answer(200)

    def answer(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Suppresses the log of requests."""


class Archive:
    """A reader of the growing file of a `file` dispatcher, which follows its rotations."""

    def __init__(self, ledger: Ledger, path: pathlib.Path, keep: int) -> None:
        self.ledger = ledger
        self.path = path
        self.keep = keep
        self.file = None
        self.rest = b""

    def read(self) -> None:
        """Reads what was written since the last call."""
        while self.file or self.open(self.path):
            self.take(self.file.read())
            successor = self.successor()
            if not successor:
                return
            # Read the lines written between the last read and the rotation.
            self.take(self.file.read())
            self.file.close()
            self.file = None
            self.open(successor)

    def open(self, path: pathlib.Path) -> bool:
        if path.exists():
            self.file = path.open("rb")
        return self.file is not None

    def successor(self) -> pathlib.Path | None:
        """Returns the next newer file, or None if this is the newest. Files may be rotated meanwhile."""
        own = os.fstat(self.file.fileno()).st_ino
        while True:
            names = [self.path, *(self.path.with_name(f"{self.path.name}.{n}") for n in range(1, self.keep + 1))]
            found = [inode_of(name) for name in names]
            if found == [inode_of(name) for name in names] and own in found:
                place = found.index(own)
                return names[place - 1] if place else None
            time.sleep(0.01)

    def take(self, chunk: bytes) -> None:
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        self.ledger.take("archive", [json.loads(line) for line in lines])


def inode_of(path: pathlib.Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None
