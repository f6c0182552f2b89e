"""The daemon under test: a headgated in its own folder, started repeatedly with the same data."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
from collections.abc import Sequence

from ledger import Broken

PATIENCE = 120
# The number of requests sent before their answers are read. That many answers fit into the socket buffer.
AT_ONCE = 100


class Daemon:
    def __init__(self, program: pathlib.Path, folder: pathlib.Path) -> None:
        self.program = program
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir(0o700)
        self.socket = str(folder / "s")
        self.log = folder / "log"
        self.durability = "full"
        self.process: subprocess.Popen | None = None

    def start(self, durability: str, kind: str, environment: dict[str, str]) -> None:
        self.durability = durability
        configuration = self.folder / "headgate.json"
        configuration.write_text(json.dumps(settings(durability, kind)))
        arguments = ["--config", configuration, "--socket", self.socket, "--data", self.data]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([self.program, *arguments], stderr=log, env=os.environ | environment)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise Broken("the daemon does not start:\n" + self.log.read_text()[-2000:])
            with contextlib.suppress(OSError):
                return self.connect().close()
            time.sleep(0.005)
        raise Broken("the daemon never answers")

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(self.socket)
        except OSError:
            connection.close()
            raise
        return connection

    def kill(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            raise Broken(f"the daemon had ended by itself:\n{self.log.read_text()[-2000:]}")

    def ask(self, method: str, **params: object) -> dict:
        return self.ask_all(method, [params])[0]

    def ask_all(self, method: str, questions: Sequence[dict]) -> list[dict]:
        """Makes the same call for many parameters, on one connection."""
        results = []
        with self.connect() as connection, connection.makefile("rw") as lines:
            for start in range(0, len(questions), AT_ONCE):
                some = questions[start : start + AT_ONCE]
                for params in some:
                    lines.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
                lines.flush()
                results += [result(method, json.loads(lines.readline())) for _ in some]
        return results


def result(method: str, answer: dict) -> dict:
    if "error" in answer:
        raise Broken(f"{method} was refused: {answer['error']}")
    return answer["result"]


def settings(durability: str, kind: str) -> dict:
    """Returns settings with a file dispatcher, a paused file dispatcher, and a worker dispatcher."""
    patient = {"max_attempts": 1_000_000, "backoff": {"base_ms": 1, "cap_ms": 20}, "annotate_queued": False}
    file = {"kind": "file", "dispatch_limit": 500, "byte_limit": 200_000, "keep": 1_000_000, **patient}
    return {
        "durability": durability,
        "store": {"kind": kind},
        "shutdown_timeout_ms": 1_000,
        "dispatchers": {
            "archive": {**file, "path": "archive.ndjson", "rotate_bytes": 1 << 20},
            "held": {**file, "path": "held.ndjson"},
            "doubtful": {
                "kind": "worker", "dispatch_limit": 10, **patient,
                "load_rule": {"operator": "equals", "path": "event", "value": "doubtful"},
            },
        },
    }  # fmt: skip
