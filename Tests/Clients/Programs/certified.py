"""Options, output and handlers shared by both Python programs."""

import argparse
import atexit
import dataclasses
import json
import logging
import os
import signal
import sys
import threading

# Runs at the end of the program. It is registered before the client's module is imported, and therefore runs after the client's own end.
late = []
atexit.register(lambda: [act() for act in late])

sys.path.insert(0, os.environ.get("CERTIFIED_PACKAGE") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../../Packages/Client/Python"
))  # fmt: skip
import headgate  # noqa: E402

_output = threading.Lock()


def put(value):
    """Writes a line. Numbers of any length and unpaired surrogates are written unchanged."""
    line = json.dumps(value, default=_plain)
    with _output:
        print(line, flush=True)


def _plain(value):
    return f"a number: {value}"


def refusal(error):
    return {"code": error.code, "reason": error.reason, "message": error.message, "path": error.path}


def outcome(result):
    """Returns a receipt or an error as a line of the output."""
    if isinstance(result, headgate.HeadgateError):
        return {"error": refusal(result)}
    return {"result": dataclasses.asdict(result)}


class Mute(Exception):
    """An error whose text cannot be converted to a string."""

    def __str__(self):
        raise UnicodeError("no text")


class HalfAPair(Exception):
    """An error with text that is not valid Unicode."""

    def __str__(self):
        return "\ud800"


_mute = [Mute, HalfAPair]


def end_as_asked(words, cancelled):
    """Ends a handler as the input requests. Returns true if the handler must not answer."""
    if "fail" in words:
        raise RuntimeError("as was asked")
    if "long" in words:
        raise RuntimeError("x" * 100_000)
    if "leave" in words:
        sys.exit("as was asked")
    if "cancel" in words:
        raise cancelled("as was asked")
    if "mute" in words:
        _mute.reverse()
        raise _mute[0]
    return "wrong" in words


def outcomes(batch):
    """Returns the outcomes that the names of the events request."""
    names = {event["id"]: event["event"] for event in batch.events}
    if "retry_once" in names.values() and batch.attempt > 1:
        return None
    known = {"dead": "dead", "retry": "retry", "retry_once": "retry"}
    return {id: known[name] for id, name in names.items() if name in known}


def parse(verbs):
    """The options and the verb of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--namespace")
    parser.add_argument("--max-unanswered", type=int, default=16_384)
    parser.add_argument("--greeting-timeout-ms", type=int, default=10_000)
    parser.add_argument("--connect-timeout-ms", type=int)
    parser.add_argument("--reconnect-timeout-ms", type=int)
    parser.add_argument("--deadline-ms", type=int)
    parser.add_argument("--tell")
    parser.add_argument("--signals")
    parser.add_argument("verb", choices=verbs)
    parser.add_argument("arguments", nargs="*")
    given = parser.parse_args()
    if given.signals:
        signal.signal(signal.SIGUSR1, lambda *_: None)
    given.deadline = None if given.deadline_ms is None else given.deadline_ms / 1000
    return given


class _Warnings(logging.Handler):
    """Writes the client's log records."""

    def emit(self, record):
        if record.levelno >= logging.WARNING:
            put({"warning": record.getMessage()})


def options(given):
    """Returns the client's options, and sets up logging as the command line says."""
    log = logging.getLogger("headgate")
    log.propagate = False  # handlers that fail do so because the test requests it
    log.addHandler(_Warnings() if given.tell else logging.StreamHandler() if given.verb == "end" else logging.NullHandler())
    more = {}
    if given.connect_timeout_ms is not None:
        more["connect_timeout"] = given.connect_timeout_ms / 1000
    if given.tell:
        more["on_state"] = lambda state, error: put({"state": state})
    return headgate.Options(
        reconnect_timeout=None if given.reconnect_timeout_ms is None else given.reconnect_timeout_ms / 1000,
        greeting_timeout=given.greeting_timeout_ms / 1000, max_unanswered=given.max_unanswered, backoff_base=0.01,
        backoff_cap=0.2, **more,
    )  # fmt: skip
