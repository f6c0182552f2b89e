"""A connection of a hostile client, which checks every answer that it reads."""

import collections
import contextlib
import fcntl
import re
import select
import socket
import struct
import termios
import time

from lines import FORBIDDEN, call

# The seconds to wait for the daemon, which is longer than any answer takes, even on a busy machine.
PATIENCE = 60.0
LAST = "last"
LAST_ANSWER = b'{"jsonrpc":"2.0","id":"last"'
METHOD = re.compile(rb'\{"jsonrpc":"2\.0","id":"m:([a-z_.]+)","(result|error)')
ERROR = re.compile(rb'\{"jsonrpc":"2\.0","id":(null|1|"m:[a-z_.]+"),"error"')
# The longest error, in bytes, for a call with long names.
MOST_OF_AN_ERROR = 16_384
MOST_AT_ONCE = 1 << 18


class Refused(Exception):
    """The daemon has no room for the connection."""


class Connection:
    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.rest = b""
        self.lines = 0
        self.is_refused = self.is_closed = self.has_last = False
        # The methods that still need an answer.
        self.awaited: set[str] = set()
        self.answered: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise
        self.socket.setblocking(False)

    def close(self) -> None:
        self.socket.close()

    def talk(self, payload: bytes) -> None:
        """Sends lines, and a last call after them. Reads until the last call and the awaited methods are answered, or the connection ends."""
        self.has_last = False
        self.exchange(payload + call("ping", LAST), PATIENCE)
        if self.is_refused:
            raise Refused
        if not self.is_done():
            self.faults.append(f"no answer within {PATIENCE:.0f} s; awaited: {sorted(self.awaited)}")

    def is_done(self) -> bool:
        return self.is_closed or self.has_last and not self.awaited

    def exchange(self, payload: bytes, seconds: float) -> None:
        """Sends bytes and reads answers for a number of seconds, or until the last answer."""
        unsent, end = memoryview(payload), time.monotonic() + seconds
        poll = select.poll()
        while not self.is_done():
            poll.register(self.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
            for _, ready in poll.poll(max(0.0, end - time.monotonic()) * 1_000):
                if ready & ~select.POLLOUT:
                    self.receive()
                if ready & select.POLLOUT and not self.is_closed:
                    unsent = unsent[self.send(unsent) :]
            if time.monotonic() > end:
                return

    def send(self, piece: bytes | memoryview, flags: int = 0) -> int:
        """Sends without waiting. Returns the number of bytes that the socket took."""
        try:
            return self.socket.send(piece, flags)
        except BlockingIOError:
            return 0
        except ConnectionError:
            self.receive()
            self.is_closed = True
            return 0

    def receive(self) -> None:
        """Reads the available answers."""
        while True:
            try:
                chunk = self.socket.recv(MOST_AT_ONCE)
            except BlockingIOError:
                return
            except ConnectionError:
                chunk = b""
            if not chunk:
                self.is_closed = True
                return
            *lines, self.rest = (self.rest + chunk).split(b"\n")
            for line in lines:
                self.take(line)

    def take(self, line: bytes) -> None:
        self.lines += 1
        if line.startswith(LAST_ANSWER):
            self.has_last = True
        elif b'"code":-32603' in line:
            self.faults.append(f"an internal error: {line[:300]!r}")
        elif self.lines == 1 and b'"id":null' in line and b'"reason":"limit"' in line and b"connection" in line:
            self.is_refused = True
        elif ERROR.match(line) and len(line) > MOST_OF_AN_ERROR:
            self.faults.append(f"an error of {len(line)} bytes: {line[:300]!r}")
        elif match := METHOD.match(line):
            method = match[1].decode()
            self.answered[method] += 1
            self.awaited.discard(method)
            if method in FORBIDDEN and match[2] == b"result":
                self.faults.append(f"{method} was not refused: {line[:300]!r}")

    def shut(self) -> None:
        """Closes the sending direction."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def has_arrived(self, seconds: float) -> bool:
        """Returns true if the daemon answers, closes the connection, or reads all sent bytes within a number of seconds."""
        end = time.monotonic() + seconds
        while not (self.lines or self.is_closed) and self.unread() > 0 and time.monotonic() < end:
            time.sleep(0.002)
        if self.is_refused:
            raise Refused
        return bool(self.lines) or self.is_closed or self.unread() == 0

    def unread(self) -> int:
        """Returns the number of bytes that the daemon has not read yet, with the kernel's overhead."""
        return struct.unpack("i", fcntl.ioctl(self.socket, termios.TIOCOUTQ, b"\0\0\0\0"))[0]
