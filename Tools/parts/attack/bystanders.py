"""The good client and the operator, who use the daemon while hostile neighbours attack it. Each has its own process."""

import itertools
import json
import multiprocessing.synchronize
import os
import socket
import time
from typing import NamedTuple

from connection import PATIENCE
from neighbour import become

# The number of events after which the good client reconnects.
EVENTS_A_CONNECTION = 10
OPERATOR_PAUSE = 0.2


class Sample(NamedTuple):
    """The time of a call on the monotonic clock, the time until its answer, and the processor time of the daemon's event loop
    meanwhile, all in seconds. On a busy machine only the processor time shows how much the daemon did for other clients first."""

    start: float
    seconds: float
    work: float


class Caller:
    """A client that makes calls one after the other, and measures the time of each."""

    def __init__(self, path: str, name: str, process: int) -> None:
        self.path = path
        self.name = name
        # The processor time of the main thread, which runs the event loop.
        self.clock = open(f"/proc/{process}/task/{process}/schedstat", "rb", buffering=0)
        self.samples: list[Sample] = []
        self.faults: list[str] = []
        self.connect()

    def connect(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(self.path)
        self.answers = self.socket.makefile("rb")
        self.call("hello", client={"name": self.name, "version": "1"})

    def close(self) -> None:
        self.answers.close()
        self.socket.close()

    def call(self, method: str, **params: object) -> dict:
        """Returns the result of a call. Raises `RefusedCall` if the daemon refuses it."""
        work, start = self.work(), time.monotonic()
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        line = self.answers.readline()
        self.samples.append(Sample(start, time.monotonic() - start, self.work() - work))
        answer = json.loads(line) if line else {"error": "the daemon closed the connection"}
        if "error" in answer:
            raise RefusedCall(f"{method} was refused: {answer['error']}")
        return answer["result"]

    def work(self) -> float:
        return int(os.pread(self.clock.fileno(), 64, 0).split()[0]) / 1e9


class RefusedCall(Exception):
    """The daemon refused a call of a bystander."""


class Work(NamedTuple):
    """The results of a bystander: its samples, the numbers of its acknowledged events, and its faults."""

    samples: list[Sample]
    acknowledged: list[int]
    faults: list[str]


def be_good_client(path: str, process: int, user: int | None, rate: float, is_over: multiprocessing.synchronize.Event) -> Work:
    """Tracks events with ids, at a rate in events per second, and reconnects now and then."""
    client, acknowledged = Caller(become(user, path), "good", process), []
    # Neighbours use the ids of the good client if they are other users, who have other namespaces.
    prefix = "own" if user is None else "good"
    try:
        for number in itertools.count(1):
            answer = client.call("track", event="good", id=f"{prefix}-{number}", data={"number": number})
            if answer.get("duplicate") or answer.get("unrouted"):
                raise RefusedCall(f"{prefix}-{number} was answered with {answer}")
            acknowledged.append(number)
            if is_over.wait(1 / rate):
                break
            if number % EVENTS_A_CONNECTION == 0:
                client.close()
                client.connect()
    except (RefusedCall, OSError) as error:
        client.faults.append(f"the good client: {error!r}")
    return Work(client.samples, acknowledged, client.faults)


def be_operator(path: str, process: int, dispatcher: str, is_over: multiprocessing.synchronize.Event) -> Work:
    """Reads the status and the clients, and pauses and resumes a dispatcher, repeatedly and over a new connection each time."""
    operator = Caller(path, "operator", process)
    try:
        while not is_over.wait(OPERATOR_PAUSE):
            operator.close()
            operator.connect()
            operator.call("status")
            operator.call("client.list")
            operator.call("dispatcher.pause", id=dispatcher, reason="attack")
            operator.call("queue.peek", dispatcher=dispatcher)
            operator.call("dispatcher.resume", id=dispatcher)
    except (RefusedCall, OSError) as error:
        operator.faults.append(f"the operator: {error!r}")
    return Work(operator.samples, [], operator.faults)
