"""The destinations of events, and the processor time that they use."""

import http.client
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import time


class Sink:
    """A process that listens on a port, prints the port, and counts the events that it receives."""

    def __init__(self, command: list[str | pathlib.Path]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def __enter__(self) -> "Sink":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/events"

    def count(self) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request("GET", "/count")
            return int(connection.getresponse().read())
        finally:
            connection.close()

    def cpu_seconds(self) -> float:
        """Returns the user and system time of the process so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def alone(self, events: int, batch: int, event_bytes: int) -> tuple[float, float] | None:
        """Returns the events per second of an ideal sender, and its processor time for each in microseconds, or None if there is none."""
        return None


def run_sender(events: int, command: list[str | int | pathlib.Path]) -> tuple[float, float]:
    """Runs a program that sends events and prints their rate. Returns the rate, and the processor time per event in microseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    finished = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return float(finished.stdout), seconds / events * 1e6


class CountingSink(Sink):
    """A server in C that only counts lines, as fast as possible."""

    def __init__(self, program: pathlib.Path) -> None:
        super().__init__([program, "serve"])
        self.program = program

    def alone(self, events: int, batch: int, event_bytes: int) -> tuple[float, float]:
        """Runs a sender in C that posts one batch after the other on one connection."""
        batches = max(events // batch, 1)
        return run_sender(batches * batch, [self.program, "post", self.port, batches, batch, event_bytes])


class KafkaSink(Sink):
    """librdkafka's mock broker in C with one topic. It keeps the newest messages and counts all."""

    def __init__(self, programs: pathlib.Path, partitions: int) -> None:
        self.program = programs / "produce"
        # The brokers read commands from descriptor 3.
        command = ["sh", "-c", 'exec "$0" 1 3<&0', programs / "brokers"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self.brokers = self.process.stdout.readline().strip()
        self.process.stdin.write(f"topic events {partitions} 1\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def dispatcher(self, limit: int) -> dict:
        dispatcher = {"kind": "kafka", "brokers": [self.brokers], "topic": "events"}
        return {**dispatcher, "dispatch_limit": limit, "byte_limit": 16 << 20}

    def count(self) -> int:
        command = [self.program, self.brokers]
        return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)

    def alone(self, events: int, batch: int, event_bytes: int) -> tuple[float, float]:
        """Runs a program in C that produces as fast as librdkafka accepts messages."""
        return run_sender(events, [self.program, self.brokers, events, event_bytes, events])


class NATSSink(Sink):
    """A `nats-server` with one stream in memory. It keeps the newest messages and counts all."""

    def __init__(self, programs: pathlib.Path, disk: pathlib.Path) -> None:
        self.program = programs / "publish"
        self.port = free_port()
        self.configuration = disk / "nats.conf"
        store = disk / "nats"
        self.configuration.write_text(f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{store}" }}\n')
        server = shutil.which("nats-server", path=os.environ["PATH"] + os.pathsep + "/usr/sbin")
        command = [server or "nats-server", "-c", self.configuration]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url = f"nats://127.0.0.1:{self.port}"
        while not self.is_ready():
            time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.configuration.unlink(missing_ok=True)

    def is_ready(self) -> bool:
        return subprocess.run([self.program, self.url], capture_output=True).returncode == 0

    def dispatcher(self, limit: int) -> dict:
        dispatcher = {"kind": "nats", "servers": [self.url], "subject": "bench.events", "stream": "EVENTS"}
        return {**dispatcher, "dispatch_limit": limit, "byte_limit": 16 << 20}

    def count(self) -> int:
        command = [self.program, self.url]
        return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)

    def alone(self, events: int, batch: int, event_bytes: int) -> tuple[float, float]:
        """Runs a program in C with up to 10,000 messages in flight."""
        return run_sender(events, [self.program, self.url, events, event_bytes])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class CollectorSink(Sink):
    """A collector in Python that reads every event."""

    def __init__(self, disk: pathlib.Path) -> None:
        self.file = disk / "collected"
        super().__init__([sys.executable, pathlib.Path(__file__).with_name("collector.py"), self.file])

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.file.unlink(missing_ok=True)
