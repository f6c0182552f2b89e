"""A handler for `logging` that tracks log records as events.

    logging.getLogger().addHandler(headgate.logs.Handler("shop", "2.1"))

It never waits and never raises: it drops and counts records that it cannot track, and reports them in an event of its own as
soon as there is room again.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import sys
import threading
import traceback
from concurrent.futures import Future
from datetime import datetime, timezone
from typing import Any, Dict, Optional

import headgate
from headgate import HeadgateError, JSONObject, Options

__all__ = ["Handler"]

# The attributes that every record has. All others come from `extra`.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

_DEEPEST = 8
# The greatest number of nested records of a thread. A value that logs while it is formatted would otherwise never end.
_MOST_NESTED = 4


class Handler(logging.Handler):
    """Tracks each record as an event whose data are `level`, `logger`, `message`, `file`, `line`, `function`, `process`,
    `thread`, `exception` if there is one, and the members of `extra`. Its time is that of the record.

    Records are dropped while there is no room (reason `buffer_full`), when the daemon refuses them or the program ends
    before they are acknowledged (the reason of the error), when they cannot be made into an event (`bad_record`), and when
    they are logged while four others of the same thread are being made (`nested`). The next event that can be tracked is
    preceded by one named `EVENT.dropped`: `count`, `reasons` with the count of each, and `since`. At the end, the number of
    unreported records is written to standard error. Records of the logger `headgate` are not tracked: the client writes them.

    A handler may be used by any number of threads, and in forked processes.
    """

    def __init__(
        self, program: str = "python", version: str = "", *, client: Optional[headgate.Client] = None,
        event: str = "log", level: int = logging.NOTSET, socket_path: Optional[str] = None,
        flush_timeout: float = 2.0, options: Options = Options(connect_timeout=None),
    ) -> None:  # fmt: skip
        """program, version: the program's name and version, the events' `context.client`.
        client: a client of the program, which the program closes itself; by default the handler makes one.
        event: the events' name.
        flush_timeout: the longest wait of `flush`, and of the end of the program, in seconds.
        options: the options of the handler's client. By default it waits for the daemon without an end. Its
            `close_timeout` is the `flush_timeout`.
        """
        super().__init__(level)
        own = dataclasses.replace(options, close_timeout=flush_timeout)
        self._client = client or headgate.Client(program, version, socket_path=socket_path, options=own)
        if client is None:
            self._client._connection.tells_what_is_left = False  # the handler logs their number, with the records that it dropped
        self._is_own = client is None
        self._event = event
        self._flush_timeout = flush_timeout
        self._dropped = _Dropped()
        self._thread = threading.local()
        # True if a `flush` timed out and no record came since: `close` does not wait for the same records again.
        self._has_waited = False

    def createLock(self) -> None:
        """Makes a lock that does nothing: threads must not wait for each other."""
        self.lock = _NoLock()  # type: ignore[assignment]

    @property
    def dropped(self) -> Dict[str, int]:
        """The number of dropped records, by reason."""
        return self._dropped.all()

    def filter(self, record: logging.LogRecord) -> Any:
        """Leaves out the client's own records: tracking them might cause more of them."""
        return record.name.split(".", 1)[0] != "headgate" and super().filter(record)

    def emit(self, record: logging.LogRecord) -> None:
        """Tracks a record, or drops it."""
        # A signal handler may log while this thread is in here, and so may a value while it is formatted.
        level = getattr(self._thread, "level", 0)
        if level >= _MOST_NESTED:
            return self._dropped.add("nested")
        self._thread.level = level + 1
        try:
            self._emit(record)
        except Exception:
            self._dropped.add("bad_record")
        finally:
            self._thread.level = level

    def flush(self) -> None:
        """Waits until all records are acknowledged, but no longer than `flush_timeout`."""
        try:
            self._tell_of_dropped()
            if not headgate._is_exiting:  # the end of the program waits for each record itself
                self._client.drain(self._flush_timeout)
        except HeadgateError as error:  # records that are not acknowledged are counted when they are dropped
            self._has_waited = error.reason == "timed_out"

    def close(self) -> None:
        """Closes the client, if it is the handler's own, and writes the unreported drops to standard error."""
        super().close()
        if self._is_own:
            if self._has_waited:
                self._client._connection.patience_at_end = 0.0
            self._client.close()
        reasons = self._dropped.take()[0]
        if reasons:
            text = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
            print(f"headgate: log records dropped: {text}", file=sys.stderr)

    def _emit(self, record: logging.LogRecord) -> None:
        self._has_waited = False
        event = {"event": self._event, "data": _data(record), "time": _moment(record.created)}
        self._tell_of_dropped()
        if not self._track(event, lambda reason: self._dropped.add(reason)):
            self._dropped.add("buffer_full")

    def _tell_of_dropped(self) -> None:
        if not self._dropped or not self._client._connection.has_room:
            return
        reasons, since = self._dropped.take()
        if not reasons:
            return  # another thread has reported them
        data = {"count": sum(reasons.values()), "reasons": reasons, "since": _moment(since)}
        event = {"event": f"{self._event}.dropped", "data": data}

        def put_back(_: str) -> None:
            self._dropped.put_back(reasons, since)

        if not self._track(event, put_back):
            put_back("")

    def _track(self, event: JSONObject, failed: Any) -> bool:
        """Tracks an event if there is room."""
        call = headgate._Call("track", headgate._with_id(event), True, None)
        call.future.add_done_callback(lambda done: _judge(done, failed))
        try:
            self._client._connection.begin_if_room(call)
        except HeadgateError:
            return False  # there is no room, or the client is closed
        return True


class _NoLock:
    """A lock that does nothing, for `logging`."""

    def acquire(self) -> None:
        pass

    def release(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def _judge(done: Future[JSONObject], failed: Any) -> None:
    error = done.exception()
    if error is not None:
        failed((error.reason if isinstance(error, HeadgateError) else None) or "refused")


class _Dropped:
    """The dropped records that are not reported yet, and all dropped records, by reason."""

    def __init__(self) -> None:
        # Reentrant: a signal handler may log while this thread is in here.
        self._lock = threading.RLock()
        self._untold: Dict[str, int] = {}
        self._ever: Dict[str, int] = {}
        self._since = 0.0

    def __bool__(self) -> bool:
        return bool(self._untold)

    def add(self, reason: str) -> None:
        with self._lock:
            self._ever[reason] = self._ever.get(reason, 0) + 1
            if not self._untold:
                self._since = _now()
            self._untold[reason] = self._untold.get(reason, 0) + 1

    def take(self) -> Any:
        """Returns the dropped records to report, and since when they were dropped."""
        with self._lock:
            untold, self._untold = self._untold, {}
            return untold, self._since

    def put_back(self, reasons: Dict[str, int], since: float) -> None:
        """Takes back records whose report was not stored."""
        with self._lock:
            self._since = since
            for reason, count in reasons.items():
                self._untold[reason] = self._untold.get(reason, 0) + count

    def all(self) -> Dict[str, int]:
        with self._lock:
            return dict(self._ever)


def _now() -> float:
    return datetime.now(timezone.utc).timestamp()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _data(record: logging.LogRecord) -> JSONObject:
    extra = {name: _plain(value) for name, value in vars(record).items() if name not in _USUAL}
    data: JSONObject = {
        **extra, "level": record.levelname, "logger": record.name, "message": _text(record.getMessage()),
        "file": _text(record.pathname), "line": record.lineno, "function": record.funcName,
        "process": record.process, "thread": record.threadName,
    }  # fmt: skip
    if record.exc_info and record.exc_info[0] is not None:
        data["exception"] = _text("".join(traceback.format_exception(*record.exc_info)).rstrip("\n"))
    elif record.exc_text:
        data["exception"] = _text(record.exc_text)
    if record.stack_info:
        data["stack"] = _text(record.stack_info)
    return data


def _text(text: str) -> str:
    """Returns a text without characters that UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def _plain(value: Any, depth: int = 0) -> Any:
    """Returns a value that JSON can represent. Other values become their `repr`."""
    if value is None or isinstance(value, (bool, int)) or isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, str):
        return _text(value)
    if depth < _DEEPEST and isinstance(value, dict):
        return {_text(str(name)): _plain(member, depth + 1) for name, member in value.items()}
    if depth < _DEEPEST and isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(member, depth + 1) for member in value]
    return _text(repr(value))
