"""The servers that the benchmarks compare, each started with an empty data directory."""

import json
import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import tempfile
import time

START_SECONDS = 20
STOP_SECONDS = 20


class BenchmarkError(Exception):
    """The benchmark has no result. The text of the error is printed as the reason."""


class Server:
    """A process with its own data directory. As a context manager it stops the process and removes the data at the end."""

    name = ""

    def __init__(self, disk: pathlib.Path) -> None:
        self.data = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=disk))
        # Not in the data directory, since a socket's path is limited to 107 bytes.
        self.socket_directory = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
        self.socket_path = self.socket_directory / "s"
        self.log = self.data / "log"
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "Server":
        try:
            self.start()
            self.connection = self.connect()
            self.prepare()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self.remove()

    def start(self) -> None:
        try:
            with self.log.open("wb") as log:
                self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        except OSError as error:
            raise BenchmarkError(f"{self.name} did not start: {error}") from error

    def connect(self) -> socket.socket:
        """Connects as soon as the server listens."""
        deadline = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(START_SECONDS)
            try:
                connection.connect(str(self.socket_path))
                return connection
            except (FileNotFoundError, ConnectionRefusedError):
                connection.close()
                time.sleep(0.01)
        raise BenchmarkError(f"{self.name} did not start:\n{self.log.read_text(errors='replace')[-2000:]}")

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.data)
        shutil.rmtree(self.socket_directory)

    def read_line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            received = self.connection.recv(65536)
            if not received:
                raise BenchmarkError(f"{self.name} closed the connection")
            line += received
        return line

    def cpu_seconds(self) -> float:
        """Returns the user and system time of the process so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mebibytes(self) -> float:
        return self._mebibytes("VmHWM:")

    def resident_mebibytes(self) -> float:
        return self._mebibytes("VmRSS:")

    def _mebibytes(self, name: str) -> float:
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
        raise BenchmarkError(f"the process of {self.name} has ended")

    def command(self) -> list[str]:
        raise NotImplementedError

    def prepare(self) -> None:
        """Prepares the server for the measurement."""

    def stored(self) -> int:
        """Returns the number of events that the server reports as stored."""
        raise NotImplementedError

    def delivered(self) -> int:
        return 0


class Redis(Server):
    """Redis, which syncs every XADD to the append-only file before it answers, or once a second. It never rewrites that file."""

    name = "redis"

    def __init__(self, disk: pathlib.Path, synced: bool = True) -> None:
        super().__init__(disk)
        self.appendfsync = "always" if synced else "everysec"

    def command(self) -> list[str]:
        return [
            "redis-server", "--port", "0", "--unixsocket", str(self.socket_path), "--dir", str(self.data),
            "--appendonly", "yes", "--appendfsync", self.appendfsync, "--auto-aof-rewrite-percentage", "0", "--save", "",
        ]  # fmt: skip

    def stored(self) -> int:
        self.connection.sendall(b"XLEN events\r\n")
        answer = self.read_line()
        if not answer.startswith(b":"):
            raise BenchmarkError(f"redis: {answer!r}")
        return int(answer[1:])


class Headgate(Server):
    """headgated with one dispatcher, which is paused unless the benchmark measures deliveries."""

    name = "headgate"

    def __init__(
        self,
        disk: pathlib.Path,
        program: pathlib.Path,
        delivering: bool,
        dispatcher: dict | None = None,
        durability: str = "full",
        encrypted: bool = False,
        retaining: bool = False,
    ) -> None:
        super().__init__(disk)
        self.encrypted = encrypted
        self.retaining = retaining
        self.program = program
        self.delivering = delivering
        self.durability = durability
        self.dispatcher = dispatcher or {"kind": "file", "path": "events.ndjson"}

    def settings(self) -> dict:
        # A benchmark stores more events than the default limits allow.
        store = {"max_events": 1_000_000_000, "max_bytes": 1 << 40}
        if self.retaining:
            store["retain"] = {"max_bytes": 1 << 40}
        if self.encrypted:
            keys = self.data / "store.keys"
            keys.touch(0o600)
            keys.write_text(f"1 {secrets.token_hex(32)}\n")
            store["encryption"] = {"key_file": str(keys)}
        return {
            "durability": self.durability,
            "store": store,
            "flush_on": {"start": False, "shutdown": False},
            "dispatchers": {"collect": self.dispatcher},
        }

    def command(self) -> list[str]:
        file = self.data / "configuration.json"
        file.write_text(json.dumps(self.settings()))
        arguments = ["--config", file, "--socket", self.socket_path, "--data", self.data / "data"]
        return [str(argument) for argument in [self.program, *arguments]]

    def prepare(self) -> None:
        if not self.delivering:
            self.call("dispatcher.pause", {"id": "collect", "reason": "benchmark"})

    def call(self, method: str, parameters: dict) -> dict:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        self.connection.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self.read_line())
        if "result" not in answer:
            raise BenchmarkError(f"headgate: {method}: {answer}")
        return answer["result"]

    def stored(self) -> int:
        status = self.call("status", {})
        return status["counters"]["received"] if self.delivering else status["store"]["events"]

    def delivered(self) -> int:
        return self.call("status", {})["counters"]["delivered"]
