"""A client of Headgate, the local event-delivery daemon. One file, the standard library only.

    with headgate.Client("shop", "2.1") as client:
        client.track("signup", {"plan": "free"})

All calls of a client share one connection, made when it is first needed and again whenever it is lost. Every event gets
an id before it is sent, and is sent under this id until it is acknowledged: a restart of the daemon loses none and
doubles none (Behaviour Q7). Calls wait for the daemon, for ever unless the options or a `deadline` say otherwise.

A client may be used by any number of threads. Deadlines are seconds; what ends in `_ms` goes to the daemon as it is. In a
process that is forked off, a client begins with a connection of its own: what was under way, and what was served, stays
with the parent.

`headgate.aio` has the same for asyncio, and `headgate.logs` a handler for logging.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import errno
import json
import logging
import os
import queue
import random
import secrets
import select
import socket
import threading
import time
import weakref
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple
from typing import TypedDict, TypeVar, Union

__all__ = [
    "Activation", "Barrier", "Batch", "Client", "DeadLetter", "DeadLetters", "Dispatcher", "Event", "Flush",
    "FlushPart", "HeadgateError", "ManyReceipt", "News", "Options", "Receipt", "Refused", "Watch", "new_id",
    "usual_socket",
]  # fmt: skip

JSONObject = Dict[str, Any]
Answer = TypeVar("Answer")

_log = logging.getLogger("headgate")

# MARK: What callers see


class HeadgateError(Exception):
    """Why a call came to nothing.

    `code` is JSON-RPC's, -32000 for the daemon's own refusals, and 0 for what happened on this side. `reason` is the
    word to go by, None for JSON-RPC's own errors: one of PROTOCOL's for a refusal, else `cannot_connect`,
    `disconnected`, `timed_out`, `closed`, `bad_answer` or `misuse`. `path` names the wrong one of the params.
    """

    def __init__(
        self, code: int, message: str, reason: Optional[str] = None, path: Optional[str] = None,
        data: Optional[JSONObject] = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.path = path
        self.data: JSONObject = data or {}

    @staticmethod
    def local(reason: str, message: str) -> HeadgateError:
        return HeadgateError(0, message, reason)

    @staticmethod
    def read(error: Any) -> Optional[HeadgateError]:
        """The member `error` of an answer; None if it is no error of JSON-RPC."""
        if not isinstance(error, dict) or type(error.get("code")) is not int or not isinstance(error.get("message"), str):
            return None
        data = error.get("data")
        data = data if isinstance(data, dict) else {}
        reason, path = data.get("reason"), data.get("path")
        return HeadgateError(
            error["code"], error["message"], reason if isinstance(reason, str) else None,
            path if isinstance(path, str) else None, data,
        )  # fmt: skip


class Refused(Exception):
    """Raised by a board's handler: the activation is not done (`done: false`)."""


@dataclass(frozen=True)
class Options:
    """How a client treats its connection. Times are seconds; None is for ever."""

    connect_timeout: Optional[float] = None
    """How long a call waits for the first connection. One attempt is always made, and 0 makes no other. A daemon that is
    found stopping counts as a lost connection."""
    reconnect_timeout: Optional[float] = None
    """How long calls wait for a connection that was lost to come back; 0 does not wait at all."""
    greeting_timeout: float = 10.0
    """How long the daemon may take to answer `hello`."""
    max_unanswered: int = 16_384
    """How many calls may be written and not answered."""
    max_unanswered_bytes: int = 8 << 20
    """How many bytes may be written and not answered. One call is always let through."""
    backoff_base: float = 0.05
    """About how long the first wait between two attempts to connect is; each next one is twice as long."""
    backoff_cap: float = 5.0
    """The longest wait between two attempts to connect."""


class _EventName(TypedDict):
    event: str


class Event(_EventName, total=False):
    """An event to be tracked: the params of `track`."""

    data: Mapping[str, Any]
    id: str
    key: str
    time: str
    dispatchers: Sequence[str]
    ttl_ms: int


@dataclass(frozen=True)
class Receipt:
    """An event is stored (Behaviour P1), or there is nothing to be stored."""

    id: str
    seq: Optional[int]
    """Its place among all events of the daemon; None if it is unrouted."""
    duplicate: bool
    """Whether the daemon had it already. That is a success: so a client learns that its event had arrived."""
    unrouted: bool
    """Whether no dispatcher wants it."""


@dataclass(frozen=True)
class ManyReceipt:
    """Several events are stored together."""

    ids: List[str]
    first_seq: Optional[int]
    last_seq: Optional[int]
    duplicates: int
    unrouted: int


class FlushPart(TypedDict):
    sent: int
    failed: int
    left: int
    blocked_by: List[str]


class _FlushName(TypedDict):
    flush: str


class Flush(_FlushName, total=False):
    """A flush; how it ended only if it was waited for."""

    ended: str
    dispatchers: Dict[str, FlushPart]


class Barrier(TypedDict, total=False):
    """One of `barrier.list`."""

    id: str
    kind: str
    scopes: List[str]
    states: Dict[str, str]
    flushable: bool
    since: Optional[str]
    owner: Optional[str]
    word: str
    reason: Optional[str]
    configuration: JSONObject


class Dispatcher(TypedDict, total=False):
    """One of `dispatcher.list`."""

    id: str
    kind: str
    way: str
    blocked_by: List[str]
    pending: int
    in_flight: int
    sent: int
    failed: int
    dead: int
    expired: int
    evicted: int
    oldest_ms: Optional[int]
    retry_at: Optional[str]
    last_error: Optional[str]
    flushing: bool


class DeadLetter(TypedDict, total=False):
    """One of `dead_letters.list`."""

    letter: Any
    dispatcher: str
    reason: str
    status: Optional[int]
    answer: Optional[str]
    attempts: int
    first_failed_at: Optional[str]
    died_at: str
    event: JSONObject


class DeadLetters(TypedDict, total=False):
    """A page of dead letters; `next` is where the next one begins (`after`)."""

    dead_letters: List[DeadLetter]
    next: Any


class QueuedEvents(TypedDict, total=False):
    """A page of events that wait; `next` is where the next one begins (`after`)."""

    events: List[JSONObject]
    next: Optional[int]


@dataclass(frozen=True)
class Batch:
    """Events that a worker is to deliver."""

    dispatcher: str
    batch: str
    attempt: int
    events: List[JSONObject]


@dataclass(frozen=True)
class Activation:
    """A board that is to be run."""

    board: str
    activation: str
    input: Any
    mainboard: Optional[str]
    as_barrier: bool


@dataclass(frozen=True)
class News:
    """What a watch tells. `began`: how things stand follows as changes, and what was known before counts no more.
    `changed`: the params of the notification are in `change`. `interrupted`: the connection is gone, for the reason in
    `error`; the next one is looked for, on which the watch begins again."""

    kind: str
    change: JSONObject = field(default_factory=dict)
    error: Optional[HeadgateError] = None


Work = Callable[[Batch], Optional[Mapping[str, str]]]
"""Delivers a batch. Gives the outcomes (`delivered`, `retry`, `dead`) by the events' ids; those not named, or all when
it gives None, are delivered. What it raises has all of them retried."""

Run = Callable[[Activation], Any]
"""Runs a board, and gives its output (None: none). Raises `Refused` when it is not done; anything else that it raises is
an error."""


def usual_socket(environment: Optional[Mapping[str, str]] = None) -> str:
    """Where the daemon's socket is when nobody says it: `$HEADGATE_SOCKET`, else below `$XDG_RUNTIME_DIR`, else below
    `/run`. An empty variable counts as not set, and so does a relative `XDG_RUNTIME_DIR`. A user who has that variable,
    but no daemon of their own, means the machine's."""
    variables = os.environ if environment is None else environment
    path = variables.get("HEADGATE_SOCKET")
    if path:
        return path
    directories = [variables.get("XDG_RUNTIME_DIR", ""), "/run"]
    folders = [f"{directory}/headgate" for directory in directories if directory.startswith("/")]
    return next(filter(os.path.isdir, folders), folders[0]) + "/headgate.sock"


_last_id = (0, 0)
_id_lock = threading.Lock()


def new_id() -> str:
    """A UUIDv7 (RFC 9562), greater than all that this process has made before."""
    global _last_id
    with _id_lock:
        moment, low = max(time.time_ns() // 1_000_000, _last_id[0]), secrets.randbits(73)
        # The 74 bits behind the time count on within one millisecond; their first is kept free for that.
        if moment == _last_id[0]:
            low = _last_id[1] + 1 + secrets.randbits(32)
        _last_id = (moment, low)
    number = (moment & (1 << 48) - 1) << 80 | 7 << 76 | (low >> 62 & 0xFFF) << 64 | 2 << 62 | low & (1 << 62) - 1
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


# MARK: Calls


class _Call:
    """A request that is neither answered nor given up. Its number is the request's id on every connection."""

    def __init__(self, method: str, params: JSONObject, repeatable: bool, deadline: Optional[float]) -> None:
        self.method = method
        self.params = params
        self.repeatable = repeatable
        self.deadline = None if deadline is None else time.monotonic() + deadline
        self.number = 0
        self.line = b""
        self.written = False
        self.future: Future[JSONObject] = Future()
        # So that nobody cancels it: what has been written cannot be taken back.
        self.future.set_running_or_notify_cancel()

    standing = False
    granted = False
    # Whether it is about what the present connection has: on another one it would mean something else.
    bound = False

    def encode(self) -> None:
        message = {"jsonrpc": "2.0", "id": self.number, "method": self.method, "params": self.params}
        self.line = _line(message)


class _Standing(_Call):
    """A call that is made again on each connection, since what it asks for lasts as long as a connection."""

    standing = True

    def __init__(
        self, method: str, params: JSONObject, deadline: Optional[float] = None,
        on_grant: Callable[[JSONObject], None] = lambda _: None,
        on_interrupt: Callable[[HeadgateError], None] = lambda _: None,
        on_end: Callable[[HeadgateError], None] = lambda _: None,
        further: Callable[[], List[Tuple[str, JSONObject]]] = lambda: [],
        on_late: Optional[Callable[[JSONObject], None]] = None, leave: Optional[Tuple[str, JSONObject]] = None,
    ) -> None:  # fmt: skip
        super().__init__(method, params, True, deadline)
        # Told of what is granted when nobody waits for it any more: it is to be given back.
        self.on_late = on_late
        # The call that gives it back, where that can be said before it is granted.
        self.leave = leave
        # Calls that go out in one piece with it; nobody waits for their answers.
        self.further = further
        self.on_grant = on_grant
        self.on_interrupt = on_interrupt
        self.on_end = on_end
        self.was_granted = False
        # Whether the daemon may have had it, on whichever connection.
        self.was_written = False

    @property
    def outlasts_conflict(self) -> bool:
        """Whether it is tried again: the daemon may not have noticed yet that the connection before is gone."""
        return self.was_granted


class _Ending(_Standing):
    """Takes away a barrier that stays when its connection is gone. On another one it is taken over first, since only its owner
    may: as one that holds nothing, and goes with that connection."""

    def __init__(self, id: str, is_held: Callable[[], bool], on_grant: Callable[[], None]) -> None:
        super().__init__(
            "barrier.unregister", {"id": id}, on_grant=lambda _: on_grant(),
            further=lambda: [] if self._is_held() else [("barrier.unregister", {"id": id})],
        )  # fmt: skip
        self._is_held = is_held
        self._conflicts = 0
        self.was_written = True  # as what it ends was

    @property
    def outlasts_conflict(self) -> bool:
        """Not for ever: somebody else may have taken it over."""
        self._conflicts += 1
        return self._conflicts < 10

    def encode(self) -> None:
        if not self._is_held():
            self.method = "barrier.register"
            self.params = {"id": self.params["id"], "state": "open", "scopes": []}
        super().encode()


def _line(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _depth(value: Any) -> int:
    """How deep arrays and objects are nested."""
    deepest, level = 0, [value]
    while level:
        containers = [item for item in level if isinstance(item, (dict, list, tuple))]
        deepest += 1 if containers else 0
        level = [inner for item in containers for inner in (item.values() if isinstance(item, dict) else item)]
    return deepest


class _Limits:
    """What the daemon takes at most. It answers a line beyond these without the request's id, so they are kept here."""

    def __init__(self, greeting: JSONObject) -> None:
        limits = greeting.get("limits")
        limits = limits if isinstance(limits, dict) else {}
        self.line_bytes = _whole(limits.get("max_line_bytes"), 1_048_576)
        self.depth = _whole(limits.get("max_depth"), 64)

    def fault(self, call: _Call) -> Optional[HeadgateError]:
        if len(call.line) - 1 > self.line_bytes:
            text = f"the message is longer than the {self.line_bytes} bytes that the daemon takes"
            return HeadgateError(-32000, text, "line_too_long")
        if _depth(call.params) + 1 > self.depth:
            return HeadgateError(-32000, f"nested deeper than the {self.depth} levels that the daemon takes", "limit")
        return None


def _whole(value: Any, usual: int) -> int:
    return value if type(value) is int else usual


# written by Tools/protocol: repeatable
_REPEATABLE = frozenset(
    "ping rpc.discover status barrier.list dispatcher.list queue.peek dead_letters.list config.get metrics event.trace client.list".split()
)
# end of what Tools/protocol has written


# MARK: The connection


class _Connection:
    """Decides when to connect, what to write, what to write again, and what becomes of every call.

    One thread does all input and output; it may be asked from any thread. Nothing that may be repeated is lost with a
    connection: it is written again on the next one, in the same order and under the same ids.
    """

    # idle: not connected, and nothing to send. greeting: the answer to `hello` is waited for. open: calls are written as
    # they come. draining: the daemon is about to close; what is written is still answered, nothing more is written.
    # waiting: for the next attempt to connect. closed: for good.

    LONGEST_ANSWER = 256 << 20
    CHUNK = 1 << 16

    def __init__(
        self, path: str, hello: JSONObject, options: Options, take_request: Callable[[int, str, Any, Any], None],
        take_change: Callable[[JSONObject], None],
    ) -> None:  # fmt: skip
        self.path, self.options = path, options
        self._hello = _line({"jsonrpc": "2.0", "id": 0, "method": "hello", "params": hello})
        self._take_request, self._take_change = take_request, take_change
        self.lock = threading.Condition(threading.RLock())
        self._phase = "idle"
        self._until = 0.0
        self._calls: Dict[int, _Call] = {}
        self._waiting: Deque[int] = collections.deque()
        self._postponed: List[Tuple[float, int]] = []
        self._held_bytes = 0
        self._unanswered, self._unanswered_bytes = 0, 0
        self._last_number = 0
        self._limits = _Limits({})
        self._failures, self._was_connected = 0, False
        self._patience: Optional[float] = None
        self._last_failure: Optional[HeadgateError] = None
        self._earliest: Optional[float] = None
        self._socket: Optional[socket.socket] = None
        self._generation = 0
        self._input, self._output = bytearray(), bytearray()
        self._told: Deque[Callable[[], None]] = collections.deque()
        self._wake_in: Optional[socket.socket] = None
        self._wake_out: Optional[socket.socket] = None
        self._is_woken = False
        self._thread: Optional[threading.Thread] = None
        self._listeners: List[Callable[[], None]] = []
        # Calls that were given up, and what gives back that which is granted to them on this connection.
        self._late: Dict[int, Callable[[JSONObject], None]] = {}
        self.on_fork: Callable[[], None] = lambda: None
        _connections.add(self)

    def _start(self) -> None:
        """Starts the thread when there is something to do: before that there is nothing that a fork could break."""
        if self._thread is None:
            self._wake_in, self._wake_out = socket.socketpair()
            self._wake_in.setblocking(False)
            self._wake_out.setblocking(False)
            self._is_woken = False
            self._thread = threading.Thread(target=self._run, args=(self._wake_in,), name="headgate-client", daemon=True)
            self._thread.start()

    def begin_anew(self) -> None:
        """In a process that was forked off: neither the thread nor the connection is this process's."""
        self.lock = threading.Condition(threading.RLock())
        self._disconnect()
        for end in (self._wake_in, self._wake_out):
            if end is not None:
                end.close()
        self._thread = None
        self._calls, self._waiting, self._postponed = {}, collections.deque(), []
        self._held_bytes, self._unanswered, self._unanswered_bytes = 0, 0, 0
        self._told.clear()
        self._listeners.clear()
        self._earliest, self._failures = None, 0
        if self._phase != "closed":
            self._rest()
        self.on_fork()

    # MARK: From any thread

    @property
    def is_closed(self) -> bool:
        return self._phase == "closed"

    @property
    def is_drained(self) -> bool:
        """Whether all calls but the standing ones are answered."""
        return all(call.standing for call in self._calls.values())

    @property
    def has_room(self) -> bool:
        return len(self._calls) < self.options.max_unanswered and self._held_bytes < self.options.max_unanswered_bytes

    def is_own_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def begin(self, call: _Call, wait_for_room: bool = False) -> None:
        """Makes a call; what comes of it is told to its future."""
        with self.lock:
            if wait_for_room:
                self._wait(lambda: self.has_room, call.deadline)
            if self._phase == "closed":
                raise HeadgateError.local("closed", "the client is closed")
            self._last_number += 1
            call.number = self._last_number
            call.encode()
            self._calls[call.number] = call
            self._held_bytes += len(call.line)
            self._waiting.append(call.number)
            if call.deadline is not None:
                self._earliest = call.deadline if self._earliest is None else min(self._earliest, call.deadline)
            if self._phase == "idle":
                self._seek()
            self._start()
            self._wake()

    def begin_if_room(self, call: _Call) -> bool:
        """Makes a call if there is room for it; never waits."""
        with self.lock:
            if not self.has_room:
                return False
            self.begin(call)
            return True

    def when_changed(self, listener: Callable[[], None]) -> None:
        """Calls once, when the next call has ended or the client is closed; with the lock, so it must not wait."""
        with self.lock:
            self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Does not call what has not been called yet."""
        with self.lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def _notify(self) -> None:
        self.lock.notify_all()
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def drain(self, deadline: Optional[float]) -> None:
        """Waits until all calls but the standing ones are answered."""
        with self.lock:
            moment = None if deadline is None else time.monotonic() + deadline
            self._wait(lambda: self.is_drained, moment)

    def _wait(self, condition: Callable[[], bool], moment: Optional[float]) -> None:
        if self.is_own_thread() and not condition():
            raise HeadgateError.local("misuse", "a callback of the client must not wait for the client")
        while not condition() and self._phase != "closed":
            left = None if moment is None else moment - time.monotonic()
            if left is not None and left <= 0:
                raise HeadgateError.local("timed_out", "no answer came in time")
            self.lock.wait(left)

    def abandon(self, call: _Call) -> None:
        """Waits no longer for a call. What it was granted, or may yet be, is given back."""
        with self.lock:
            self._give_up(call)
            self._remove(call)
            self._wake()

    def withdraw(self, call: _Standing) -> str:
        """Asks for it no more; who waits for it is told. Gives whether it was `granted` on the present connection, or is
        `asked` for there, or `nothing` of the kind."""
        with self.lock:
            held = "granted" if call.granted else "asked" if call.written else "nothing"
            self._note_late(call)
            if self._remove(call) and not call.was_granted:
                error = HeadgateError.local("closed", "it was taken back meanwhile")
                self._told.append(lambda: call.future.set_exception(error))
            self._wake()
            return held

    def _give_up(self, call: _Call) -> None:
        """At once, and before anything that is asked for later: the daemon does one after the other."""
        self._note_late(call)
        if isinstance(call, _Standing) and call.leave is not None and (call.written or call.granted):
            method, params = call.leave
            back = _Call(method, params, False, None)
            back.bound = True
            self.begin(back)

    def _note_late(self, call: _Call) -> None:
        """A call is given up: what the daemon may grant it all the same is given back."""
        if isinstance(call, _Standing) and call.on_late is not None and call.written:
            self._late[call.number] = call.on_late

    def restart(self, call: _Standing) -> None:
        """Makes a granted standing call anew."""
        with self.lock:
            if call.granted and call.number in self._calls:
                call.granted = False
                self._waiting.append(call.number)
                self._wake()

    def is_present(self) -> Callable[[], bool]:
        """Tells later whether the connection is still the one that it is now."""
        generation = self._generation
        return lambda: self._generation == generation and self._socket is not None

    def answer(self, generation: int, message: JSONObject) -> None:
        """Writes an answer to what the daemon asked, if it is still the connection on which it did."""
        line = _line({"jsonrpc": "2.0", **message})
        with self.lock:
            if generation == self._generation and self._phase in ("open", "draining"):
                self._output += line
                self._wake()

    def close(self) -> None:
        with self.lock:
            if self._phase != "closed":
                self._disconnect()
                self._fail_all(HeadgateError.local("closed", "the client is closed"))
                self._phase = "closed"
                self._notify()
                self._wake()
            thread = self._thread
        if thread is None:
            self._tell()
        elif not self.is_own_thread():
            thread.join()

    def _wake(self) -> None:
        if self._wake_out is not None and not self._is_woken and not self.is_own_thread():
            self._is_woken = True
            with contextlib.suppress(OSError):  # full is woken too
                self._wake_out.send(b"w")

    # MARK: The thread

    def _run(self, wake_in: socket.socket) -> None:
        while True:
            with self.lock:
                self._pass_time(time.monotonic())
                self._proceed()
                ended = self._phase == "closed"
                connection, timeout = self._socket, self._timeout()
                poll = select.poll()
                poll.register(wake_in, select.POLLIN)
                # With the lock: `close` may come from another thread.
                if connection is not None:
                    poll.register(connection, select.POLLIN | (select.POLLOUT if self._output else 0))
            if self._tell():
                continue
            if ended:
                break
            poll.poll(timeout)
            with self.lock:
                self._drain_wakes(wake_in)
                if connection is not None and connection is self._socket:
                    self._read(connection)
        with self.lock:
            wake_in.close()
            if self._wake_out is not None:
                self._wake_out.close()
            self._wake_out = None

    def _tell(self) -> bool:
        """Tells callers what came of their calls, outside the lock: they may call again in turn."""
        has_told = bool(self._told)
        while self._told:
            try:
                self._told.popleft()()
            except Exception:
                _log.exception("a callback failed")
        return has_told

    def _timeout(self) -> Optional[float]:
        moments = [moment for moment, _ in self._postponed]
        if self._earliest is not None:
            moments.append(self._earliest)
        if self._phase in ("greeting", "waiting"):
            moments.append(self._until)
        return max(0.0, min(moments) - time.monotonic()) * 1000 + 1 if moments else None

    def _drain_wakes(self, wake_in: socket.socket) -> None:
        self._is_woken = False
        with contextlib.suppress(OSError):
            while wake_in.recv(64):
                pass

    def _write(self) -> None:
        while self._output and self._socket is not None:
            try:
                sent = self._socket.send(self._output[: 1 << 20])
            except BlockingIOError:
                return
            except OSError:
                return  # reading finds out, after what the daemon has still said
            del self._output[:sent]

    def _read(self, connection: socket.socket) -> None:
        try:
            chunk = connection.recv(self.CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            return self._disconnected()
        start = len(self._input)
        self._input += chunk
        end = self._input.rfind(b"\n", start)
        if end < 0:
            if len(self._input) > self.LONGEST_ANSWER:
                self._got_nonsense(f"a line of more than {self.LONGEST_ANSWER} bytes")
            return
        lines = bytes(self._input[:end]).split(b"\n")
        del self._input[: end + 1]
        for line in lines:
            if connection is self._socket and line.strip(b" \t\r"):
                self._take_line(line)

    # MARK: What comes from the daemon

    def _take_line(self, line: bytes) -> None:
        try:
            message = json.loads(line.decode())
        except (ValueError, RecursionError):
            return self._got_nonsense("a line that is not JSON")
        for one in message if isinstance(message, list) and message else [message]:
            self._take(one)

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return self._got_nonsense("a line that is no message")
        method = message.get("method")
        if isinstance(method, str):
            return self._take_call(method, message)
        error = HeadgateError.read(message.get("error")) if "error" in message else None
        if "method" in message or ("error" in message) == ("result" in message) or ("error" in message and not error):
            return self._got_nonsense("a line that is no message")
        number = message.get("id")
        if number is None and error:
            return self._got_anonymous_error(error)
        if type(number) is not int:
            return self._got_nonsense("an answer to nothing that was asked")
        if number == 0:
            return self._greeting_refused(error) if error else self._greeted(message["result"])
        self._answered(number, message.get("result"), error)

    def _take_call(self, method: str, message: JSONObject) -> None:
        params = message.get("params")
        if "id" in message:
            return self._take_request(self._generation, method, message["id"], params)
        if method == "closing":
            self._closing()
        if method == "changed" and isinstance(params, dict):
            self._take_change(params)

    def _answered(self, number: int, result: Any, error: Optional[HeadgateError]) -> None:
        call = self._calls.get(number)
        if call is None or not call.written:
            give_back = self._late.pop(number, None)
            if give_back is not None and isinstance(result, dict):
                give_back(result)
            return  # nobody waits for it any more
        if error is not None:
            return self._refused(call, error)
        self._note_progress()
        if not isinstance(result, dict):
            return self._finish(call, HeadgateError.local("bad_answer", f"a result of {call.method} that is no object"))
        if not isinstance(call, _Standing):
            return self._finish(call, result)
        self._unmark(call)
        call.granted = True
        call.on_grant(result)
        if not call.was_granted:
            call.was_granted, call.deadline = True, None
            future = call.future
            self._told.append(lambda: future.set_result(result))

    def _refused(self, call: _Call, error: HeadgateError) -> None:
        if error.reason == "shutting_down" and call.repeatable:
            self._unmark(call)
            self._phase = "draining"
            return
        self._note_progress()
        if isinstance(call, _Standing) and error.reason == "conflict" and call.outlasts_conflict:
            self._unmark(call)
            self._postponed.append((time.monotonic() + self.options.backoff_cap, call.number))
            return
        self._finish(call, error)

    # MARK: Connecting

    def _seek(self) -> None:
        self._patience = self._end(
            self.options.reconnect_timeout if self._was_connected else self.options.connect_timeout
        )
        self._until, self._phase = 0.0, "waiting"

    def _attempt(self) -> None:
        if not self._calls:
            return self._rest()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            connection.connect(self.path)
        except OSError as error:
            connection.close()
            return self._could_not_connect(self._cannot_connect(_cause(error)))
        self._socket = connection
        self._generation += 1
        self._phase, self._until = "greeting", time.monotonic() + self.options.greeting_timeout
        self._output += self._hello

    def _cannot_connect(self, cause: str) -> HeadgateError:
        return HeadgateError.local("cannot_connect", f"cannot connect to {self.path}: {cause}")

    def _could_not_connect(self, error: HeadgateError) -> None:
        self._disconnect()
        self._last_failure = error
        self._retry()

    def _greeted(self, result: Any) -> None:
        if self._phase != "greeting":
            return
        self._limits = _Limits(result if isinstance(result, dict) else {})
        # The first connection has been made in time; later ones are another matter.
        if not self._was_connected:
            self._patience = None
        self._was_connected, self._last_failure, self._phase = True, None, "open"

    def _greeting_refused(self, error: HeadgateError) -> None:
        if self._phase != "greeting":
            return
        if error.reason == "shutting_down":
            return self._found_stopping(error.message)
        if error.reason == "limit":
            return self._could_not_connect(self._cannot_connect(error.message))
        self._disconnect()
        self._rest()
        self._fail_all(error)

    def _closing(self) -> None:
        if self._phase == "greeting":
            self._found_stopping("the daemon is stopping")
        elif self._phase == "open":
            self._phase = "draining"

    def _found_stopping(self, cause: str) -> None:
        """A daemon that stops was there: what waits for it waits as if it had been lost, for it may be restarting."""
        if not self._was_connected:
            self._patience = None
        self._was_connected = True
        self._could_not_connect(self._cannot_connect(cause))

    def _disconnected(self) -> None:
        if self._phase == "greeting":
            return self._could_not_connect(self._cannot_connect("the daemon closed the connection"))
        self._lose(HeadgateError.local("disconnected", "the connection broke before the answer came"))

    def _got_nonsense(self, text: str) -> None:
        """It cannot be told which call it is about, so all that are written end with it: to repeat them might bring the
        same for ever."""
        error = HeadgateError.local("bad_answer", f"not an answer of the protocol: {text}")
        if self._phase == "greeting":
            return self._could_not_connect(error)
        if self._phase in ("open", "draining"):
            for call in [call for call in self._calls.values() if call.written]:
                self._finish(call, error)
            self._lose(error)

    def _got_anonymous_error(self, error: HeadgateError) -> None:
        if self._phase == "greeting":
            return self._greeting_refused(error)
        self._got_nonsense(error.message)

    def _lose(self, error: HeadgateError) -> None:
        """The connection is gone: takes back what can be written again, in its order."""
        self._disconnect()
        self._last_failure = error
        for call in list(self._calls.values()):
            if isinstance(call, _Standing) and call.granted:
                call.granted = False
                call.on_interrupt(error)
            if call.bound or (call.written and not call.repeatable):
                self._finish(call, error)
            else:
                self._unmark(call)
        self._postponed.clear()
        self._waiting = collections.deque(sorted(self._calls))
        self._retry()

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._input.clear()
        self._output.clear()
        self._late.clear()

    def _retry(self) -> None:
        self._failures += 1
        if not self._calls:
            return self._rest()
        now = time.monotonic()
        if self._patience is None:
            self._patience = self._end(self.options.reconnect_timeout)
        if now >= self._patience:
            self._rest()
            error = self._last_failure or HeadgateError.local("disconnected", "there is no connection")
            return self._fail_all(error)
        # Somewhere in the upper half, so that those who lost the daemon together do not come back together.
        longest = min(self.options.backoff_cap, self.options.backoff_base * 2.0 ** min(self._failures - 1, 32))
        self._until, self._phase = min(now + longest * random.uniform(0.5, 1.0), self._patience), "waiting"

    def _rest(self) -> None:
        self._phase, self._patience = "idle", None

    def _end(self, patience: Optional[float]) -> float:
        return float("inf") if patience is None else time.monotonic() + patience

    def _note_progress(self) -> None:
        self._failures, self._patience = 0, None

    # MARK: Calls

    def _pass_time(self, now: float) -> None:
        if self._earliest is not None and self._earliest <= now:
            connected = self._phase in ("open", "draining")
            late = HeadgateError.local("timed_out", "no answer came in time")
            error = late if connected else self._last_failure or late
            for call in [call for call in self._calls.values() if call.deadline is not None and call.deadline <= now]:
                self._give_up(call)
                self._finish(call, error)
            moments = [call.deadline for call in self._calls.values() if call.deadline is not None]
            self._earliest = min(moments, default=None)
        self._waiting.extend(number for moment, number in self._postponed if moment <= now)
        self._postponed = [(moment, number) for moment, number in self._postponed if moment > now]
        if self._phase == "waiting" and self._until <= now:
            self._attempt()
        elif self._phase == "greeting" and self._until <= now:
            self._could_not_connect(self._cannot_connect("connected, but the daemon does not answer"))

    def _proceed(self) -> None:
        """Writes what there is room for, or ends a connection on which nothing more is to come."""
        if self._phase == "draining" and not self._unanswered:
            self._write()
            self._lose(HeadgateError.local("disconnected", "the connection broke before the answer came"))
        while self._phase == "open" and self._waiting and self._may_write:
            call = self._calls.get(self._waiting.popleft())
            if call is not None and not call.written and not call.granted:
                self._write_call(call)
        self._write()

    @property
    def _may_write(self) -> bool:
        options = self.options
        return self._unanswered < options.max_unanswered and self._unanswered_bytes < options.max_unanswered_bytes

    def _write_call(self, call: _Call) -> None:
        if call.standing:
            self._held_bytes -= len(call.line)
            call.encode()  # what it asks for may have changed meanwhile
            self._held_bytes += len(call.line)
        fault = self._limits.fault(call)
        if fault is not None:
            return self._finish(call, fault)
        call.written = True
        self._unanswered += 1
        self._unanswered_bytes += len(call.line)
        self._output += call.line
        if not isinstance(call, _Standing):
            return
        call.was_written = True
        for method, params in call.further():
            self._last_number += 1
            self._output += _line({"jsonrpc": "2.0", "id": self._last_number, "method": method, "params": params})

    def _unmark(self, call: _Call) -> None:
        if call.written:
            call.written = False
            self._unanswered -= 1
            self._unanswered_bytes -= len(call.line)

    def _remove(self, call: _Call) -> bool:
        """Gives whether it was there."""
        if self._calls.pop(call.number, None) is None:
            return False
        self._unmark(call)
        call.granted = False
        self._held_bytes -= len(call.line)
        # Calls that were given up while there is no daemon must not be remembered until there is one.
        if len(self._waiting) > 2 * len(self._calls) + 1024:
            self._waiting = collections.deque(number for number in self._waiting if number in self._calls)
        self._notify()
        return True

    def _finish(self, call: _Call, outcome: Union[JSONObject, HeadgateError]) -> None:
        self._remove(call)
        future = call.future
        if isinstance(call, _Standing) and isinstance(outcome, HeadgateError):
            call.on_end(outcome)
            if call.was_granted:
                return
        if isinstance(outcome, HeadgateError):
            error = outcome  # each caller gets one of its own: a traceback is written into it
            self._told.append(lambda: future.set_exception(_copy(error)))
        else:
            result = outcome
            self._told.append(lambda: future.set_result(result))

    def _fail_all(self, error: HeadgateError) -> None:
        for call in list(self._calls.values()):
            self._finish(call, error)


_connections: weakref.WeakSet[_Connection] = weakref.WeakSet()
_forking: List[_Connection] = []


def _before_fork() -> None:
    _id_lock.acquire()
    _forking.extend(_connections)
    for connection in _forking:
        connection.lock.acquire()


def _after_fork_in_parent() -> None:
    for connection in _forking:
        connection.lock.release()
    _forking.clear()
    _id_lock.release()


def _after_fork_in_child() -> None:
    global _last_id
    _last_id = (0, 0)  # counting on from the parent's last one might give the ids that it gives
    _id_lock.release()
    for connection in _forking:
        connection.begin_anew()
    _forking.clear()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)


def _copy(error: HeadgateError) -> HeadgateError:
    return HeadgateError(error.code, error.message, error.reason, error.path, error.data)


def _cause(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "there is no such socket"
    return os.strerror(error.errno) if error.errno else str(error)


# MARK: What the daemon asks of a client


class _Staff:
    """Threads that run a handler, apart from the client's own: a handler may take long, and may call the client."""

    def __init__(self, count: int, name: str) -> None:
        self._jobs: queue.SimpleQueue[Optional[Callable[[], None]]] = queue.SimpleQueue()
        self._count = count
        for _ in range(count):
            threading.Thread(target=self._run, name=name, daemon=True).start()

    def run(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)

    def dismiss(self) -> None:
        for _ in range(self._count):
            self._jobs.put(None)

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            try:
                job()
            except Exception:
                _log.exception("an answer could not be given")


class _Served:
    """A worker's subscription or a served board."""

    # Whether it is being given back: what comes until that is done is still handled.
    is_retired = False

    def __init__(self, standing: _Standing) -> None:
        self.standing = standing

    @property
    def leave(self) -> Tuple[str, JSONObject]:
        assert self.standing.leave is not None  # as _subscription and _serving make it
        return self.standing.leave

    def take(self, params: JSONObject, answer: Callable[[JSONObject], None]) -> None:
        """Handles what the daemon asks; the member `result` or `error` of the answer is told when there is one. On the
        connection's thread, with its lock."""
        raise NotImplementedError

    def dismiss(self) -> None:
        """Nothing more will come."""


class _Staffed(_Served):
    """One whose handler runs on threads of its own."""

    def __init__(self, standing: _Standing, handle: Callable[[JSONObject], JSONObject], threads: int, name: str) -> None:
        super().__init__(standing)
        self._handle = handle
        self._staff = _Staff(threads, name)

    def take(self, params: JSONObject, answer: Callable[[JSONObject], None]) -> None:
        self._staff.run(lambda: self._run(params, answer))

    def dismiss(self) -> None:
        self._staff.dismiss()

    def _run(self, params: JSONObject, answer: Callable[[JSONObject], None]) -> None:
        try:
            answer({"result": self._handle(params)})
        except Exception as error:
            answer(_failure(error))


def _failure(error: Exception) -> JSONObject:
    """The answer of a handler that failed."""
    _log.error("a handler failed", exc_info=error)
    return {"error": {"code": -32603, "message": f"{type(error).__name__}: {error}"}}


class _OwnBarrier:
    """A remote barrier as its owner has set it, to be registered so again on each connection (Behaviour B29)."""

    def __init__(self, params: JSONObject) -> None:
        self.params = params
        self.reason: Optional[str] = None
        self.exceptions: Dict[str, JSONObject] = {}
        self.standing: _Standing

    @property
    def is_ending(self) -> bool:
        return isinstance(self.standing, _Ending)

    @property
    def ends_with_connection(self) -> bool:
        return self.params.get("on_disconnect") in (None, "unregister")

    def apply(self, change: JSONObject) -> None:
        """Takes in a change as the daemon does: a new state takes back what was said before."""
        if "flushable" in change:
            self.params["flushable"] = change["flushable"]
        said: JSONObject = {key: change[key] for key in ("state", "reason") if key in change}
        if "dispatcher" in change:
            before: JSONObject = {} if "state" in said else self.exceptions.get(change["dispatcher"], {})
            if said:
                self.exceptions[change["dispatcher"]] = {**before, **said}
            return
        if "state" in said:
            self.params["state"], self.reason, self.exceptions = said["state"], None, {}
        self.reason = said.get("reason", self.reason)

    def further(self) -> List[Tuple[str, JSONObject]]:
        """The calls that follow the registration, since that cannot say it."""
        barrier = {"id": self.params["id"]}
        general = [] if self.reason is None else [{**barrier, "reason": self.reason}]
        changes = general + [{**barrier, "dispatcher": name, **said} for name, said in self.exceptions.items()]
        return [("barrier.set", change) for change in changes]


class Watch:
    """What happens in the daemon, as an iterator of `News`, until `close`. When the connection is lost it is made again,
    and the watch with it. A watch whose reader falls far behind begins again."""

    LONGEST_BACKLOG = 4096

    def __init__(self, client: Client, params: JSONObject) -> None:
        self._client = client
        self._news: Deque[News] = collections.deque()
        self._ended: Optional[HeadgateError] = None
        self._is_closed = False
        self._id: Optional[str] = None
        self._standing = _Standing(
            "watch", params, None, self._granted, self._interrupted, self._end, on_late=self._unwatch
        )

    def __iter__(self) -> Iterator[News]:
        return self

    def __next__(self) -> News:
        news = self.next()
        if news is None:
            raise StopIteration
        return news

    def next(self, deadline: Optional[float] = None) -> Optional[News]:
        """The next news; None when the watch was closed. Raises why it ended otherwise, or `timed_out`."""
        with self._lock:
            connection = self._client._connection
            moment = None if deadline is None else time.monotonic() + deadline
            connection._wait(lambda: self._is_readable, moment)
            return self._read()

    @property
    def _is_readable(self) -> bool:
        return bool(self._news or self._ended or self._is_closed)

    def _read(self) -> Optional[News]:
        if self._news:
            return self._news.popleft()
        if self._is_closed:
            return None
        raise _copy(self._ended or HeadgateError.local("closed", "the client is closed"))

    def close(self) -> None:
        """Ends the watch."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._news.clear()
            self._notify()
            self._client._watches.pop(self._id or "", None)
            if self._client._connection.withdraw(self._standing) == "granted":
                self._unwatch({"watch": self._id})

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _lock(self) -> threading.Condition:
        return self._client._connection.lock

    def _granted(self, result: JSONObject) -> None:
        if not isinstance(result.get("watch"), str):
            self._client._connection.abandon(self._standing)
            return self._end(HeadgateError.local("bad_answer", "a result of watch without its id"))
        id: str = result["watch"]
        self._id = id
        self._client._watches[id] = self
        self._add(News("began"))

    def _unwatch(self, granted: JSONObject) -> None:
        """The next connection gives the same ids again: it is not told."""
        self._client._tell("unwatch", {"watch": granted.get("watch")}, bound=True)

    def _interrupted(self, error: HeadgateError) -> None:
        self._client._watches.pop(self._id or "", None)
        self._add(News("interrupted", error=error))

    def _end(self, error: HeadgateError) -> None:
        self._client._watches.pop(self._id or "", None)
        self._ended = error
        self._notify()

    def _notify(self) -> None:
        """There is something to read, or nothing more will be. With the lock."""
        self._lock.notify_all()

    def _add(self, news: News) -> None:
        if len(self._news) < self.LONGEST_BACKLOG:
            self._news.append(news)
            return self._notify()
        self._news.clear()
        self._client._watches.pop(self._id or "", None)
        self._unwatch({"watch": self._id})
        self._client._connection.restart(self._standing)


# MARK: The client


class Client:
    """A client of the daemon; see the module. Failures are `HeadgateError`; arguments that are no JSON are `TypeError` or
    `ValueError`.

    As a context manager it waits at the end of the block until all is answered, then closes; after an exception it
    closes at once.
    """

    def __init__(
        self, name: str, version: str = "", *, socket_path: Optional[str] = None, namespace: Optional[str] = None,
        options: Options = Options(),
    ) -> None:  # fmt: skip
        """A client that connects when it is first called.

        name, version: the program's; together they are the events' `context.client`.
        socket_path: the daemon's socket; None looks in the usual places (`usual_socket`).
        namespace: in which ids are told apart (Behaviour Q7); None for that of the user.
        """
        self.socket_path = socket_path or usual_socket()
        hello: JSONObject = {"client": _given(name=name, version=version or None), "protocol": 1}
        if namespace is not None:
            hello["namespace"] = namespace
        self._watches: Dict[str, Watch] = {}
        self._barriers: Dict[str, _OwnBarrier] = {}
        self._workers: Dict[str, _Served] = {}
        self._boards: Dict[str, _Served] = {}
        self._status: Optional[_Standing] = None
        self._connection = _Connection(self.socket_path, hello, options, self._take_request, self._take_change)
        self._connection.on_fork = self._forget

    def _forget(self) -> None:
        """In a process that was forked off: what is served is the parent's."""
        for watch in list(self._watches.values()):
            watch._end(HeadgateError.local("closed", "the watch is the parent process's"))
        self._watches, self._barriers, self._workers, self._boards, self._status = {}, {}, {}, {}, None

    def close(self) -> None:
        """Closes the connection. Calls under way, and later ones, end with `closed`."""
        self._connection.close()
        for served in [*self._workers.values(), *self._boards.values()]:
            served.dismiss()
        self._workers, self._boards = {}, {}

    def drain(self, deadline: Optional[float] = None) -> None:
        """Waits until all calls are answered."""
        self._connection.drain(deadline)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        try:
            if kind is None:
                self.drain()
        finally:
            self.close()

    # MARK: Tracking

    def track(
        self, event: str, data: Optional[Mapping[str, Any]] = None, *, id: Optional[str] = None,
        key: Optional[str] = None, time: Optional[str] = None, dispatchers: Optional[Sequence[str]] = None,
        ttl_ms: Optional[int] = None, deadline: Optional[float] = None,
    ) -> Receipt:  # fmt: skip
        """Tracks an event, and waits until the daemon has acknowledged it: it is stored then (Behaviour P1)."""
        params = _given(event=event, data=data, id=id, key=key, time=time, dispatchers=dispatchers, ttl_ms=ttl_ms)
        return _receipt(self._wait_for(_Call("track", _with_id(params), True, deadline)))

    def track_soon(self, event: Event, deadline: Optional[float] = None) -> Future[Receipt]:
        """Tracks an event without waiting for its acknowledgement, which the future gets. Events keep the order of
        these calls. Waits only while too many are unanswered (`Options.max_unanswered`)."""
        call = _Call("track", _with_id(dict(event)), True, deadline)
        receipt: Future[Receipt] = Future()
        receipt.set_running_or_notify_cancel()
        call.future.add_done_callback(lambda answer: _pass_on(answer, _receipt, receipt))
        self._connection.begin(call, wait_for_room=True)
        return receipt

    def track_each(
        self, events: Iterable[Event], deadline: Optional[float] = None
    ) -> List[Union[Receipt, HeadgateError]]:
        """Tracks events each on its own, in their order, without waiting in between. Gives what came of each, in the
        same order; one that is refused does not hinder the others."""
        return [_outcome(receipt) for receipt in [self.track_soon(event, deadline) for event in events]]

    def track_many(self, events: Iterable[Event], deadline: Optional[float] = None) -> ManyReceipt:
        """Tracks events all together: all are stored, or none. They go in one message, which the daemon bounds."""
        params = {"events": [_with_id(dict(event)) for event in events]}
        return _many_receipt(self._wait_for(_Call("track_many", params, True, deadline)))

    # MARK: Looking and operating

    def call(
        self, method: str, params: Optional[Mapping[str, Any]] = None, deadline: Optional[float] = None
    ) -> JSONObject:
        """Calls any method. When the connection breaks, methods that change nothing are called again on the next one;
        others end with `disconnected` if they had been written."""
        return self._wait_for(_Call(method, dict(params or {}), method in _REPEATABLE, deadline))

    def flush(
        self, dispatchers: Optional[Sequence[str]] = None, *, wait: bool = False, timeout_ms: Optional[int] = None,
        flush: Optional[str] = None, deadline: Optional[float] = None,
    ) -> Flush:  # fmt: skip
        """Has dispatchers send what they have queued, through flushable barriers (Behaviour F1). With `wait` it tells how
        that ended. `flush` is an id to cancel it by."""
        params = _given(dispatchers=dispatchers, wait=wait or None, timeout_ms=timeout_ms, flush=flush)
        return _flush(self.call("flush", params, deadline), wait)

    def dispatchers(self, deadline: Optional[float] = None) -> List[Dispatcher]:
        """All dispatchers, with what they have done and what holds them."""
        found: List[Dispatcher] = _member(self.call("dispatcher.list", None, deadline), "dispatchers", list)
        return found

    def pause(
        self, dispatcher: str, reason: Optional[str] = None, flushable: bool = False, deadline: Optional[float] = None
    ) -> None:
        """Closes the way to a dispatcher by its ManualBarrier, which survives a restart (Behaviour B23)."""
        self.call("dispatcher.pause", _given(id=dispatcher, reason=reason, flushable=flushable or None), deadline)

    def resume(self, dispatcher: str, deadline: Optional[float] = None) -> None:
        self.call("dispatcher.resume", {"id": dispatcher}, deadline)

    def peek(
        self, dispatcher: str, limit: Optional[int] = None, after: Optional[int] = None,
        deadline: Optional[float] = None,
    ) -> QueuedEvents:  # fmt: skip
        """The next events of a dispatcher's queue, behind a sequence number if one is given."""
        result = self.call("queue.peek", _given(dispatcher=dispatcher, limit=limit, after=after), deadline)
        page: QueuedEvents = _page(result, "events")
        return page

    def purge(self, dispatcher: str, before_seq: Optional[int] = None, deadline: Optional[float] = None) -> int:
        """Empties a dispatcher's queue, up to a sequence number. Gives how many events went."""
        params = _given(dispatcher=dispatcher, before_seq=before_seq)
        return int(_member(self.call("queue.purge", params, deadline), "purged", int))

    def dead_letters(
        self, dispatcher: Optional[str] = None, limit: Optional[int] = None, after: Any = None,
        deadline: Optional[float] = None,
    ) -> DeadLetters:  # fmt: skip
        """A page of the dead letters (Behaviour D10)."""
        result = self.call("dead_letters.list", _given(dispatcher=dispatcher, limit=limit, after=after), deadline)
        page: DeadLetters = _page(result, "dead_letters")
        return page

    def requeue_dead_letters(
        self, dispatcher: Optional[str] = None, letters: Optional[Sequence[Any]] = None,
        deadline: Optional[float] = None,
    ) -> int:  # fmt: skip
        """Queues dead letters again under their ids; gives how many."""
        params = _given(dispatcher=dispatcher, letters=letters)
        return int(_member(self.call("dead_letters.requeue", params, deadline), "count", int))

    def purge_dead_letters(
        self, dispatcher: Optional[str] = None, letters: Optional[Sequence[Any]] = None,
        deadline: Optional[float] = None,
    ) -> int:  # fmt: skip
        """Throws dead letters away; gives how many."""
        params = _given(dispatcher=dispatcher, letters=letters)
        return int(_member(self.call("dead_letters.purge", params, deadline), "count", int))

    # written by Tools/protocol: calls
    def ping(self, deadline: Optional[float] = None) -> None:
        """Answers, and does nothing else."""
        self.call("ping", None, deadline)

    def discover(self, deadline: Optional[float] = None) -> JSONObject:
        """The protocol as the daemon describes it: an OpenRPC document."""
        return self.call("rpc.discover", None, deadline)

    def cancel_flush(self, flush: str, deadline: Optional[float] = None) -> None:
        """Ends a flush; what it did not send waits again. (`flush`: its id)"""
        self.call("flush.cancel", {"flush": flush}, deadline)

    def status(self, deadline: Optional[float] = None) -> JSONObject:
        """How things stand: what a person asks first."""
        return self.call("status", None, deadline)

    def config(self, layer: Optional[str] = None, deadline: Optional[float] = None) -> JSONObject:
        """The settings in force, or those of one layer; secrets are blanked. (`layer`: only what it says)"""
        return self.call("config.get", _given(layer=layer), deadline)

    def set_config(self, patch: Mapping[str, Any], persist: bool = False, deadline: Optional[float] = None) -> None:
        """Merges a patch into the programmatic layer; null removes. (`patch`: what is merged; `persist`: whether it
        outlives a restart)"""
        self.call("config.set", _given(patch=patch, persist=persist or None), deadline)

    def reload_config(self, deadline: Optional[float] = None) -> List[str]:
        """Reads the configuration file again. Gives the places that differ."""
        found: List[str] = _member(self.call("config.reload", None, deadline), "changed", list)
        return found

    def metrics(self, deadline: Optional[float] = None) -> List[Mapping[str, Any]]:
        """All that is counted and measured, as monitoring systems read it."""
        found: List[Mapping[str, Any]] = _member(self.call("metrics", None, deadline), "metrics", list)
        return found

    def event_trace(
        self, id: str, namespace: Optional[str] = None, deadline: Optional[float] = None
    ) -> List[Mapping[str, Any]]:
        """What has become of the event of an id, for each dispatcher that it is for. Gives the oldest first. (`id`: the
        id that was tracked; `namespace`: in which the id was given; the caller's when it is left out, any for `*`)"""
        found: List[Mapping[str, Any]] = _member(self.call("event.trace", _given(id=id, namespace=namespace), deadline), "events", list)
        return found

    def clients(self, deadline: Optional[float] = None) -> List[Mapping[str, Any]]:
        """Every connected client: what it sent, and why it is not read where it is not."""
        found: List[Mapping[str, Any]] = _member(self.call("client.list", None, deadline), "clients", list)
        return found
    # end of what Tools/protocol has written

    def watch(self, topics: Optional[Sequence[str]] = None, deadline: Optional[float] = None) -> Watch:
        """Watches what happens in the daemon; None is all there is. Returns when the watch has begun."""
        watch = Watch(self, _given(topics=topics))
        watch._standing.deadline = None if deadline is None else time.monotonic() + deadline
        self._wait_for(watch._standing)
        return watch

    def application_status(self, status: str, deadline: Optional[float] = None) -> None:
        """Announces `foreground`, `background` or `exiting` (Behaviour B26, F5). What was announced last is announced
        again on each connection, but for `exiting`."""
        self._wait_for(self._announcement(status, deadline))

    def _announcement(self, status: str, deadline: Optional[float]) -> _Call:
        params = {"status": status}
        with self._connection.lock:
            earlier, self._status = self._status, None
            if earlier is not None:
                self._connection.withdraw(earlier)
            if status == "exiting":
                return _Call("application.status", params, False, deadline)
            self._status = _Standing("application.status", params, deadline)
            return self._status

    # MARK: Barriers

    def barriers(self, deadline: Optional[float] = None) -> List[Barrier]:
        """All barriers, with what they hold and why (Behaviour B10)."""
        found: List[Barrier] = _member(self.call("barrier.list", None, deadline), "barriers", list)
        return found

    def register_barrier(
        self, id: str, state: str, *, scopes: Union[str, Sequence[str], None] = None, flushable: Optional[bool] = None,
        on_disconnect: Optional[str] = None, deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Registers a barrier of this client's (Behaviour B29). It is registered again on each connection, as it was set
        last."""
        params = _given(id=id, state=state, scopes=scopes, flushable=flushable, on_disconnect=on_disconnect)
        self._wait_for(self._registration(params, deadline))

    def _registration(self, params: JSONObject, deadline: Optional[float]) -> _Standing:
        barrier = _OwnBarrier(params)
        barrier.standing = _Standing(
            "barrier.register", params, deadline, on_end=lambda _: self._drop(barrier), further=barrier.further
        )
        with self._connection.lock:
            earlier = self._barriers.get(params["id"])
            if earlier is not None:
                self._connection.withdraw(earlier.standing)
            self._barriers[params["id"]] = barrier
        return barrier.standing

    def set_barrier(
        self, id: str, state: Optional[str] = None, *, flushable: Optional[bool] = None,
        dispatcher: Optional[str] = None, reason: Optional[str] = None, deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Changes a barrier of this client's, for all its scopes or for one dispatcher."""
        change = _given(id=id, state=state, flushable=flushable, dispatcher=dispatcher, reason=reason)
        call, undo = self._begin_change(change, deadline)
        try:
            self._wait_for_begun(call)
        except HeadgateError as error:
            undo(error)
            raise

    def _begin_change(
        self, change: JSONObject, deadline: Optional[float]
    ) -> Tuple[_Call, Callable[[HeadgateError], None]]:
        """Begins to set a barrier; what it gives besides is to be told of a failure."""
        with self._connection.lock:
            barrier = self._barriers.get(change["id"])
            if barrier is not None and barrier.is_ending:
                barrier = None
            # Before it is sent: a connection that breaks meanwhile must not bring the old state back.
            if barrier is not None:
                barrier.apply(change)
            call = _Call("barrier.set", change, barrier is not None, deadline)
            self._connection.begin(call)

        def undo(error: HeadgateError) -> None:
            if barrier is not None and error.code and "dispatcher" in change:
                barrier.exceptions.pop(change["dispatcher"], None)

        return call, undo

    def unregister_barrier(self, id: str, force: bool = False, deadline: Optional[float] = None) -> None:
        """Takes a barrier away; with `force` that of another owner as well. One that stays when its connection is gone is
        taken away as soon as there is a connection again, also behind the deadline."""
        held, ending = self._let_go(id)
        if ending is None:
            return self._leave("barrier.unregister", _given(id=id, force=force or None), held, deadline)
        if self._connection.is_own_thread():
            raise HeadgateError.local("misuse", "a callback of the client must not wait for the client")
        try:
            ending.future.result(deadline)
        except concurrent.futures.TimeoutError:
            raise HeadgateError.local("timed_out", "no answer came in time") from None
        except HeadgateError as error:
            if not _is_gone(error):
                raise

    def _let_go(self, id: str) -> Tuple[str, Optional[_Ending]]:
        """Registers a barrier no more; gives what the daemon has of it, and what takes away one that stays."""
        with self._connection.lock:
            barrier = self._barriers.get(id)
            if barrier is None:
                return "another's", None
            former = barrier.standing
            held = self._connection.withdraw(former)
            if barrier.ends_with_connection or not former.was_written:
                self._drop(barrier)
                return held, None
            return held, self._begin_ending(id, barrier, held)

    def _begin_ending(self, id: str, barrier: _OwnBarrier, held: str) -> _Ending:
        is_held = (lambda: False) if held == "nothing" else self._connection.is_present()
        ending = _Ending(id, is_held, on_grant=lambda: self._end(barrier))
        # Where only this side gave up, whoever takes it away again does so in the same way.
        ending.on_end = lambda error: self._drop(barrier) if error.code else None
        barrier.standing = ending
        self._connection.begin(ending)
        return ending

    def _end(self, barrier: _OwnBarrier) -> None:
        self._connection.abandon(barrier.standing)
        self._drop(barrier)

    def _drop(self, barrier: _OwnBarrier) -> None:
        if self._barriers.get(barrier.params["id"]) is barrier:
            del self._barriers[barrier.params["id"]]

    # MARK: Workers and boards

    def subscribe(
        self, dispatcher: str, work: Work, *, credit: int = 1, limit: Optional[int] = None,
        deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Delivers a worker dispatcher's batches (Behaviour K3), up to `credit` at once, each on a thread of its own."""
        params = _given(id=dispatcher, credit=credit if credit != 1 else None, limit=limit)
        standing = _subscription(params, deadline)
        served = _Staffed(standing, lambda params: _outcomes(work(_batch(params))), max(1, credit), "headgate-worker")
        self._serve(self._workers, dispatcher, served)

    def unsubscribe(self, dispatcher: str, deadline: Optional[float] = None) -> None:
        """Takes no more batches; returns when those that are here are settled."""
        self._stop_serving(self._workers, dispatcher, deadline)

    def serve_board(
        self, board: str, run: Run, *, barrier: Optional[Mapping[str, Any]] = None, bypass_gateway: bool = False,
        threads: int = 1, deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Serves a board (Behaviour A1), up to `threads` activations at once."""
        params = _given(board=board, barrier=barrier, bypass_gateway=bypass_gateway or None)
        standing = _serving(params, deadline)
        served = _Staffed(standing, lambda params: _run(run, params), max(1, threads), "headgate-board")
        self._serve(self._boards, board, served)

    def unserve_board(self, board: str, deadline: Optional[float] = None) -> None:
        self._stop_serving(self._boards, board, deadline)

    def activate(
        self, board: str, input: Any = None, *, mainboard: Optional[str] = None, timeout_ms: Optional[int] = None,
        wait_ms: Optional[int] = None, deadline: Optional[float] = None,
    ) -> JSONObject:  # fmt: skip
        """Activates a board, and gives its `done` and `output`. A barrier that refuses it is the error `cancelled`."""
        params = _given(board=board, input=input, mainboard=mainboard, timeout_ms=timeout_ms, wait_ms=wait_ms)
        return self.call("board.activate", params, deadline)

    def _serve(self, table: Dict[str, _Served], name: str, served: _Served) -> None:
        end = self._enter(table, name, served)
        try:
            self._wait_for(served.standing)
        except BaseException:
            end()
            raise

    def _enter(self, table: Dict[str, _Served], name: str, served: _Served) -> Callable[[], None]:
        """From now on it is served, until what is given is called, or the daemon refuses it."""

        def end(_: HeadgateError) -> None:
            if table.get(name) is served:
                del table[name]
            served.dismiss()

        served.standing.on_end = end
        with self._connection.lock:
            earlier = table.get(name)
            if earlier is not None:
                served.dismiss()
                raise HeadgateError.local("misuse", f"{name} is served by this client already")
            table[name] = served

        def leave() -> None:
            with self._connection.lock:
                self._connection.abandon(served.standing)
                end(HeadgateError.local("closed", ""))

        return leave

    def _stop_serving(self, table: Dict[str, _Served], name: str, deadline: Optional[float]) -> None:
        served, held = self._retire(table, name)
        try:
            self._leave(*served.leave, held, deadline)
        finally:
            self._part(table, name, served)

    def _retire(self, table: Dict[str, _Served], name: str) -> Tuple[_Served, str]:
        """It is asked for no more, and what is under way still handled; gives what the daemon has of it."""
        with self._connection.lock:
            served = table.get(name)
            if served is None or served.is_retired:
                raise HeadgateError(-32000, f"{name} is not served by this client", "not_found")
            served.is_retired = True
            return served, self._connection.withdraw(served.standing)

    def _part(self, table: Dict[str, _Served], name: str, served: _Served) -> None:
        with self._connection.lock:
            if table.get(name) is served:
                del table[name]
        served.dismiss()

    def _take_request(self, generation: int, method: str, id: Any, params: Any) -> None:
        """The daemon asks something. On the connection's thread, with its lock."""
        table = {"dispatch": (self._workers, "dispatcher"), "board.run": (self._boards, "board")}.get(method)
        refusal: JSONObject
        if table is None:
            refusal = {"code": -32601, "message": f"there is no method {method}"}
        elif not isinstance(params, dict) or not isinstance(params.get(table[1]), str):
            refusal = {"code": -32602, "message": f"{table[1]} is missing", "data": {"path": table[1]}}
        elif params[table[1]] not in table[0]:
            refusal = {"code": -32000, "message": "this client does not serve it", "data": {"reason": "not_found"}}
        else:
            connection = self._connection
            return table[0][params[table[1]]].take(params, lambda said: connection.answer(generation, {"id": id, **said}))
        self._connection.answer(generation, {"id": id, "error": refusal})

    def _take_change(self, params: JSONObject) -> None:
        watch = self._watches.get(str(params.get("watch")))
        if watch is not None:
            watch._add(News("changed", params))

    # MARK: Calls

    def _wait_for(self, call: _Call) -> JSONObject:
        self._connection.begin(call)
        return self._wait_for_begun(call)

    def _wait_for_begun(self, call: _Call) -> JSONObject:
        if self._connection.is_own_thread():
            self._connection.abandon(call)
            raise HeadgateError.local("misuse", "a callback of the client must not wait for the client")
        try:
            return call.future.result()
        except KeyboardInterrupt:
            self._connection.abandon(call)
            raise

    def _tell(self, method: str, params: JSONObject, bound: bool = False) -> None:
        """A call of which nobody waits to hear."""
        call = _Call(method, params, False, None)
        call.bound = bound
        with contextlib.suppress(HeadgateError):
            self._connection.begin(call)

    def _leave(self, method: str, params: JSONObject, held: str, deadline: Optional[float]) -> None:
        """Gives back what the daemon has, or is about to grant: it does one after the other."""
        call = _leaving(method, params, held, deadline)
        if call is None:
            return
        try:
            self._wait_for(call)
        except HeadgateError as error:
            if not _is_left(held, error):
                raise


def _leaving(method: str, params: JSONObject, held: str, deadline: Optional[float]) -> Optional[_Call]:
    """The call that gives back; None if there is nothing. What ended with its connection is not given back on another."""
    call = _Call(method, params, False, deadline)
    call.bound = held != "another's"
    return None if held == "nothing" else call


def _is_left(held: str, error: HeadgateError) -> bool:
    """Whether the daemon does not have it, although it did not say so: the connection is gone, and what was granted on it, or
    it was only asked for, and refused like this."""
    if held == "another's":
        return False
    return error.reason in ("disconnected", "shutting_down") or (held == "asked" and error.code != 0)


def _is_gone(error: HeadgateError) -> bool:
    """Whether the daemon does not have a barrier that it was to take away: it says so, or had no room for it."""
    return error.code != 0 and error.reason not in ("conflict", "unauthorized")


def _subscription(params: JSONObject, deadline: Optional[float]) -> _Standing:
    leave = ("dispatcher.unsubscribe", {"id": params["id"]})
    return _Standing("dispatcher.subscribe", params, deadline, leave=leave)


def _serving(params: JSONObject, deadline: Optional[float]) -> _Standing:
    return _Standing("board.serve", params, deadline, leave=("board.unserve", {"board": params["board"]}))


def _given(**members: Any) -> JSONObject:
    return {name: value for name, value in members.items() if value is not None}


def _with_id(params: JSONObject) -> JSONObject:
    return params if params.get("id") is not None else {**params, "id": new_id()}


def _member(result: JSONObject, name: str, kind: type) -> Any:
    value = result.get(name)
    if type(value) is not kind:
        raise HeadgateError.local("bad_answer", f"a result without {name}")
    return value


def _receipt(result: JSONObject) -> Receipt:
    id = _member(result, "id", str)
    return Receipt(id, result.get("seq"), result.get("duplicate") is True, result.get("unrouted") is True)


def _many_receipt(result: JSONObject) -> ManyReceipt:
    return ManyReceipt(
        _member(result, "ids", list), result.get("first_seq"), result.get("last_seq"), result.get("duplicates", 0),
        result.get("unrouted", 0),
    )  # fmt: skip


def _flush(result: JSONObject, wait: bool) -> Flush:
    if wait and result.get("ended") not in ("settled", "timeout", "cancelled"):
        raise HeadgateError.local("bad_answer", "a flush that did not end in a known way")
    answer: Flush = {"flush": result.get("flush", "")}
    if wait:
        answer["ended"], answer["dispatchers"] = result["ended"], result.get("dispatchers", {})
    return answer


def _page(result: JSONObject, name: str) -> Any:
    return {name: _member(result, name, list), "next": result.get("next")}


def _pass_on(answer: Future[JSONObject], read: Callable[[JSONObject], Answer], to: Future[Answer]) -> None:
    try:
        result = read(answer.result())
    except HeadgateError as error:
        to.set_exception(error)
    else:
        to.set_result(result)


def _outcome(answer: Future[Receipt]) -> Union[Receipt, HeadgateError]:
    try:
        return answer.result()
    except HeadgateError as error:
        return error


_OUTCOMES: Set[str] = {"delivered", "retry", "dead"}


def _batch(params: JSONObject) -> Batch:
    return Batch(params["dispatcher"], params["batch"], params.get("attempt", 1), params["events"])


def _outcomes(outcomes: Optional[Mapping[str, str]]) -> JSONObject:
    if not outcomes:
        return {}
    unknown = set(outcomes.values()) - _OUTCOMES
    if unknown:
        raise ValueError(f"not an outcome: {sorted(map(str, unknown))[0]}")
    return {"outcomes": dict(outcomes)}


def _activation(params: JSONObject) -> Activation:
    return Activation(
        params["board"], params["activation"], params.get("input"), params.get("mainboard"),
        params.get("as_barrier") is True,
    )  # fmt: skip


def _done(output: Any) -> JSONObject:
    return {"done": True} if output is None else {"done": True, "output": output}


def _run(run: Run, params: JSONObject) -> JSONObject:
    try:
        return _done(run(_activation(params)))
    except Refused:
        return {"done": False}
