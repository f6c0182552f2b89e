#!/usr/bin/env python3
"""The Python client as a program with the verbs of Docs/Clients.md."""

import asyncio
import dataclasses
import json
import os
import sys
import threading

from certified import end_as_asked, headgate, late, options, outcome, outcomes, parse, put, refusal


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
    "rights": lambda client, values: client.rights(**values),
    "rpc.discover": lambda client, values: client.discover(**values),
    "flush.cancel": lambda client, values: client.cancel_flush(**values),
    "flush.list": lambda client, values: {"flushes": client.flushes(**values)},
    "status": lambda client, values: client.status(**values),
    "dispatcher.retry": lambda client, values: client.retry(**values),
    "dispatcher.rewind": lambda client, values: client.rewind(**values),
    "config.get": lambda client, values: client.config(**values),
    "config.set": lambda client, values: client.set_config(**values),
    "config.reload": lambda client, values: {"changed": client.reload_config(**values)},
    "metrics": lambda client, values: {"metrics": client.metrics(**values)},
    "event.trace": lambda client, values: {"events": client.event_trace(**values)},
    "client.list": lambda client, values: {"clients": client.clients(**values)},
    "store.backup": lambda client, values: client.backup(**values),
    "store.erase": lambda client, values: client.erase(**values),
    "store.rekey": lambda client, values: client.rekey(**values),
    # end of what Tools/protocol has written
}


def answer(client, line, deadline):
    asked = json.loads(line)
    values = asked.get("arguments", {})
    if deadline is not None:
        values["deadline"] = deadline
    try:
        return {"result": CALLS[asked["method"]](client, values) or {}}
    except headgate.HeadgateError as error:
        return {"error": refusal(error)}


def calls(client, given):
    for line in sys.stdin:
        put(answer(client, line, given.deadline))


def events(count, name, size=0):
    more = {"text": "x" * int(size)} if size else {}
    return ({"event": name, "data": {"n": n, **more}} for n in range(int(count)))


def track_events(client, given, count, name):
    """Tracks events without waiting between them, and writes the outcomes in order."""
    for n, result in enumerate(client.track_each(events(count, name))):
        put({"n": n, **outcome(result)})


def try_events(client, given, count, name, size=0):
    """Tracks events with calls that never wait. It writes refusals at once, and the other outcomes later."""
    taken = []
    for n, event in enumerate(events(count, name, size)):
        try:
            taken.append((n, client.try_track(event)))
        except headgate.HeadgateError as error:
            put({"n": n, "error": refusal(error)})
    put("tried")
    for n, receipt in taken:
        put({"n": n, **waited(receipt.result)})


def waited(work):
    try:
        return outcome(work())
    except headgate.HeadgateError as error:
        return outcome(error)


def room(client, given, name):
    """Tracks an event that uses the available room, and another that waits for room until the deadline."""
    first = client.track_soon({"event": name})
    put(waited(lambda: client.track_soon({"event": name}, given.deadline).result()))
    put(waited(first.result))


def end(client, given, how, count, name):
    """Tracks events without waiting, then ends the program in the given way."""
    if how == "throw":
        with client:
            begin(client, count, name)
            raise RuntimeError("as was asked")
    if how == "late":
        client.track(name)
        return late.append(lambda: begin(client, count, name))
    begin(client, count, name)
    if how == "exit":
        sys.exit(0)
    if how == "close":
        client.close()


def begin(client, count, name):
    for event in events(count, name):
        client.track_soon(event)


def fork(client, given, name):
    """Tracks an event before, in, and after a child process."""
    client.track(name)
    child = os.fork()
    if child == 0:
        put({"child": waited(lambda: client.track(name))})
        os._exit(0)
    os.waitpid(child, 0)
    put({"parent": waited(lambda: client.track(name))})


go_on = threading.Event()


def work(batch):
    """Handles each event as its name requests."""
    put({"batch": [event["id"] for event in batch.events], "attempt": batch.attempt})
    words = {event["event"] for event in batch.events}
    if "wait" in words:
        go_on.wait()
    if end_as_asked(words, asyncio.CancelledError):
        return False
    return outcomes(batch)


def run(activation):
    """Returns the input as output, unless the input requests something else."""
    word = activation.input if isinstance(activation.input, str) else ""
    if word == "refuse":
        raise headgate.Refused
    if word == "wait":
        put({"runs": activation.board})
        go_on.wait()
    if end_as_asked({word}, asyncio.CancelledError):
        return object()
    return activation.input


def handle(client, given, *names):
    """Serves `board:ID`, `worker:ID` and `watch:TOPIC` until the input ends."""
    for name in names:
        kind, id = name.split(":", 1)
        if kind == "board":
            client.serve_board(id, run)
        elif kind == "worker":
            client.subscribe(id, work)
        else:
            threading.Thread(target=tell_news, args=(client.watch([id]),), daemon=True).start()
    put("ready")
    for _ in sys.stdin:
        go_on.set()


def tell_news(watch):
    try:
        for news in watch:
            put({"news": news.kind, "change": news.change})
    except headgate.HeadgateError as error:
        put({"ended": refusal(error)})


VERBS = {
    "calls": calls, "track": track_events, "try": try_events, "room": room, "end": end, "fork": fork, "handle": handle,
}  # fmt: skip


def main():
    given = parse(VERBS)
    client = headgate.Client(
        "certified", "1.0", socket_path=given.socket, namespace=given.namespace, options=options(given)
    )
    VERBS[given.verb](client, given, *given.arguments)
    if given.verb != "end":
        client.close()


main()
