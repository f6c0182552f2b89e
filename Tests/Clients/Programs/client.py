#!/usr/bin/env python3
"""The Python client as a program, by the verbs of Docs/Clients.md."""

import argparse
import dataclasses
import json
import logging
import os
import sys
import threading

sys.path.insert(0, os.environ.get("CERTIFIED_PACKAGE") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../../Packages/Client/Python"
))  # fmt: skip
import headgate  # noqa: E402

logging.disable()  # handlers that fail do so because they are asked to
output_lock = threading.Lock()


def put(value):
    with output_lock:
        print(json.dumps(value, ensure_ascii=False), flush=True)


def arguments(values, **names):
    return {names.get(key, key): value for key, value in values.items()}


def track(client, values):
    event = values.pop("event")
    return dataclasses.asdict(client.track(event, values.pop("data", None), **values))


CALLS = {
    "track": track,
    "track_many": lambda client, values: dataclasses.asdict(client.track_many(**values)),
    "flush": lambda client, values: client.flush(**values),
    "barrier.list": lambda client, values: {"barriers": client.barriers()},
    "barrier.register": lambda client, values: client.register_barrier(**values),
    "barrier.set": lambda client, values: client.set_barrier(**values),
    "barrier.unregister": lambda client, values: client.unregister_barrier(**values),
    "dispatcher.list": lambda client, values: {"dispatchers": client.dispatchers()},
    "dispatcher.pause": lambda client, values: client.pause(**arguments(values, id="dispatcher")),
    "dispatcher.resume": lambda client, values: client.resume(values["id"]),
    "queue.peek": lambda client, values: client.peek(**values),
    "queue.purge": lambda client, values: {"purged": client.purge(**values)},
    "dead_letters.list": lambda client, values: client.dead_letters(**values),
    "dead_letters.requeue": lambda client, values: {"count": client.requeue_dead_letters(**values)},
    "dead_letters.purge": lambda client, values: {"count": client.purge_dead_letters(**values)},
    "application.status": lambda client, values: client.application_status(**values),
    "board.activate": lambda client, values: client.activate(**values),
    # written by Tools/protocol: certified
    "ping": lambda client, values: client.ping(**values),
    "rpc.discover": lambda client, values: client.discover(**values),
    "flush.cancel": lambda client, values: client.cancel_flush(**values),
    "status": lambda client, values: client.status(**values),
    "config.get": lambda client, values: client.config(**values),
    "config.set": lambda client, values: client.set_config(**values),
    "config.reload": lambda client, values: {"changed": client.reload_config(**values)},
    "metrics": lambda client, values: {"metrics": client.metrics(**values)},
    "event.trace": lambda client, values: {"events": client.event_trace(**values)},
    "client.list": lambda client, values: {"clients": client.clients(**values)},
    # end of what Tools/protocol has written
}


def answer(client, line):
    asked = json.loads(line)
    try:
        return {"result": CALLS[asked["method"]](client, asked.get("arguments", {})) or {}}
    except headgate.HeadgateError as error:
        return {"error": refusal(error)}


def refusal(error):
    return {"code": error.code, "reason": error.reason, "message": error.message, "path": error.path}


def calls(client):
    for line in sys.stdin:
        put(answer(client, line))


def track_events(client, count, name):
    """Tracks as many events without waiting in between; tells what came of each, in order."""
    for n, outcome in enumerate(client.track_each({"event": name, "data": {"n": n}} for n in range(int(count)))):
        if isinstance(outcome, headgate.HeadgateError):
            put({"n": n, "error": refusal(outcome)})
        else:
            put({"n": n, "result": dataclasses.asdict(outcome)})


def work(batch):
    """Events are dealt with as their names say."""
    put({"batch": [event["id"] for event in batch.events], "attempt": batch.attempt})
    names = {event["id"]: event["event"] for event in batch.events}
    if "fail" in names.values():
        raise RuntimeError("as the event asked")
    if "retry_once" in names.values() and batch.attempt > 1:
        return None
    outcomes = {"dead": "dead", "retry": "retry", "retry_once": "retry"}
    return {id: outcomes[name] for id, name in names.items() if name in outcomes}


def run(activation):
    """The input is the output, unless it asks for something else."""
    if activation.input == "refuse":
        raise headgate.Refused
    if activation.input == "fail":
        raise RuntimeError("as the input asked")
    return activation.input


def handle(client, *names):
    """Serves what is named, until the input ends: `board:ID`, `worker:ID`, `watch:TOPIC`."""
    for name in names:
        kind, id = name.split(":", 1)
        if kind == "board":
            client.serve_board(id, run)
        elif kind == "worker":
            client.subscribe(id, work)
        else:
            threading.Thread(target=tell_news, args=(client.watch([id]),), daemon=True).start()
    put("ready")
    sys.stdin.read()


def tell_news(watch):
    try:
        for news in watch:
            put({"news": news.kind, "change": news.change})
    except headgate.HeadgateError as error:
        put({"ended": refusal(error)})


VERBS = {"calls": calls, "track": track_events, "handle": handle}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--namespace")
    parser.add_argument("--max-unanswered", type=int, default=16_384)
    parser.add_argument("--greeting-timeout-ms", type=int, default=10_000)
    parser.add_argument("--connect-timeout-ms", type=int)
    parser.add_argument("--reconnect-timeout-ms", type=int)
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("arguments", nargs="*")
    given = parser.parse_args()
    options = headgate.Options(
        connect_timeout=None if given.connect_timeout_ms is None else given.connect_timeout_ms / 1000,
        reconnect_timeout=None if given.reconnect_timeout_ms is None else given.reconnect_timeout_ms / 1000,
        greeting_timeout=given.greeting_timeout_ms / 1000, max_unanswered=given.max_unanswered, backoff_base=0.01,
        backoff_cap=0.2,
    )  # fmt: skip
    client = headgate.Client(
        "certified", "1.0", socket_path=given.socket, namespace=given.namespace, options=options
    )
    VERBS[given.verb](client, *given.arguments)
    client.close()


main()
