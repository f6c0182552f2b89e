"""A client of Headgate, the local event-delivery daemon. One file, the standard library only.

    with headgate.Client("shop", "2.1") as client:
        client.track("signup", {"plan": "free"})

All calls of a client share one connection, made when it is first needed and again whenever it is lost. Every event gets
an id before it is sent, and is sent under this id until it is acknowledged: a restart of the daemon loses none and
stores none twice (Behaviour Q7). A call waits 10 s for the first connection, and without an end after a lost one, unless the
options or a `deadline` say otherwise. An error that waiting does not cure (no permission for the socket, a path that is too
long) is raised at once.

A client may be used by any number of threads. Deadlines are seconds; a member whose name ends in `_ms` goes to the daemon
unchanged. In a forked process a client makes a connection of its own: unanswered calls and services stay with the parent.
A program that ends without closing its client waits a short time for its events, and logs the number of those that are left.

`headgate.aio` is the client for asyncio, and `headgate.logs` has a handler for logging.
"""

from __future__ import annotations

import atexit
import collections
import collections.abc
import concurrent.futures
import contextlib
import datetime
import decimal
import errno
import functools
import importlib
import itertools
import json
import logging
import os
import queue
import random
import re
import secrets
import select
import socket
import sys
import threading
import time
import uuid
import weakref
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple
from typing import TypedDict, TypeVar, Union

__all__ = [
    "Activation", "Barrier", "Batch", "Client", "DeadLetter", "DeadLetters", "Dispatcher", "Event", "Flush",
    "FlushPart", "HeadgateError", "ManyReceipt", "News", "Options", "Receipt", "Refused", "Watch", "new_id",
    "__version__", "default_socket",
]  # fmt: skip

__version__ = "0.2.0"

JSONObject = Dict[str, Any]
Answer = TypeVar("Answer")

_log = logging.getLogger("headgate")

# MARK: The public interface


class HeadgateError(Exception):
    """The error of a call.

    `code` is JSON-RPC's, -32000 for the daemon's own refusals, or 0 for an error of the client. `reason` is the machine-readable
    reason, None for JSON-RPC's own errors: the protocol's for a refusal, else `cannot_connect`,
    `disconnected`, `timed_out`, `buffer_full`, `closed`, `bad_answer` or `misuse`. `timed_out` is a call that was not answered
    in time; `buffer_full` is one for which there was no room, so that the daemon never saw it. `path` is the path of the
    wrong parameter.
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

    def __reduce__(self) -> Tuple[Any, ...]:
        """Makes the error picklable, as `multiprocessing` needs it."""
        return HeadgateError, (self.code, self.message, self.reason, self.path, self.data)

    @staticmethod
    def local(reason: str, message: str) -> HeadgateError:
        return HeadgateError(0, message, reason)

    @staticmethod
    def read(error: Any) -> Optional[HeadgateError]:
        """Reads the member `error` of an answer. Returns None if it is no JSON-RPC error."""
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
    """The options of a client. Times are seconds; None is no limit."""

    connect_timeout: Optional[float] = 10.0
    """The longest wait of a call for the first connection. One attempt is always made; 0 allows no other. A daemon that is
    found stopping counts as a lost connection."""
    reconnect_timeout: Optional[float] = None
    """The longest wait of calls after a lost connection; 0 does not wait."""
    close_timeout: Optional[float] = 5.0
    """The longest wait of `close`, and of the end of a program that did not close its client, for acknowledgements of tracked
    events and for running handlers."""
    greeting_timeout: Optional[float] = 10.0
    """The longest wait for the answer to `hello`."""
    max_unanswered: int = 16_384
    """The greatest number of unanswered calls."""
    max_unanswered_bytes: int = 8 << 20
    """The greatest number of unanswered bytes. One call is always let through."""
    backoff_base: float = 0.05
    """The approximate first wait between two attempts to connect; each later one is twice as long."""
    backoff_cap: float = 5.0
    """The longest wait between two attempts to connect, and the wait before something that was refused on a later
    connection is requested again."""
    on_state: Optional[Callable[[str, Optional[HeadgateError]], None]] = None
    """A function that is called with each change of the connection's state, on the client's thread: it must not wait for the client.
    The state is `connected`, `disconnected` (with the reason in the error) or `closed`."""


class _EventName(TypedDict):
    event: str


class Event(_EventName, total=False):
    """An event to be tracked: the params of `track`."""

    data: Mapping[str, Any]
    id: str
    key: str
    time: Union[str, datetime.datetime]
    dispatchers: Sequence[str]
    ttl_ms: int


@dataclass(frozen=True)
class Receipt:
    """The daemon's answer that an event is stored (Behaviour P1), or need not be stored."""

    id: str
    seq: Optional[int]
    """The event's number in the daemon's order of receipt; None if the event is unrouted."""
    duplicate: bool
    """True if the daemon had stored this id before: by this call's first attempt, or by another event with the same id. That event
    may since have been delivered or purged, or have become a dead letter."""
    unrouted: bool
    """True if no dispatcher accepts the event, so that it is not stored."""


@dataclass(frozen=True)
class ManyReceipt:
    """The receipt of events that are stored together."""

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
    """The result of a flush. Its end is there only if the call waited for it."""

    ended: str
    dispatchers: Dict[str, FlushPart]


class Barrier(TypedDict, total=False):
    """A barrier, as `barrier.list` returns it."""

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
    """A dispatcher, as `dispatcher.list` returns it."""

    id: str
    kind: str
    state: str
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
    """A dead letter, as `dead_letters.list` returns it."""

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
    """A page of dead letters. `next` is the argument `after` for the next page."""

    dead_letters: List[DeadLetter]
    next: Any


class QueuedEvents(TypedDict, total=False):
    """A page of pending events. `next` is the argument `after` for the next page."""

    events: List[JSONObject]
    next: Optional[int]


@dataclass(frozen=True)
class Batch:
    """A batch of events that a worker delivers."""

    dispatcher: str
    batch: str
    attempt: int
    events: List[JSONObject]


@dataclass(frozen=True)
class Activation:
    """An activation of a board, which its handler runs."""

    board: str
    activation: str
    input: Any
    mainboard: Optional[str]
    as_barrier: bool


@dataclass(frozen=True)
class News:
    """An item of a watch. `began`: the present state follows as changes, and replaces the state known before.
    `changed`: the params of the notification are in `change`. `interrupted`: the connection is gone, for the reason in
    `error`; the watch begins again on the next one."""

    kind: str
    change: JSONObject = field(default_factory=dict)
    error: Optional[HeadgateError] = None


Work = Callable[[Batch], Optional[Mapping[str, str]]]
"""Delivers a batch. Returns the outcomes (`delivered`, `retry`, `dead`) by event id. Events that it does not
name, or all if it returns None, are delivered. If it raises, the daemon sends all of them again."""

Choose = Callable[[Any], Optional[Mapping[str, Any]]]
"""Chooses the barrier of one activation by its input, in the form that `serve_board` takes, or None for no barrier (Behaviour A2)."""

Run = Callable[[Activation], Any]
"""Runs a board, and returns its output, or None. Raises `Refused` if the board is not done. Any other exception is an error."""


def default_socket(environment: Optional[Mapping[str, str]] = None) -> str:
    """The path of the daemon's socket if the program names none: `$HEADGATE_SOCKET`, else below `$XDG_RUNTIME_DIR`, else below
    `/run`. An empty variable counts as not set, and so does a relative `XDG_RUNTIME_DIR`. If that variable is set,
    but the user has no daemon there, the path is that of the machine's daemon."""
    variables = os.environ if environment is None else environment
    path = variables.get("HEADGATE_SOCKET")
    if path:
        return path
    directories = [variables.get("XDG_RUNTIME_DIR", ""), "/run"]
    folders = [f"{directory}/headgate" for directory in directories if directory.startswith("/")]
    return next(filter(os.path.isdir, folders), folders[0]) + "/headgate.sock"


_last_id = (0, 0)
# Reentrant: the handler of a signal may need an id while this thread is making one.
_id_lock = threading.RLock()


def new_id() -> str:
    """Returns a UUIDv7 (RFC 9562) that is greater than all earlier ones of this process."""
    global _last_id
    with _id_lock:
        while True:
            before = _last_id
            moment, low = max(time.time_ns() // 1_000_000, before[0]), secrets.randbits(73)
            # Within one millisecond the 74 bits after the time count on. A new id has 0 in the first of them, to prevent an overflow.
            if moment == before[0]:
                low = before[1] + 1 + secrets.randbits(32)
            if _last_id is before:  # otherwise a signal's handler made one meanwhile
                _last_id = (moment, low)
                break
    number = (moment & (1 << 48) - 1) << 80 | 7 << 76 | (low >> 62 & 0xFFF) << 64 | 2 << 62 | low & (1 << 62) - 1
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


# MARK: Calls


class _Call:
    """A request that is neither answered nor cancelled. Its number is the request's id on every connection."""

    def __init__(
        self, method: str, params: JSONObject, repeatable: bool, deadline: Optional[float],
        on_grant: Callable[[JSONObject], None] = lambda _: None,
        on_late: Optional[Callable[[JSONObject], None]] = None,
    ) -> None:  # fmt: skip
        self.method = method
        self.params = params
        self.repeatable = repeatable
        self.deadline = _moment(deadline)
        # Called with the result under the connection's lock, before the future gets it.
        self.on_grant = on_grant
        # Called with a result that comes when the caller no longer waits.
        self.on_late = on_late
        self.number = 0
        self.line = b""
        self.written = False
        self.future: Future[JSONObject] = Future()
        # Keeps the future from being cancelled: a written call cannot be withdrawn.
        self.future.set_running_or_notify_cancel()

    standing = False
    granted = False

    @property
    def events(self) -> int:
        """The number of events that the call tracks."""
        return 1 if self.method == "track" else len(self.params["events"]) if self.method == "track_many" else 0

    # True if the call is valid on the present connection only.
    bound = False

    def encode(self) -> None:
        message = {"jsonrpc": "2.0", "id": self.number, "method": self.method, "params": self.params}
        self.line = _line(message)


class _Standing(_Call):
    """A call that is repeated on each connection, because its effect lasts as long as a connection."""

    standing = True

    def __init__(
        self, method: str, params: JSONObject, deadline: Optional[float] = None, *, about: str = "",
        on_grant: Callable[[JSONObject], None] = lambda _: None,
        on_interrupt: Callable[[HeadgateError], None] = lambda _: None,
        on_end: Callable[[HeadgateError], None] = lambda _: None,
        further: Callable[[], List[Tuple[str, JSONObject]]] = lambda: [],
        on_late: Optional[Callable[[JSONObject], None]] = None, leave: Optional[Tuple[str, JSONObject]] = None,
        on_give_up: Optional[Callable[[], None]] = None,
    ) -> None:  # fmt: skip
        # on_late is called with a grant that comes after the call was cancelled, and ends it at the daemon.
        super().__init__(method, params, True, deadline, on_grant, on_late)
        # The call's name in log lines.
        self.about = about or method
        # The method and params that end the call's effect at the daemon, if known before the grant.
        self.leave = leave
        # A function that ends the call's effect at the daemon if one call cannot.
        self.on_give_up = on_give_up
        # Calls that are written in one piece with this one; their answers are ignored.
        self.further = further
        self.on_interrupt = on_interrupt
        self.on_end = on_end
        self.was_granted = False
        # True if the daemon refused it on this connection, which was logged.
        self.is_refused = False
        # True if the daemon may have had the call, on any connection.
        self.was_written = False

    def outlasts(self, error: HeadgateError) -> bool:
        """Returns true if the call is repeated after this refusal. A call that was granted before is: the daemon may not have noticed
        yet that the earlier connection is gone, or a dispatcher may not exist yet."""
        return self.was_granted


class _Ending(_Standing):
    """Removes a barrier that outlives its connection. Only its owner may remove a barrier, so another connection first takes it
    over, as one that blocks nothing and ends with that connection."""

    def __init__(self, id: str, is_held: Callable[[], bool], on_grant: Callable[[], None]) -> None:
        super().__init__(
            "barrier.unregister", {"id": id}, on_grant=lambda _: on_grant(),
            further=lambda: [] if self._is_held() else [("barrier.unregister", {"id": id})],
        )  # fmt: skip
        self._is_held = is_held
        self._conflicts = 0
        self.was_written = True  # because the registration that it ends was written

    def outlasts(self, error: HeadgateError) -> bool:
        """Returns true for the first conflicts only: another client may have taken the barrier over."""
        self._conflicts += 1
        return error.reason == "conflict" and self._conflicts < 10

    def encode(self) -> None:
        if not self._is_held():
            self.method = "barrier.register"
            self.params = {"id": self.params["id"], "state": "open", "scopes": []}
        super().encode()


_MARK = "headgate-" + secrets.token_hex(8) + "-"
_MARKED = re.compile(f'"{_MARK}(\\d+)"')


def _line(message: Any) -> bytes:
    """Returns the line of a message. A lone surrogate is written as its JSON escape."""
    numbers: List[str] = []

    def plain(value: Any) -> Any:
        if isinstance(value, decimal.Decimal):
            if not value.is_finite():
                raise ValueError(f"JSON has no number for {value}")
            # Keeps all digits of the number, as no JSON type does: it replaces the mark below.
            numbers.append(str(value))
            return f"{_MARK}{len(numbers) - 1}"
        return _plain(value)

    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)
    if numbers:
        text = _MARKED.sub(lambda match: numbers[int(match[1])], text)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _plain(value: Any) -> Any:
    """Returns the JSON value for a value that `json` does not know."""
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    raise TypeError(f"JSON cannot represent a {type(value).__name__}")


def _parse(text: str) -> Any:
    """Returns the message of a line."""
    try:
        return json.loads(text)
    except ValueError:
        # The line has an integer with more digits than Python converts.
        return json.loads(text, parse_int=_whole_number)


def _as_it_is(params: JSONObject) -> JSONObject:
    """Returns a copy of params for later connections, so that the program's changes do not matter."""
    copy: JSONObject = _parse(_line(params).decode())
    return copy


def _whole_number(digits: str) -> Any:
    try:
        return int(digits)
    except ValueError:
        return decimal.Decimal(digits)


_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _is_deeper(line: bytes, limit: int) -> bool:
    """Returns true if arrays and objects of a JSON text are nested deeper than the limit."""
    if line.count(b"[") + line.count(b"{") <= limit:
        return False
    level = 0
    for bracket in _STRINGS.sub(b"", line).translate(None, _NO_BRACKETS):
        level += 1 if bracket in b"[{" else -1
        if level > limit:
            return True
    return False


def _moment(deadline: Optional[float]) -> Optional[float]:
    """Returns the moment of a deadline in seconds from now."""
    if deadline is None:
        return None
    if deadline != deadline:
        raise ValueError("a deadline that is not a number")
    return time.monotonic() + float(deadline)


# Keeps a write from raising SIGPIPE, which ends a program that neither ignores nor handles it. Not all systems have this flag.
_NO_SIGNAL: int = getattr(socket, "MSG_NOSIGNAL", 0)

# A longer wait consists of several waits: the kernel and the locks do not accept every number.
_LONGEST_WAIT = 3600.0


class _Limits:
    """The daemon's limits. The client checks them, because the daemon answers a line beyond them without the request's id."""

    def __init__(self, greeting: JSONObject) -> None:
        limits = greeting.get("limits")
        limits = limits if isinstance(limits, dict) else {}
        self.line_bytes = _whole(limits.get("max_line_bytes"), 1_048_576)
        self.depth = _whole(limits.get("max_depth"), 64)

    def fault(self, line: bytes) -> Optional[HeadgateError]:
        """Returns why a line is beyond the limits, or None. Checks the line alone: the program may have changed its params since."""
        if len(line) - 1 > self.line_bytes:
            text = f"the message is longer than the {self.line_bytes} bytes that the daemon accepts"
            return HeadgateError(-32000, text, "line_too_long")
        if _is_deeper(line, self.depth):
            return HeadgateError(-32000, f"nested deeper than the {self.depth} levels that the daemon accepts", "limit")
        return None


def _whole(value: Any, fallback: int) -> int:
    return value if type(value) is int else fallback


# written by Tools/protocol: repeatable
_REPEATABLE = frozenset(
    "ping rights rpc.discover flush.list status barrier.list dispatcher.list queue.peek dead_letters.list config.get metrics event.trace client.list".split()
)
# end of what Tools/protocol has written


# MARK: The connection


class _Connection:
    """Decides when to connect, what to write, what to write again, and which outcome each call has.

    One thread does all input and output; any thread may make calls. A repeatable call is not lost with a connection: it is
    written again on the next one, in the same order and under the same id.
    """

    # idle: not connected, and nothing to send. greeting: the client waits for the answer to `hello`. open: calls are written as
    # they come. draining: the daemon is about to close; written calls are still answered, and no more are written.
    # waiting: for the next attempt to connect. closed: for good.

    LONGEST_ANSWER = 256 << 20
    CHUNK = 1 << 16
    MOST_RELEARNED = 3

    def __init__(
        self, path: str, hello: JSONObject, options: Options, take_request: Callable[[_Reply, str, Any], None],
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
        # A signal handler may make a call in the middle of another, so each number is taken in one atomic step.
        self._numbers = itertools.count(1)
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
        # Cancelled calls by number, with the functions that get their late results on this connection.
        self._late: Dict[int, Callable[[JSONObject], None]] = {}
        # The number of unanswered requests of the daemon on this connection.
        self._owed = 0
        # The number of times that the limits were learned again since a call was last answered.
        self._relearned = 0
        self._state = "idle"
        self._has_warned = False
        # The seconds that the end of the program, or of the client, may still wait.
        self.patience_at_end = self._whole_patience
        # True if the client handles no more requests of the daemon: it is being closed, or the program ends.
        self.is_leaving = False
        # True if the client object is gone: no call can follow, and the thread ends when all calls are answered.
        self.is_orphan = False
        # The client, if it serves something: the reference keeps it alive when the program drops its own.
        self.owner: Optional[Client] = None
        # True if the connection logs the number of events that are left at the end.
        self.tells_what_is_left = True
        # Called with the parent's unanswered calls, and with those that stay open, like watches.
        self.on_fork: Callable[[Iterable[_Call]], None] = lambda calls: None
        _connections.add(self)

    def lose_client(self) -> None:
        """Notes that the client object is gone. Takes no lock: the garbage collector may run while this thread holds it."""
        self.is_orphan = True
        self._wake()

    def _start(self) -> None:
        """Starts the thread at the first call: a fork before that has nothing to break."""
        if self._thread is not None:
            return
        ends: Tuple[socket.socket, ...] = ()
        try:
            ends = socket.socketpair()
            for end in ends:
                end.setblocking(False)
            thread = threading.Thread(target=self._run, args=ends, name="headgate-client", daemon=True)
            thread.start()
        except (OSError, RuntimeError) as error:
            for end in ends:
                end.close()
            raise self._cannot_connect(str(error)) from error
        _wait_at_the_end_of_a_job()
        # The thread waits for the lock, so this comes before its first step.
        self._thread, self._wake_out, self._is_woken = thread, ends[1], False
        self._wake_in = ends[0]

    def begin_anew(self) -> None:
        """Resets the connection in a forked process, to which neither the thread nor the socket belongs."""
        self.lock = threading.Condition(threading.RLock())
        for copy in (self._socket, self._wake_in, self._wake_out):
            if copy is not None:
                with contextlib.suppress(OSError):  # the program may have closed the descriptor
                    copy.close()
        self._socket = self._wake_in = self._wake_out = self._thread = None
        self.is_leaving, self.patience_at_end = False, self._whole_patience
        self._disconnect()
        calls = self._calls.values()
        self._calls, self._waiting, self._postponed = {}, collections.deque(), []
        self._held_bytes, self._unanswered, self._unanswered_bytes = 0, 0, 0
        self._told.clear()
        self._listeners.clear()
        self._earliest, self._failures, self._relearned = None, 0, 0
        self._state, self._has_warned = "idle", False
        if self._phase != "closed":
            self._rest()
        with self.lock:
            self.on_fork(calls)

    # MARK: From any thread

    @property
    def is_closed(self) -> bool:
        return self._phase == "closed"

    @property
    def is_drained(self) -> bool:
        """True if all calls but the standing ones are answered."""
        return all(call.standing for call in self._calls.values())

    @property
    def has_room(self) -> bool:
        return len(self._calls) < self.options.max_unanswered and self._held_bytes < self.options.max_unanswered_bytes

    def is_own_thread(self) -> bool:
        return threading.current_thread() is self._thread

    @property
    def left(self) -> int:
        """The number of events that were tracked and are not known to be stored."""
        return sum(call.events for call in self._calls.values())

    def begin(self, call: _Call, wait_for_room: bool = False) -> None:
        """Makes a call. Its future gets the outcome."""
        self._prepare(call)
        with self.lock:
            if wait_for_room:
                self._wait(lambda: self.has_room, call.deadline, self._full())
            self._insert(call)
        self._wait_at_the_end(call)

    def begin_if_room(self, call: _Call) -> None:
        """Makes a call, or raises `buffer_full` if there is no room. Never waits."""
        self._check_room()
        self._prepare(call)
        with self.lock:
            self._check_room()  # other threads may have taken the room meanwhile
            self._insert(call)
        self._wait_at_the_end(call)

    def _prepare(self, call: _Call) -> None:
        """Encodes a call without the lock: data may have methods of the program, which may use the client."""
        call.number = next(self._numbers)
        call.encode()

    def _insert(self, call: _Call) -> None:
        """Adds a prepared call to the table and the queue. The caller holds the lock."""
        if self._phase == "closed":
            raise HeadgateError.local("closed", "the client is closed")
        self._start()
        size = len(call.line)  # read before the sum, because a signal handler may make a call meanwhile
        self._calls[call.number] = call
        self._held_bytes += size
        self._waiting.append(call.number)
        if call.deadline is not None:
            self._earliest = call.deadline if self._earliest is None else min(self._earliest, call.deadline)
        if self._phase == "idle":
            self._seek()
        self._wake()

    def _wait_at_the_end(self, call: _Call) -> None:
        """Waits for an event that is tracked when `_at_exit` has run already: nothing else waits for it."""
        if _is_exiting and call.events:
            self.settle_at_the_end(time.monotonic())

    def _check_room(self) -> None:
        if not self.has_room and self._phase != "closed":
            raise self._full()

    def _full(self) -> HeadgateError:
        text = f"there was no room: {len(self._calls)} calls ({self._held_bytes} bytes) are not answered yet"
        return HeadgateError.local("buffer_full", text)

    def when_changed(self, listener: Callable[[], None]) -> None:
        """Has a function called once, with the lock, when the next call has ended or the client is closed. It must not wait."""
        with self.lock:
            self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Cancels such a function, unless it has been called."""
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
            self._wait(lambda: self.is_drained, _moment(deadline))

    def _wait(self, condition: Callable[[], bool], moment: Optional[float], late: Optional[HeadgateError] = None) -> None:
        if self.is_own_thread() and not condition():
            raise HeadgateError.local("misuse", "a callback of the client must not wait for the client")
        while not condition() and self._phase != "closed":
            left = _LONGEST_WAIT if moment is None else min(_LONGEST_WAIT, moment - time.monotonic())
            if left <= 0:
                raise late or HeadgateError.local("timed_out", "no answer came in time")
            self.lock.wait(left)

    def settle_at_the_end(self, began: float) -> None:
        """Waits at the end of the program, and logs the number of events that are left."""
        self.tell_what_is_left(self.settle(began))

    def settle(self, began: float, own: int = 0) -> int:
        """Waits for acknowledgements and for handlers that run, except `own` ones. Takes no more work from the daemon. All
        these waits together take no longer than `close_timeout`; this one counts from `began` on. Returns the number of events
        that are left."""
        with self.lock:
            self.is_leaving = True
            self._wake()
            if self.patience_at_end > 0 and not self.is_own_thread() and self._thread is not None and self._thread.is_alive():
                now = time.monotonic()
                try:
                    self._wait(lambda: not self.left and self._owed <= own and not self._is_writing, began + self.patience_at_end)
                    self.patience_at_end -= time.monotonic() - now
                except HeadgateError:
                    self.patience_at_end = 0.0
            return self.left

    @property
    def _whole_patience(self) -> float:
        return float("inf") if self.options.close_timeout is None else self.options.close_timeout

    @property
    def _is_writing(self) -> bool:
        """True if an answer to the daemon is not written yet."""
        return bool(self._output) and self._phase in ("open", "draining")

    def abandon(self, call: _Call) -> None:
        """Cancels a call. A grant, also one that may still come, is ended at the daemon."""
        with self.lock:
            self._give_up(call)
            self._remove(call)
            self._wake()

    def withdraw(self, call: _Standing) -> str:
        """No longer requests a standing call, and fails it if it is unanswered. Returns `granted` if it was granted on the present
        connection, `asked` if it was requested there, and `nothing` otherwise."""
        with self.lock:
            held = "granted" if call.granted else "asked" if call.written else "nothing"
            self._note_late(call)
            if self._remove(call) and not call.was_granted:
                error = HeadgateError.local("closed", "the program ended the service before the daemon granted it")
                self._told.append(lambda: call.future.set_exception(error))
            self._wake()
            return held

    def _give_up(self, call: _Call) -> None:
        """Ends a cancelled call at the daemon: at once, before later requests, because the daemon handles requests in order."""
        self._note_late(call)
        if not isinstance(call, _Standing) or not (call.written or call.granted):
            return
        if call.on_give_up is not None:
            call.on_give_up()
        if call.leave is not None:
            method, params = call.leave
            back = _Call(method, params, False, None)
            back.bound = True
            self.begin(back)

    def _note_late(self, call: _Call) -> None:
        """Keeps a cancelled call, if it was written: its late grant is ended at the daemon, or passed to `on_late`."""
        if call.on_late is not None and call.written:
            self._late[call.number] = call.on_late

    def restart(self, call: _Standing) -> None:
        """Repeats a granted standing call."""
        with self.lock:
            if call.granted and call.number in self._calls:
                call.granted = False
                self._waiting.append(call.number)
                self._wake()

    def is_present(self) -> Callable[[], bool]:
        """Returns a function that returns true as long as the present connection lasts."""
        generation = self._generation
        return lambda: self._generation == generation and self._socket is not None

    def owe(self, id: Any) -> _Reply:
        """Notes a request of the daemon, and returns the reply to it. The caller holds the lock."""
        self._owed += 1
        return _Reply(self, self._generation, id)

    def is_current(self, generation: int) -> bool:
        """Returns true if the daemon still waits for answers on the connection of this generation."""
        return generation == self._generation and self._phase in ("open", "draining")

    def answer(self, generation: int, line: Optional[bytes]) -> None:
        """Writes the answer to a request of the daemon, unless its connection is gone. A line of None gives no answer."""
        with self.lock:
            if not self.is_current(generation):
                return
            self._owed -= 1
            if line is not None:
                self._output += line
            if self.is_leaving:
                self._notify()
            # The connection's thread writes it, even if this is that thread.
            self._wake()

    def answer_line(self, message: JSONObject) -> bytes:
        """Returns the line of an answer. An error replaces an answer beyond the daemon's limits, and a long error is cut. Takes no
        lock: an output may have methods of the program, which may use the client."""
        try:
            line = _line(message)
            fault = self._limits.fault(line)
        except (TypeError, ValueError, RecursionError) as error:
            fault = HeadgateError.local("misuse", f"the answer cannot be written as JSON: {_text_of(error)}")
        except Exception as error:
            fault = HeadgateError.local("misuse", f"the answer cannot be read: {type(error).__name__}: {_text_of(error)}")
        if fault is None:
            return line
        text = fault.message.replace("the message", "the answer")
        if "error" in message:
            text = message["error"]["message"]
        else:
            self._told.append(lambda: _log.error("an answer was replaced by an error: %s", text))
        return self._error_line(message["id"], text)

    def _error_line(self, id: Any, text: str) -> bytes:
        error = {"code": -32603, "message": text}
        while len(line := _line({"jsonrpc": "2.0", "id": id, "error": error})) - 1 > self._limits.line_bytes and text:
            text = text[: len(text) // 2]
            error["message"] = text + "…"
        return line

    def close(self, own: int = 0) -> None:
        """Closes the connection when all events are acknowledged, or after `close_timeout`."""
        with self.lock:
            left = 0 if self._phase == "closed" else self.settle(time.monotonic(), own)
            if self._phase != "closed":
                self._disconnect()
                self._fail_all(HeadgateError.local("closed", "the client is closed"))
                self._phase = "closed"
                self._set_state("closed", None)
                self._notify()
                self._wake()
            thread = self._thread
        self.tell_what_is_left(left)
        if thread is None:
            self._tell()
        elif not self.is_own_thread():
            thread.join()

    def tell_what_is_left(self, left: int) -> None:
        """Logs the number of events that are not known to be stored."""
        if left and self.tells_what_is_left:
            cause = f": {self._last_failure.message}" if self._last_failure else ""
            _log.warning("%d events are not known to be stored%s", left, cause)

    def _wake(self) -> None:
        if self._wake_out is not None and not self._is_woken and not self.is_own_thread():
            self._is_woken = True
            with contextlib.suppress(OSError):  # a full buffer wakes the thread, too
                self._wake_out.send(b"w", _NO_SIGNAL)

    # MARK: The thread

    def _run(self, wake_in: socket.socket, wake_out: socket.socket) -> None:
        try:
            while self._turn(wake_in):
                pass
        except BaseException as error:
            self._broke(error)
        finally:
            with self.lock:
                wake_in.close()
                wake_out.close()
                if self._wake_out is wake_out:
                    self._wake_out = None
        self._tell()

    def _turn(self, wake_in: socket.socket) -> bool:
        """Does all work that is due, then waits for more; returns false when the thread is to end."""
        with self.lock:
            self._pass_time(time.monotonic())
            self._proceed()
            if self.is_orphan and not self._calls and self._phase != "closed":
                self._disconnect()
                self._phase = "closed"
            ended = self._phase == "closed"
            connection, timeout = self._socket, self._timeout()
            poll = select.poll()
            poll.register(wake_in, select.POLLIN)
            # With the lock: `close` may come from another thread.
            if connection is not None:
                poll.register(connection, select.POLLIN | (select.POLLOUT if self._output else 0))
        if self._tell():
            return True
        if ended:
            return False
        poll.poll(timeout)
        with self.lock:
            self._drain_wakes(wake_in)
            if connection is not None and connection is self._socket:
                self._read(connection)
        return True

    def _broke(self, error: BaseException) -> None:
        """Fails all calls when the thread ends by a fault of the client. The next call starts another thread."""
        _log.error("the client's thread failed", exc_info=error)
        failure = HeadgateError.local("disconnected", f"the client failed: {type(error).__name__}: {_text_of(error)}")
        with self.lock:
            self._thread = None
            self._disconnect()
            for call in list(self._calls.values()):
                if isinstance(call, _Standing):
                    call.was_granted = call.granted = False
                with contextlib.suppress(Exception):
                    self._finish(call, failure)
            self._calls, self._waiting, self._postponed = {}, collections.deque(), []
            self._held_bytes, self._unanswered, self._unanswered_bytes = 0, 0, 0
            if self._phase != "closed":
                self._rest()
            self._notify()

    def _tell(self) -> bool:
        """Reports the outcomes of calls to their callers, without the lock: callbacks may make further calls."""
        has_told = bool(self._told)
        while self._told:
            try:
                self._told.popleft()()
            except BaseException:
                _log.exception("a callback failed")
        return has_told

    def _timeout(self) -> Optional[float]:
        moments = [moment for moment, _ in self._postponed]
        if self._earliest is not None:
            moments.append(self._earliest)
        if self._phase in ("greeting", "waiting"):
            moments.append(self._until)
        left = min(moments, default=float("inf")) - time.monotonic()
        return max(0.0, min(left, _LONGEST_WAIT)) * 1000 + 1

    def _drain_wakes(self, wake_in: socket.socket) -> None:
        self._is_woken = False
        with contextlib.suppress(OSError):
            while wake_in.recv(64):
                pass

    def _write(self) -> None:
        while self._output and self._socket is not None:
            try:
                sent = self._socket.send(self._output[: 1 << 20], _NO_SIGNAL)
            except BlockingIOError:
                return
            except OSError:
                return  # reading notices the failure, after the daemon's last messages
            del self._output[:sent]
            if self.is_leaving and not self._output:
                self._notify()

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
                self._got_nonsense(f"a line has more than {self.LONGEST_ANSWER} bytes")
            return
        lines = bytes(self._input[:end]).split(b"\n")
        del self._input[: end + 1]
        for line in lines:
            if connection is self._socket and line.strip(b" \t\r"):
                self._take_line(line)

    # MARK: Messages of the daemon

    def _take_line(self, line: bytes) -> None:
        try:
            message = _parse(line.decode())
        except ValueError:
            return self._got_nonsense("a line that is not JSON")
        except RecursionError:
            return self._got_too_deep(line)
        for one in message if isinstance(message, list) and message else [message]:
            self._take(one)

    def _got_too_deep(self, line: bytes) -> None:
        """Handles a line that Python cannot decode: answers or fails only the request or call that it names."""
        begin = _BEGINNING.match(line)
        text = "it is nested deeper than Python can read"
        if begin is None or self._phase not in ("open", "draining"):
            return self._got_nonsense(text)
        if begin["method"]:
            return self.owe(json.loads(begin["id"])).give({"error": {"code": -32603, "message": text}})
        call = self._calls.get(int(begin["number"] or 0))
        if call is not None and call.written:
            self._finish(call, HeadgateError.local("bad_answer", f"the result of {call.method}: {text}"))

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return self._got_nonsense("a line that is not a message")
        method = message.get("method")
        if isinstance(method, str):
            return self._take_call(method, message)
        error = HeadgateError.read(message.get("error")) if "error" in message else None
        if "method" in message or ("error" in message) == ("result" in message) or ("error" in message and not error):
            return self._got_nonsense("a line that is not a message")
        number = message.get("id")
        if number is None and error:
            return self._got_anonymous_error(error)
        if type(number) is not int:
            return self._got_nonsense("an answer without a request")
        if number == 0:
            return self._greeting_refused(error) if error else self._greeted(message["result"])
        self._answered(number, message.get("result"), error)

    def _take_call(self, method: str, message: JSONObject) -> None:
        params = message.get("params")
        if "id" in message:
            if self._phase in ("open", "draining"):
                self._take_request(self.owe(message["id"]), method, params)
            return
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
            return  # its caller no longer waits
        if error is not None:
            return self._refused(call, error)
        self._note_progress()
        if not isinstance(result, dict):
            return self._finish(call, HeadgateError.local("bad_answer", f"the result of {call.method} is not an object"))
        if not isinstance(call, _Standing):
            call.on_grant(result)
            return self._finish(call, result)
        self._unmark(call)
        call.granted, call.is_refused = True, False
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
        if isinstance(call, _Standing) and call.outlasts(error):
            self._unmark(call)
            self._postponed.append((time.monotonic() + self.options.backoff_cap, call.number))
            if not call.is_refused and error.reason != "conflict":
                call.is_refused = True
                text = f"{call.about} was refused on the new connection, and is requested again: {error.message}"
                self._told.append(lambda: _log.warning("%s", text))
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
        try:
            self._socket = _connected(self.path)
        except (OSError, ValueError) as error:
            failure = self._cannot_connect(_cause(error))
            # A daemon that was connected once comes back: it may be about to set the mode of its socket.
            if _is_permanent(error) and not self._was_connected:
                return self._give_up_connecting(failure)
            return self._could_not_connect(failure)
        self._generation += 1
        self._phase, self._until = "greeting", self._end(self.options.greeting_timeout)
        self._output += self._hello

    def _cannot_connect(self, cause: str) -> HeadgateError:
        return HeadgateError.local("cannot_connect", f"cannot connect to {self.path}: {cause}")

    def _could_not_connect(self, error: HeadgateError) -> None:
        self._disconnect()
        self._last_failure = error
        if not self._has_warned:
            self._has_warned = True
            text = f"{error.message}; events wait in this process until it can connect"
            self._told.append(lambda: _log.warning("%s", text))
        self._set_state("disconnected", error)
        self._retry()

    def _give_up_connecting(self, error: HeadgateError) -> None:
        """Fails all calls; the next call tries to connect again."""
        self._disconnect()
        self._rest()
        self._set_state("disconnected", error)
        left = self.left
        if left:
            self._told.append(lambda: _log.warning("%d events are not stored: %s", left, error.message))
        self._fail_all(error)

    def _set_state(self, state: str, error: Optional[HeadgateError]) -> None:
        hook, is_news = self.options.on_state, state != self._state and (self._state, state) != ("idle", "closed")
        self._state = state
        if is_news and hook is not None:
            self._told.append(functools.partial(hook, state, error))

    def _greeted(self, result: Any) -> None:
        if self._phase != "greeting":
            return
        self._limits = _Limits(result if isinstance(result, dict) else {})
        # The connect timeout counts for the first connection only.
        if not self._was_connected:
            self._patience = None
        self._was_connected, self._last_failure, self._phase = True, None, "open"
        if self._has_warned:
            self._has_warned = False
            self._told.append(lambda: _log.info("connected to %s", self.path))
        self._set_state("connected", None)

    def _greeting_refused(self, error: HeadgateError) -> None:
        if self._phase != "greeting":
            return
        if error.reason == "shutting_down":
            return self._found_stopping(error.message)
        if error.reason == "limit":
            return self._could_not_connect(self._cannot_connect(error.message))
        self._give_up_connecting(error)

    def _closing(self) -> None:
        if self._phase == "greeting":
            self._found_stopping("the daemon is stopping")
        elif self._phase == "open":
            self._phase = "draining"

    def _found_stopping(self, cause: str) -> None:
        """Notes that a daemon is stopping. Calls wait as after a lost connection, because the daemon may be restarting."""
        if not self._was_connected:
            self._patience = None
        self._was_connected = True
        self._could_not_connect(self._cannot_connect(cause))

    def _disconnected(self) -> None:
        if self._phase == "greeting":
            return self._could_not_connect(self._cannot_connect("the daemon closed the connection"))
        self._lose(HeadgateError.local("disconnected", "the connection was lost before the answer came"))

    def _got_nonsense(self, text: str) -> None:
        """Handles a malformed message. The client cannot tell which call it is about, so all written calls fail: repeating
        them might cause it again, without end."""
        error = HeadgateError.local("bad_answer", f"malformed answer from the daemon: {text}")
        if self._phase == "greeting":
            return self._could_not_connect(error)
        if self._phase in ("open", "draining"):
            for call in [call for call in self._calls.values() if call.written]:
                self._finish(call, error)
            self._lose(error)

    def _got_anonymous_error(self, error: HeadgateError) -> None:
        if self._phase == "greeting":
            return self._greeting_refused(error)
        # The limits may be lower than when the connection began: the next greeting has the new ones.
        if error.reason in ("line_too_long", "limit") and self._relearned < self.MOST_RELEARNED:
            self._relearned += 1
            return self._lose(HeadgateError.local("disconnected", f"the daemon's limits have changed: {error.message}"))
        self._got_nonsense(error.message)

    def _lose(self, error: HeadgateError) -> None:
        """Handles a lost connection: puts repeatable calls back into the queue in their order, and fails the others."""
        self._disconnect()
        self._last_failure = error
        self._set_state("disconnected", error)
        for call in list(self._calls.values()):
            if isinstance(call, _Standing):
                call.is_refused = False
            if isinstance(call, _Standing) and call.granted:
                call.granted = False
                call.on_interrupt(error)
            if call.bound or (call.written and not call.repeatable):
                self._finish(call, error)
            else:
                self._unmark(call)
        self._postponed.clear()
        self._waiting = collections.deque(self._calls)
        self._retry()

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._input.clear()
        self._output.clear()
        self._late.clear()
        self._owed = 0
        if self.is_leaving:
            self._notify()

    def _retry(self) -> None:
        self._failures += 1
        if not self._calls:
            return self._rest()
        now = time.monotonic()
        if self._patience is None:
            self._patience = self._end(self.options.reconnect_timeout)
        if now >= self._patience:
            return self._give_up_connecting(
                self._last_failure or HeadgateError.local("disconnected", "there is no connection")
            )
        # A random time between half and all of the longest wait: clients that lost the daemon together do not reconnect together.
        longest = min(self.options.backoff_cap, self.options.backoff_base * 2.0 ** min(self._failures - 1, 32))
        self._until, self._phase = min(now + longest * random.uniform(0.5, 1.0), self._patience), "waiting"

    def _rest(self) -> None:
        self._phase, self._patience = "idle", None

    def _end(self, patience: Optional[float]) -> float:
        return float("inf") if patience is None else time.monotonic() + patience

    def _note_progress(self) -> None:
        self._failures, self._patience, self._relearned = 0, None, 0

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
        """Writes calls to the output while it has room, or ends a connection that has nothing left to write or answer."""
        if self._phase == "draining" and not self._unanswered and not self._owed:
            self._write()
            if self._output:
                return
            self._lose(HeadgateError.local("disconnected", "the connection was lost before the answer came"))
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
            call.encode()  # its params may have changed since the last connection
            self._held_bytes += len(call.line)
        fault = self._limits.fault(call.line)
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
            message = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params}
            self._output += _line(message)

    def _unmark(self, call: _Call) -> None:
        if call.written:
            call.written = False
            self._unanswered -= 1
            self._unanswered_bytes -= len(call.line)

    def _remove(self, call: _Call) -> bool:
        """Removes a call from the table. Returns false if it is not in the table."""
        if self._calls.pop(call.number, None) is None:
            return False
        self._unmark(call)
        call.granted = False
        self._held_bytes -= len(call.line)
        # Cancelled calls must not be remembered while there is no daemon.
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
            error = outcome  # each caller gets a copy, because Python writes a traceback into it
            self._told.append(lambda: future.set_exception(_copy(error)))
        else:
            result = outcome
            self._told.append(lambda: future.set_result(result))

    def _fail_all(self, error: HeadgateError) -> None:
        for call in list(self._calls.values()):
            self._finish(call, error)


# Matches the beginning of the daemon's requests and answers.
_BEGINNING = re.compile(
    rb'\s*\{"jsonrpc":"2\.0","id":(?P<id>"(?:[^"\\]|\\.)*"|(?P<number>\d{1,15})),(?P<method>"method":)?'
)


class _Reply:
    """The reply to a request of the daemon, which is given once."""

    def __init__(self, connection: _Connection, generation: int, id: Any) -> None:
        self._connection, self._generation, self._id = connection, generation, id
        self._is_given = False

    @property
    def is_wanted(self) -> bool:
        """Returns false if the connection is gone, so that the daemon asks a client again, or if the client is leaving."""
        with self._connection.lock:
            return self._connection.is_current(self._generation) and not self._connection.is_leaving

    def give(self, said: Optional[JSONObject]) -> None:
        """Answers with the member `result` or `error`; None gives no answer."""
        line = None if said is None else self._connection.answer_line({"jsonrpc": "2.0", "id": self._id, **said})
        with self._connection.lock:
            if not self._is_given:
                self._is_given = True
                self._connection.answer(self._generation, line)


_connections: weakref.WeakSet[_Connection] = weakref.WeakSet()
_forking: List[_Connection] = []


# True if the end of the program has begun to wait for events.
_is_exiting = False


def _at_exit() -> None:
    """Waits for the events of clients that the program did not close: their threads end with the program."""
    global _is_exiting
    _is_exiting, began = True, time.monotonic()
    for connection in list(_connections):
        if not connection.is_closed:
            connection.settle_at_the_end(began)  # one time for all clients


atexit.register(_at_exit)
_finalized_in = 0


def _wait_at_the_end_of_a_job() -> None:
    """Registers `_at_exit` for the end of a `multiprocessing` process, too, which runs only its own finalizers."""
    global _finalized_in
    module = sys.modules.get("multiprocessing.process")
    if module is not None and _finalized_in != os.getpid() and module.parent_process() is not None:
        _finalized_in = os.getpid()
        importlib.import_module("multiprocessing.util").Finalize(None, _at_exit, exitpriority=0)


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
    global _last_id, _is_exiting
    _is_exiting = False
    _last_id = (0, 0)  # counting on from the parent's last id might repeat the parent's ids
    _id_lock.release()
    faults: List[BaseException] = []
    for connection in _forking:
        try:
            connection.begin_anew()
        except BaseException as error:
            faults.append(error)
    _forking.clear()
    for fault in faults:
        _log.error("a client was not reset completely in a forked process", exc_info=fault)


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)


def _copy(error: HeadgateError) -> HeadgateError:
    return HeadgateError(error.code, error.message, error.reason, error.path, error.data)


def _connected(path: str) -> socket.socket:
    if "\0" in path:
        raise ValueError("the path contains a NUL byte")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


_PERMANENT = frozenset(
    (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EPROTOTYPE, errno.EAFNOSUPPORT)
)


def _is_permanent(error: Exception) -> bool:
    """Returns true if waiting does not cure the error. An error of the path itself has no number."""
    return not isinstance(error, OSError) or error.errno is None or error.errno in _PERMANENT


def _cause(error: Exception) -> str:
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        return "no such socket"
    return os.strerror(number) if number else str(error)


def _text_of(error: BaseException) -> str:
    """Returns the text of an exception, as far as it has one."""
    try:
        return str(error).encode("utf-8", "replace").decode()
    except Exception:
        return "(it has no text)"


# MARK: Requests of the daemon


class _Staff:
    """The threads that run a handler. They are not the client's thread, because a handler may take long and may call the client."""

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
            except BaseException:
                _log.exception("an answer could not be passed on")


class _Served:
    """A worker's subscription or a served board."""

    # True while it is being ended: requests that come until then are still handled.
    is_retired = False

    def __init__(self, standing: _Standing) -> None:
        self.standing = standing

    @property
    def leave(self) -> Tuple[str, JSONObject]:
        assert self.standing.leave is not None  # as _subscription and _serving make it
        return self.standing.leave

    def take(self, params: JSONObject, reply: _Reply) -> None:
        """Handles a request of the daemon. Runs on the connection's thread, with its lock."""
        raise NotImplementedError

    def choose(self, params: JSONObject, reply: _Reply) -> None:
        """Handles a request for the barrier of an activation. Runs on the connection's thread, with its lock."""
        raise NotImplementedError

    def dismiss(self) -> None:
        """Ends the service: no more requests follow."""


class _Staffed(_Served):
    """A worker or board whose handler runs on threads of its own."""

    def __init__(
        self, standing: _Standing, handle: Callable[[JSONObject], JSONObject], threads: int, name: str,
        choose: Optional[Choose] = None,
    ) -> None:  # fmt: skip
        super().__init__(standing)
        self._handle, self._choose = handle, choose
        self._staff = _Staff(threads, name)

    def take(self, params: JSONObject, reply: _Reply) -> None:
        self._staff.run(lambda: self._run(self._handle, params, reply))

    def choose(self, params: JSONObject, reply: _Reply) -> None:
        self._staff.run(lambda: self._run(self._chosen, params, reply))

    def _chosen(self, params: JSONObject) -> JSONObject:
        barrier = None if self._choose is None else self._choose(params.get("input"))
        return {"barrier": None if barrier is None else dict(barrier)}

    def dismiss(self) -> None:
        self._staff.dismiss()

    def _run(self, handle: Callable[[JSONObject], JSONObject], params: JSONObject, reply: _Reply) -> None:
        # The daemon repeats the requests of a lost connection, so they are skipped here.
        if not reply.is_wanted:
            return reply.give(None)
        _handling.count = getattr(_handling, "count", 0) + 1
        try:
            reply.give({"result": handle(params)})
        except BaseException as error:
            reply.give(_failure(error))
        finally:
            _handling.count -= 1


# The number of handlers that this thread runs: a handler that closes its client must not wait for itself.
_handling = threading.local()


def _failure(error: BaseException) -> JSONObject:
    """Logs the exception of a handler, and returns the answer for it."""
    _log.error("a handler failed", exc_info=error)
    return {"error": {"code": -32603, "message": f"{type(error).__name__}: {_text_of(error)}"}}


class _OwnBarrier:
    """A remote barrier in its last granted state, in which it is registered again on each connection (Behaviour B29)."""

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
        """Applies a change as the daemon does: a new state resets what was set before."""
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
        """Returns the calls after the registration for state that the registration cannot express."""
        barrier = {"id": self.params["id"]}
        general = [] if self.reason is None else [{**barrier, "reason": self.reason}]
        changes = general + [{**barrier, "dispatcher": name, **said} for name, said in self.exceptions.items()]
        return [("barrier.set", change) for change in changes]


class Watch:
    """An iterator of the daemon's changes (`News`), until `close`. The watch begins again on each new connection, and also when
    its reader falls far behind."""

    LONGEST_BACKLOG = 4096

    def __init__(self, client: Client, params: JSONObject) -> None:
        self._client = client
        self._news: Deque[News] = collections.deque()
        self._ended: Optional[HeadgateError] = None
        self._is_closed = False
        self._id: Optional[str] = None
        self._standing = _Standing(
            "watch", _as_it_is(params), on_grant=self._granted, on_interrupt=self._interrupted, on_end=self._end, on_late=self._unwatch
        )

    def __iter__(self) -> Iterator[News]:
        return self

    def __next__(self) -> News:
        news = self.next()
        if news is None:
            raise StopIteration
        return news

    def next(self, deadline: Optional[float] = None) -> Optional[News]:
        """Returns the next item, or None if the watch was closed. Raises the reason of any other end, or `timed_out`."""
        with self._lock:
            connection = self._client._connection
            connection._wait(lambda: self._is_readable, _moment(deadline))
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
            return self._end(HeadgateError.local("bad_answer", "the result of watch has no id"))
        id: str = result["watch"]
        self._id = id
        self._client._watches[id] = self
        self._add(News("began"))

    def _unwatch(self, granted: JSONObject) -> None:
        """Ends the watch on the present connection only: the next connection uses the same ids again."""
        self._client._tell("unwatch", {"watch": granted.get("watch")}, bound=True)

    def _interrupted(self, error: HeadgateError) -> None:
        self._client._watches.pop(self._id or "", None)
        self._add(News("interrupted", error=error))

    def _end(self, error: HeadgateError) -> None:
        self._client._watches.pop(self._id or "", None)
        self._ended = error
        self._notify()

    def _notify(self) -> None:
        """Wakes readers: there is an item, or the watch has ended. The caller holds the lock."""
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

    As a context manager it waits at the end of the block until all calls are answered, then closes. After an exception it
    closes at once, which waits no longer than `Options.close_timeout`.
    """

    def __init__(
        self, name: str, version: str = "", *, socket_path: Optional[str] = None, namespace: Optional[str] = None,
        options: Options = Options(),
    ) -> None:  # fmt: skip
        """Makes a client, which connects when it is first called.

        name, version: the program's; together they are the events' `context.client`.
        socket_path: the path of the daemon's socket; None is that of `default_socket`.
        namespace: the namespace of the events' ids (Behaviour Q7); None is that of the user.
        """
        self.socket_path = socket_path or default_socket()
        hello: JSONObject = {"client": _given(name=name, version=version or None), "protocol": 1}
        if namespace is not None:
            hello["namespace"] = namespace
        self._watches: Dict[str, Watch] = {}
        self._barriers: Dict[str, _OwnBarrier] = {}
        self._workers: Dict[str, _Served] = {}
        self._boards: Dict[str, _Served] = {}
        self._status: Optional[_Standing] = None
        self._connection = _Connection(
            self.socket_path, hello, options, _weakly(self._take_request), _weakly(self._take_change)
        )
        self._connection.on_fork = _weakly(self._forget)
        # A client without references that serves nothing needs no connection.
        weakref.finalize(self, self._connection.lose_client).atexit = False

    def _forget(self, calls: Iterable[_Call]) -> None:
        """Drops watches and services in a forked process: they belong to the parent."""
        self._watches, self._barriers, self._workers, self._boards, self._status = {}, {}, {}, {}, None
        self._connection.owner = None
        for call in calls:
            if isinstance(call, _Standing) and call.method == "watch":
                call.granted = call.written = False  # so that `close` ends no watch of the child
                call.on_end(HeadgateError.local("closed", "the watch is the parent process's"))

    def close(self) -> None:
        """Takes no more work, waits for tracked events and running handlers, but no longer than
        `Options.close_timeout`, and closes the connection. Other running calls, and later ones, end with `closed`."""
        self._close(getattr(_handling, "count", 0))

    def _close(self, own: int) -> None:
        """Closes the client, but does not wait for `own` handlers: they wait for this call."""
        self._connection.close(own)
        for served in [*self._workers.values(), *self._boards.values()]:
            served.dismiss()
        self._workers, self._boards = {}, {}
        self._connection.owner = None

    def drain(self, deadline: Optional[float] = None) -> None:
        """Waits until all calls are answered: all tracked events are stored then. (`flush` makes dispatchers send pending events.)"""
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
        key: Optional[str] = None, time: Union[str, datetime.datetime, None] = None,
        dispatchers: Optional[Sequence[str]] = None,
        ttl_ms: Optional[int] = None, deadline: Optional[float] = None,
    ) -> Receipt:  # fmt: skip
        """Tracks an event, and waits until the daemon has acknowledged it: it is stored then (Behaviour P1). `data` may have
        dates and times (as `isoformat` writes them), `UUID`s and `Decimal`s, which keep their digits. A `time` without a zone
        is local."""
        params = _given(event=event, data=data, id=id, key=key, time=time, dispatchers=dispatchers, ttl_ms=ttl_ms)
        return _receipt(self._wait_for(_Call("track", _with_id(params), True, deadline)))

    def track_soon(self, event: Event, deadline: Optional[float] = None) -> Future[Receipt]:
        """Tracks an event without waiting for its acknowledgement, which the future gets. Events keep the order of
        these calls. Waits only while too many are unanswered (`Options.max_unanswered`); a deadline that passes meanwhile is
        `buffer_full`. An event is stored even if the program drops its future: `drain` waits for all events."""
        call, receipt = self._begun(event, deadline)
        self._connection.begin(call, wait_for_room=True)
        return receipt

    def try_track(self, event: Event, deadline: Optional[float] = None) -> Future[Receipt]:
        """Tracks an event as `track_soon` does, but never waits: raises `buffer_full` while there is no room."""
        call, receipt = self._begun(event, deadline)
        self._connection.begin_if_room(call)
        return receipt

    def _begun(self, event: Event, deadline: Optional[float]) -> Tuple[_Call, Future[Receipt]]:
        call = _Call("track", _with_id(dict(event)), True, deadline)
        receipt: Future[Receipt] = Future()
        receipt.set_running_or_notify_cancel()
        call.future.add_done_callback(lambda answer: _pass_on(answer, _receipt, receipt))
        return call, receipt

    def track_each(
        self, events: Iterable[Event], deadline: Optional[float] = None
    ) -> List[Union[Receipt, HeadgateError]]:
        """Tracks events each on its own, in their order, without waiting in between. Returns the outcome of each, in the
        same order; one that is refused does not hinder the others."""
        return [_outcome(receipt) for receipt in [self.track_soon(event, deadline) for event in events]]

    def track_many(self, events: Iterable[Event], deadline: Optional[float] = None) -> ManyReceipt:
        """Tracks events atomically: all are stored, or none. They are sent in one line, whose length the daemon limits."""
        params = {"events": [_with_id(dict(event)) for event in events]}
        return _many_receipt(self._wait_for(_Call("track_many", params, True, deadline)))

    # MARK: Queries and operations

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
        """Makes dispatchers send their pending events, through flushable barriers (Behaviour F1). With `wait` the result says how
        the flush ended. `flush` is the flush's id, for `flush_cancel`."""
        params = _given(dispatchers=dispatchers, wait=wait or None, timeout_ms=timeout_ms, flush=flush)
        return _flush(self.call("flush", params, deadline), wait)

    def dispatchers(self, deadline: Optional[float] = None) -> List[Dispatcher]:
        """Returns all dispatchers, with their counters and the barriers that block them."""
        found: List[Dispatcher] = _member(self.call("dispatcher.list", None, deadline), "dispatchers", list)
        return found

    def pause(
        self, dispatcher: str, reason: Optional[str] = None, flushable: bool = False, deadline: Optional[float] = None
    ) -> None:
        """Pauses a dispatcher by its ManualBarrier. It stays paused across restarts (Behaviour B23)."""
        self.call("dispatcher.pause", _given(id=dispatcher, reason=reason, flushable=flushable or None), deadline)

    def resume(self, dispatcher: str, deadline: Optional[float] = None) -> None:
        self.call("dispatcher.resume", {"id": dispatcher}, deadline)

    def peek(
        self, dispatcher: str, limit: Optional[int] = None, after: Optional[int] = None,
        deadline: Optional[float] = None,
    ) -> QueuedEvents:  # fmt: skip
        """Returns the next pending events of a dispatcher, after a sequence number if one is given."""
        result = self.call("queue.peek", _given(dispatcher=dispatcher, limit=limit, after=after), deadline)
        page: QueuedEvents = _page(result, "events")
        return page

    def purge(self, dispatcher: str, before_seq: Optional[int] = None, deadline: Optional[float] = None) -> int:
        """Drops a dispatcher's pending events, up to a sequence number if one is given. Returns their number."""
        params = _given(dispatcher=dispatcher, before_seq=before_seq)
        return int(_member(self.call("queue.purge", params, deadline), "purged", int))

    def dead_letters(
        self, dispatcher: Optional[str] = None, limit: Optional[int] = None, after: Any = None,
        deadline: Optional[float] = None,
    ) -> DeadLetters:  # fmt: skip
        """Returns a page of dead letters (Behaviour D10)."""
        result = self.call("dead_letters.list", _given(dispatcher=dispatcher, limit=limit, after=after), deadline)
        page: DeadLetters = _page(result, "dead_letters")
        return page

    def requeue_dead_letters(
        self, dispatcher: Optional[str] = None, letters: Optional[Sequence[Any]] = None,
        deadline: Optional[float] = None,
    ) -> int:  # fmt: skip
        """Resends dead letters under their ids. Returns their number."""
        params = _given(dispatcher=dispatcher, letters=letters)
        return int(_member(self.call("dead_letters.requeue", params, deadline), "count", int))

    def purge_dead_letters(
        self, dispatcher: Optional[str] = None, letters: Optional[Sequence[Any]] = None,
        deadline: Optional[float] = None,
    ) -> int:  # fmt: skip
        """Deletes dead letters. Returns their number."""
        params = _given(dispatcher=dispatcher, letters=letters)
        return int(_member(self.call("dead_letters.purge", params, deadline), "count", int))

    # written by Tools/protocol: calls
    def ping(self, deadline: Optional[float] = None) -> None:
        """Returns an empty answer, to check the connection."""
        self.call("ping", None, deadline)

    def rights(self, deadline: Optional[float] = None) -> JSONObject:
        """Returns the rights of the caller: the groups of methods that it may call, and its namespace."""
        return self.call("rights", None, deadline)

    def discover(self, deadline: Optional[float] = None) -> JSONObject:
        """Returns the OpenRPC document of the protocol."""
        return self.call("rpc.discover", None, deadline)

    def cancel_flush(self, flush: str, deadline: Optional[float] = None) -> None:
        """Cancels a flush. Events that were not sent stay pending. (`flush`: the flush's id)"""
        self.call("flush.cancel", {"flush": flush}, deadline)

    def flushes(self, deadline: Optional[float] = None) -> List[Mapping[str, Any]]:
        """Returns every flush in progress, also flushes of clients that have disconnected."""
        found: List[Mapping[str, Any]] = _member(self.call("flush.list", None, deadline), "flushes", list)
        return found

    def status(self, deadline: Optional[float] = None) -> JSONObject:
        """Returns the status of the daemon, its store, dispatchers and barriers."""
        return self.call("status", None, deadline)

    def retry(self, id: str, deadline: Optional[float] = None) -> None:
        """Ends a dispatcher's backoff: its next attempt begins now. (`id`: the dispatcher's id)"""
        self.call("dispatcher.retry", {"id": id}, deadline)

    def rewind(self, id: str, to: Any, dry_run: bool = False, deadline: Optional[float] = None) -> JSONObject:
        """Rewinds a dispatcher: delivered events that the store retains are sent again, from a given sequence number or
        time on. (`id`: the dispatcher's id; `to`: a sequence number, a time, or a duration back like "-2h"; `dry_run`:
        true: the events are counted, and nothing changes)"""
        return self.call("dispatcher.rewind", _given(id=id, to=to, dry_run=dry_run or None), deadline)

    def config(self, layer: Optional[str] = None, deadline: Optional[float] = None) -> JSONObject:
        """Returns the settings in force, or those of one layer, with secrets replaced by ***. (`layer`: the layer to
        return)"""
        return self.call("config.get", _given(layer=layer), deadline)

    def set_config(self, patch: Mapping[str, Any], persist: bool = False, deadline: Optional[float] = None) -> None:
        """Merges a patch into the programmatic layer; null removes. (`patch`: the patch, in the form of the settings;
        `persist`: true: the change survives a restart)"""
        self.call("config.set", _given(patch=patch, persist=persist or None), deadline)

    def reload_config(self, deadline: Optional[float] = None) -> List[str]:
        """Reads the configuration file again. Gives the key paths of the changed settings."""
        found: List[str] = _member(self.call("config.reload", None, deadline), "changed", list)
        return found

    def metrics(self, deadline: Optional[float] = None) -> List[Mapping[str, Any]]:
        """Returns all metrics, for monitoring systems."""
        found: List[Mapping[str, Any]] = _member(self.call("metrics", None, deadline), "metrics", list)
        return found

    def event_trace(
        self, id: str, namespace: Optional[str] = None, deadline: Optional[float] = None
    ) -> List[Mapping[str, Any]]:
        """Returns the state or outcome of an event for each of its dispatchers. Gives the oldest first. (`id`: the
        event's id; `namespace`: the namespace of the id, as it is stored or as the caller chose it; by default the
        caller's; `*` is any)"""
        found: List[Mapping[str, Any]] = _member(self.call("event.trace", _given(id=id, namespace=namespace), deadline), "events", list)
        return found

    def clients(self, deadline: Optional[float] = None) -> List[Mapping[str, Any]]:
        """Returns every connected client, its counters, and why the daemon does not read from it, if so."""
        found: List[Mapping[str, Any]] = _member(self.call("client.list", None, deadline), "clients", list)
        return found

    def backup(self, backup: Optional[str] = None, deadline: Optional[float] = None) -> JSONObject:
        """Returns the next piece of a consistent copy of the store, as files of a data directory. A connection makes
        one copy at a time. (`backup`: the id of the copy, to continue it; by default, a new copy begins)"""
        return self.call("store.backup", _given(backup=backup), deadline)

    def erase(
        self, when: Any, reason: Optional[str] = None, dry_run: bool = False, deadline: Optional[float] = None
    ) -> JSONObject:
        """Erases stored events for all dispatchers, and dead letters, and removes their bytes from the data directory.
        (`when`: the condition for the events, in the language of load rules; `reason`: the reason, for the log;
        `dry_run`: true: the events are counted, and nothing is erased)"""
        return self.call("store.erase", _given(when=when, reason=reason, dry_run=dry_run or None), deadline)

    def rekey(self, deadline: Optional[float] = None) -> JSONObject:
        """Reads the keys of `store.encryption` again, and rewrites the files under other keys with the first of them,
        in the background."""
        return self.call("store.rekey", None, deadline)
    # end of what Tools/protocol has written

    def watch(self, topics: Optional[Sequence[str]] = None, deadline: Optional[float] = None) -> Watch:
        """Watches changes in the daemon; None is all topics. Returns when the watch has begun."""
        watch = Watch(self, _given(topics=topics))
        watch._standing.deadline = _moment(deadline)
        self._connection.owner = self
        self._wait_for(watch._standing)
        return watch

    def application_status(self, status: str, deadline: Optional[float] = None) -> None:
        """Announces `foreground`, `background` or `exiting` (Behaviour B26, F5). What was announced last is announced
        again on each connection, but for `exiting`."""
        self._wait_for(self._announcement(status, deadline))

    def _announcement(self, status: str, deadline: Optional[float]) -> _Call:
        """Returns the call that announces a status. The previous status stays until the daemon grants this one."""
        params = {"status": status}
        if status == "exiting":
            return _Call(
                "application.status", params, False, deadline, on_grant=lambda _: self._announced(None),
                on_late=lambda _: self._announced(None),
            )  # fmt: skip
        self._connection.owner = self
        standing = _Standing(
            "application.status", params, deadline, about="the application's status",
            on_grant=lambda _: self._announced(standing), on_give_up=lambda: self._announce_again(standing),
        )  # fmt: skip
        return standing

    def _announced(self, standing: Optional[_Standing]) -> None:
        earlier, self._status = self._status, standing
        if earlier is not None and earlier is not standing:
            self._connection.withdraw(earlier)

    def _announce_again(self, given_up: _Standing) -> None:
        if self._status is not None and self._status is not given_up:
            self._connection.restart(self._status)

    # MARK: Barriers

    def barriers(self, deadline: Optional[float] = None) -> List[Barrier]:
        """Returns all barriers, with the dispatchers that they block and the reason (Behaviour B10)."""
        found: List[Barrier] = _member(self.call("barrier.list", None, deadline), "barriers", list)
        return found

    def register_barrier(
        self, id: str, state: str, *, scopes: Union[str, Sequence[str], None] = None, flushable: Optional[bool] = None,
        on_disconnect: Optional[str] = None, deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Registers a barrier of this client (Behaviour B29). It is registered again on each connection, in its last state."""
        params = _given(id=id, state=state, scopes=scopes, flushable=flushable, on_disconnect=on_disconnect)
        self._wait_for(self._registration(params, deadline))

    def _registration(self, params: JSONObject, deadline: Optional[float]) -> _Standing:
        """Returns the call that registers a barrier. An earlier registration of this id stays until the daemon grants this one."""
        params = _as_it_is(params)
        barrier = _OwnBarrier(params)
        barrier.standing = _Standing(
            "barrier.register", params, deadline, about=f"the barrier {params['id']}",
            on_grant=lambda _: self._swap(barrier), on_end=lambda _: self._drop(barrier), further=barrier.further,
            on_give_up=lambda: self._give_back(barrier),
        )  # fmt: skip
        self._connection.owner = self
        with self._connection.lock:
            earlier = self._barriers.get(params["id"])
            if earlier is None or earlier.is_ending:
                if earlier is not None:
                    self._connection.withdraw(earlier.standing)
                self._barriers[params["id"]] = barrier
        return barrier.standing

    def _swap(self, barrier: _OwnBarrier) -> None:
        """Handles the grant of a barrier: forgets the earlier registration of its id."""
        earlier = self._barriers.get(barrier.params["id"])
        if earlier is not None and earlier is not barrier:
            self._connection.withdraw(earlier.standing)
        self._barriers[barrier.params["id"]] = barrier

    def _give_back(self, barrier: _OwnBarrier) -> None:
        """Withdraws a cancelled registration: the client restores the earlier one at the daemon."""
        id = barrier.params["id"]
        current = self._barriers.get(id)
        if current is not None and current is not barrier:
            self._connection.restart(current.standing)
        elif barrier.ends_with_connection:
            self._tell("barrier.unregister", {"id": id}, bound=True)
        else:
            self._begin_ending(id, barrier, "asked")

    def set_barrier(
        self, id: str, state: Optional[str] = None, *, flushable: Optional[bool] = None,
        dispatcher: Optional[str] = None, reason: Optional[str] = None, deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Changes a barrier of this client, for all its scopes or for one dispatcher."""
        change = _given(id=id, state=state, flushable=flushable, dispatcher=dispatcher, reason=reason)
        self._wait_for(self._change(change, deadline))

    def _change(self, change: JSONObject, deadline: Optional[float]) -> _Call:
        """Returns the call that sets a barrier. The change takes effect when it is granted, even if its caller no longer waits."""

        def apply(_: JSONObject) -> None:
            barrier = self._barriers.get(change["id"])
            if barrier is not None and not barrier.is_ending:
                barrier.apply(change)

        with self._connection.lock:
            barrier = self._barriers.get(change["id"])
            is_own = barrier is not None and not barrier.is_ending
            return _Call("barrier.set", change, is_own, deadline, on_grant=apply, on_late=apply)

    def unregister_barrier(self, id: str, force: bool = False, deadline: Optional[float] = None) -> None:
        """Removes a barrier; with `force` that of another owner as well. A barrier that outlives its connection is
        removed as soon as there is a connection again, even after the deadline."""
        held, ending = self._let_go(id)
        if ending is None:
            return self._leave("barrier.unregister", _given(id=id, force=force or None), held, deadline)
        if self._connection.is_own_thread():
            raise HeadgateError.local("misuse", "a callback of the client must not wait for the client")
        try:
            ending.future.result(deadline if deadline is not None and deadline < _LONGEST_WAIT else None)
        except concurrent.futures.TimeoutError:
            raise HeadgateError.local("timed_out", "no answer came in time") from None
        except HeadgateError as error:
            if not _is_gone(error):
                raise

    def _let_go(self, id: str) -> Tuple[str, Optional[_Ending]]:
        """No longer registers a barrier. Returns its state at the daemon, and the call that removes one that outlives its connection."""
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
        # If only this client cancelled the removal, the next call that removes the barrier does it again.
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
        """Takes no more batches. Returns when the present ones are answered."""
        self._stop_serving(self._workers, dispatcher, deadline)

    def serve_board(
        self, board: str, run: Run, *, barrier: Union[Mapping[str, Any], Choose, None] = None,
        bypass_gateway: bool = False, threads: int = 1, deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Serves a board (Behaviour A1), up to `threads` activations at once. If `barrier` is a function, it chooses the barrier of each
        activation."""
        choose = barrier if callable(barrier) else None
        params = _given(board=board, barrier="ask" if choose else barrier, bypass_gateway=bypass_gateway or None)
        standing = _serving(params, deadline)
        served = _Staffed(standing, lambda params: _run(run, params), max(1, threads), "headgate-board", choose)
        self._serve(self._boards, board, served)

    def unserve_board(self, board: str, deadline: Optional[float] = None) -> None:
        self._stop_serving(self._boards, board, deadline)

    def activate(
        self, board: str, input: Any = None, *, mainboard: Optional[str] = None, timeout_ms: Optional[int] = None,
        wait_ms: Optional[int] = None, deadline: Optional[float] = None,
    ) -> JSONObject:  # fmt: skip
        """Activates a board, and returns its `done` and `output`. Raises `cancelled` if a barrier refuses the activation."""
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
        """Adds a worker or board. Returns a function that removes it. A refusal of the daemon removes it, too."""

        def end(_: HeadgateError) -> None:
            if table.get(name) is served:
                del table[name]
            served.dismiss()

        served.standing.on_end = end
        self._connection.owner = self
        with self._connection.lock:
            earlier = table.get(name)
            if earlier is not None:
                served.dismiss()
                raise HeadgateError.local("misuse", f"{name} is already served by this client")
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
        """No longer requests a worker or board, whose running handlers still finish. Returns it, and its state at the daemon."""
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

    def _take_request(self, reply: _Reply, method: str, params: Any) -> None:
        """Handles a request or notification of the daemon. Runs on the connection's thread, with its lock."""
        boards = (self._boards, "board")
        table = {"dispatch": (self._workers, "dispatcher"), "board.run": boards, "board.barrier": boards}.get(method)
        refusal: JSONObject
        if table is None:
            refusal = {"code": -32601, "message": f"there is no method {method}"}
        elif not isinstance(params, dict) or not isinstance(params.get(table[1]), str):
            refusal = {"code": -32602, "message": f"{table[1]} is missing", "data": {"path": table[1]}}
        elif params[table[1]] not in table[0]:
            refusal = {"code": -32000, "message": "this client does not serve it", "data": {"reason": "not_found"}}
        else:
            served = table[0][params[table[1]]]
            return served.choose(params, reply) if method == "board.barrier" else served.take(params, reply)
        reply.give({"error": refusal})

    def _take_change(self, params: JSONObject) -> None:
        name = params.get("watch")
        watch = self._watches.get(name) if isinstance(name, str) else None
        if watch is not None:
            watch._add(News("changed", params))

    # MARK: Calls

    def _wait_for(self, call: _Call) -> JSONObject:
        try:
            self._connection.begin(call)
        except BaseException as error:
            if isinstance(call, _Standing):  # handled as a refusal
                call.on_end(error if isinstance(error, HeadgateError) else HeadgateError.local("misuse", str(error)))
            raise
        if self._connection.is_own_thread():
            self._connection.abandon(call)
            raise HeadgateError.local("misuse", "a callback of the client must not wait for the client")
        try:
            return call.future.result()
        except KeyboardInterrupt:
            self._connection.abandon(call)
            raise

    def _tell(self, method: str, params: JSONObject, bound: bool = False) -> None:
        """Makes a call whose outcome is ignored."""
        call = _Call(method, params, False, None)
        call.bound = bound
        with contextlib.suppress(HeadgateError):
            self._connection.begin(call)

    def _leave(self, method: str, params: JSONObject, held: str, deadline: Optional[float]) -> None:
        """Ends a service that the daemon has granted, or is about to grant: it handles requests in order."""
        call = _leaving(method, params, held, deadline)
        if call is None:
            return
        try:
            self._wait_for(call)
        except HeadgateError as error:
            if not _is_left(held, error):
                raise


def _leaving(method: str, params: JSONObject, held: str, deadline: Optional[float]) -> Optional[_Call]:
    """Returns the call that ends a service at the daemon, or None: a service that ended with its connection needs none."""
    call = _Call(method, params, False, deadline)
    call.bound = held != "another's"
    return None if held == "nothing" else call


def _is_left(held: str, error: HeadgateError) -> bool:
    """Returns true if the error means that the daemon does not have the service: the connection on which it was granted is gone, or
    the request itself was refused with this error."""
    if held == "another's":
        return False
    return error.reason in ("disconnected", "shutting_down") or (held == "asked" and error.code != 0)


def _is_gone(error: HeadgateError) -> bool:
    """Returns true if the error means that the daemon does not have the barrier to be removed: it is unknown, or had no room."""
    return error.code != 0 and error.reason not in ("conflict", "unauthorized")


def _subscription(params: JSONObject, deadline: Optional[float]) -> _Standing:
    leave = ("dispatcher.unsubscribe", {"id": params["id"]})
    return _Standing("dispatcher.subscribe", _as_it_is(params), deadline, about=f"the worker of {params['id']}", leave=leave)


def _serving(params: JSONObject, deadline: Optional[float]) -> _Standing:
    leave = ("board.unserve", {"board": params["board"]})
    return _Standing("board.serve", _as_it_is(params), deadline, about=f"the board {params['board']}", leave=leave)


def _given(**members: Any) -> JSONObject:
    return {name: value for name, value in members.items() if value is not None}


def _with_id(params: JSONObject) -> JSONObject:
    """Returns the params of `track` with an id, and with the time as text."""
    moment = params.get("time")
    if isinstance(moment, datetime.datetime):
        aware = moment if moment.tzinfo is not None else moment.astimezone()
        offset = aware.utcoffset()
        if offset is not None and offset % datetime.timedelta(minutes=1):
            aware = aware.astimezone(datetime.timezone.utc)  # RFC 3339 has no seconds in an offset
        params = {**params, "time": aware.isoformat()}
    return params if params.get("id") is not None else {**params, "id": new_id()}


def _weakly(method: Callable[..., None]) -> Any:
    """Returns a function that calls the method as long as its object exists."""
    reference = weakref.WeakMethod(method)

    def call(*arguments: Any) -> None:
        bound = reference()
        if bound is not None:
            bound(*arguments)

    return call


def _member(result: JSONObject, name: str, kind: type) -> Any:
    value = result.get(name)
    if type(value) is not kind:
        raise HeadgateError.local("bad_answer", f"the result has no {name}")
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
        raise HeadgateError.local("bad_answer", "the result of flush has an unknown end")
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
    if outcomes is not None and not isinstance(outcomes, collections.abc.Mapping):
        raise TypeError(f"a worker returned {type(outcomes).__name__}, and not outcomes by event id")
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
