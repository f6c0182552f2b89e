"""A processor for `structlog` that tracks log records as events.

    handler = headgate.logs.Handler("shop", "2.1")
    structlog.configure(processors=[headgate.structured.Processor(handler), structlog.dev.ConsoleRenderer()])

It needs nothing of `structlog` itself. It never waits and never raises: the handler drops records that it cannot track, and reports them.
"""

from __future__ import annotations

import logging
import sys
from types import FrameType
from typing import Any, Dict, MutableMapping, Optional

from headgate.logs import Handler

__all__ = ["Processor"]

_LEVELS = {
    "debug": logging.DEBUG, "info": logging.INFO, "msg": logging.INFO, "warning": logging.WARNING, "warn": logging.WARNING,
    "error": logging.ERROR, "err": logging.ERROR, "exception": logging.ERROR, "critical": logging.CRITICAL, "fatal": logging.CRITICAL,
}  # fmt: skip
_OWN = ("event", "level", "logger", "exc_info", "stack_info", "exception")


class Processor:
    """Tracks each event dictionary by a `headgate.logs.Handler`, and returns it unchanged for the next processor.

    `event` becomes `message`, the method's name becomes the level unless the dictionary has a `level`, and all other members become
    fields. With `is_last` the processor drops the event, so that `structlog` prints nothing.
    """

    def __init__(self, handler: Handler, is_last: bool = False) -> None:
        self._handler = handler
        self._is_last = is_last

    def __call__(self, logger: Any, method_name: str, event_dict: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        try:
            record = _record(logger, method_name, event_dict)
            if self._handler.filter(record) and record.levelno >= self._handler.level:
                self._handler.emit(record)
        except Exception:
            self._handler._dropped.add("bad_record")
        if self._is_last:
            import structlog

            raise structlog.DropEvent
        return event_dict


def _record(logger: Any, method_name: str, values: MutableMapping[str, Any]) -> logging.LogRecord:
    frame = _frame()
    level = _LEVELS.get(str(values.get("level", method_name)).lower(), logging.INFO)
    members: Dict[str, Any] = {f"field_{name}" if name in _USUAL else name: value for name, value in values.items() if name not in _OWN}
    record = logging.LogRecord(
        str(values.get("logger") or getattr(logger, "name", None) or "root"), level, frame.f_code.co_filename if frame else "",
        frame.f_lineno if frame else 0, str(values.get("event", "")), None, _exception(values.get("exc_info")),
        frame.f_code.co_name if frame else None,
    )  # fmt: skip
    vars(record).update(members)
    if isinstance(values.get("exception"), str):
        record.exc_text = values["exception"]
    return record


# The attributes of a record, which a field must not replace.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def _exception(given: Any) -> Any:
    if isinstance(given, BaseException):
        return type(given), given, given.__traceback__
    return given if isinstance(given, tuple) else sys.exc_info() if given else None


def _frame() -> Optional[FrameType]:
    """Returns the frame of the program that logs."""
    frame: Optional[FrameType] = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".", 1)[0] in ("structlog", "headgate"):
        frame = frame.f_back
    return frame
