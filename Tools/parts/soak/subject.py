"""The daemon under test, started in its own folder, and observed from outside."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

from ledger import Broken

PATIENCE = 120
KEEP = 20


class Subject:
    def __init__(self, program: pathlib.Path, folder: pathlib.Path, settings: dict) -> None:
        self.program = program
        self.folder = folder
        self.socket = str(folder / "s")
        self.archive = folder / "archive.ndjson"
        self.log = folder / "log"
        self.configuration = folder / "headgate.json"
        self.configuration.write_text(json.dumps(settings))
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        arguments = ["--config", self.configuration, "--socket", self.socket, "--data", self.folder / "data"]
        # The log also has the lines of earlier starts.
        before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([self.program, *arguments], stderr=log)
        deadline = time.monotonic() + PATIENCE
        while b"headgated ready" not in self.log.read_bytes()[before:]:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Broken(f"the daemon does not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self) -> int:
        """Stops the daemon in order, and returns its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Broken("the daemon does not stop") from None

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def expect_life(self) -> None:
        if self.process.poll() is not None:
            raise Broken(f"the daemon ended with {self.process.returncode}:\n{self.log.read_text()[-4000:]}")

    def mebibytes(self) -> float:
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def cpu_seconds(self) -> float:
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stored_mebibytes(self) -> float:
        """Returns the size of the data on disk, including space that the store will reuse."""
        return sum(file.stat().st_size for file in (self.folder / "data").rglob("*") if file.is_file()) / (1 << 20)


def settings(collector: str, archive: pathlib.Path) -> dict:
    """Returns settings with short timeouts and backoffs. They have no retry limits, so that every event must arrive."""
    patient = {"max_attempts": 1_000_000, "backoff": {"base_ms": 5, "cap_ms": 200}}
    return {
        # With durability `full` a slow disk would dominate the run.
        "durability": "normal",
        "limits": {"slow_reader_timeout_ms": 3_000, "max_output_bytes": 1 << 20},
        "dispatchers": {
            "collect": {"kind": "http", "endpoint": collector, "timeout_ms": 1_000, "dispatch_limit": 50, **patient},
            "archive": {
                "kind": "file", "path": str(archive), "rotate_bytes": 4 << 20, "keep": KEEP, "dispatch_limit": 200,
                **patient,
            },
            "jobs": {"kind": "worker", "lease_ms": 1_000, "dispatch_limit": 50, **patient},
        },
        "barriers": {
            "BatchingBarrier": {"scopes": ["collect"], "configuration": {"batch_size": 20, "max_wait_ms": 200}},
            "ApplicationStatusBarrier": {"scopes": ["archive"], "configuration": {"block_in_background": True}},
        },
    }  # fmt: skip
