#!/usr/bin/env python3
"""The Python client for asyncio as a program with the verbs of Docs/Clients.md."""

import asyncio
import dataclasses
import json
import sys

from certified import end_as_asked, headgate, options, outcome, outcomes, parse, put, refusal

import headgate.aio  # noqa: E402


def renamed(values, **names):
    return {names.get(key, key): value for key, value in values.items()}


async def track(client, values):
    event = values.pop("event")
    return dataclasses.asdict(await client.track(event, values.pop("data", None), **values))


async def track_many(client, values):
    return dataclasses.asdict(await client.track_many(**values))


async def member(name, result):
    return {name: await result}


CALLS = {
    "track": track,
    "track_many": track_many,
    "flush": lambda client, values: client.flush(**values),
    "barrier.list": lambda client, values: member("barriers", client.barriers()),
    "barrier.register": lambda client, values: client.register_barrier(**values),
    "barrier.set": lambda client, values: client.set_barrier(**values),
    "barrier.unregister": lambda client, values: client.unregister_barrier(**values),
    "dispatcher.list": lambda client, values: member("dispatchers", client.dispatchers()),
    "dispatcher.pause": lambda client, values: client.pause(**renamed(values, id="dispatcher")),
    "dispatcher.resume": lambda client, values: client.resume(values["id"]),
    "queue.peek": lambda client, values: client.peek(**values),
    "queue.purge": lambda client, values: member("purged", client.purge(**values)),
    "dead_letters.list": lambda client, values: client.dead_letters(**values),
    "dead_letters.requeue": lambda client, values: member("count", client.requeue_dead_letters(**values)),
    "dead_letters.purge": lambda client, values: member("count", client.purge_dead_letters(**values)),
    "application.status": lambda client, values: client.application_status(**values),
    "board.activate": lambda client, values: client.activate(**values),
    # written by Tools/protocol: async_certified
    "ping": lambda client, values: client.ping(**values),
    "rights": lambda client, values: client.rights(**values),
    "rpc.discover": lambda client, values: client.discover(**values),
    "flush.cancel": lambda client, values: client.cancel_flush(**values),
    "flush.list": lambda client, values: member("flushes", client.flushes(**values)),
    "status": lambda client, values: client.status(**values),
    "dispatcher.retry": lambda client, values: client.retry(**values),
    "dispatcher.rewind": lambda client, values: client.rewind(**values),
    "config.get": lambda client, values: client.config(**values),
    "config.set": lambda client, values: client.set_config(**values),
    "config.reload": lambda client, values: member("changed", client.reload_config(**values)),
    "metrics": lambda client, values: member("metrics", client.metrics(**values)),
    "event.trace": lambda client, values: member("events", client.event_trace(**values)),
    "client.list": lambda client, values: member("clients", client.clients(**values)),
    "store.backup": lambda client, values: client.backup(**values),
    "store.erase": lambda client, values: client.erase(**values),
    "store.rekey": lambda client, values: client.rekey(**values),
    # end of what Tools/protocol has written
}


async def lines():
    """Yields the lines of the input as they arrive."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield line


async def calls(client, given):
    async for line in lines():
        asked = json.loads(line)
        values = asked.get("arguments", {})
        if given.deadline is not None:
            values["deadline"] = given.deadline
        try:
            put({"result": await CALLS[asked["method"]](client, values) or {}})
        except headgate.HeadgateError as error:
            put({"error": refusal(error)})


def events(count, name, size=0):
    more = {"text": "x" * int(size)} if size else {}
    return ({"event": name, "data": {"n": n, **more}} for n in range(int(count)))


async def track_events(client, given, count, name):
    """Tracks events without waiting between them, and writes the outcomes in order."""
    for n, result in enumerate(await client.track_each(events(count, name))):
        put({"n": n, **outcome(result)})


async def try_events(client, given, count, name, size=0):
    """Tracks events with calls that never wait. It writes refusals at once, and the other outcomes later."""
    taken = []
    for n, event in enumerate(events(count, name, size)):
        try:
            taken.append((n, client.try_track(event)))
        except headgate.HeadgateError as error:
            put({"n": n, "error": refusal(error)})
    put("tried")
    for n, receipt in taken:
        put({"n": n, **await waited(receipt)})


async def waited(work):
    try:
        return outcome(await work)
    except headgate.HeadgateError as error:
        return outcome(error)


async def room(client, given, name):
    """Tracks an event that uses the available room, and another that waits for room until the deadline."""
    first = await client.track_soon({"event": name})
    put(await waited(client.track(name, deadline=given.deadline)))
    put(await waited(first))


async def end(client, given, how, count, name):
    """Tracks events without waiting, then ends the program in the given way."""
    if how == "throw":
        async with client:
            await begin(client, count, name)
            raise RuntimeError("as was asked")
    await begin(client, count, name)
    if how == "exit":
        sys.exit(0)
    if how == "close":
        await client.close()


async def begin(client, count, name):
    for event in events(count, name):
        await client.track_soon(event)


go_on = asyncio.Event()


async def work(batch):
    """Handles each event as its name requests."""
    put({"batch": [event["id"] for event in batch.events], "attempt": batch.attempt})
    words = {event["event"] for event in batch.events}
    if "wait" in words:
        await go_on.wait()
    if end_as_asked(words, asyncio.CancelledError):
        return False
    return outcomes(batch)


async def run(activation):
    """Returns the input as output, unless the input requests something else."""
    word = activation.input if isinstance(activation.input, str) else ""
    if word == "refuse":
        raise headgate.Refused
    if word == "wait":
        put({"runs": activation.board})
        await go_on.wait()
    if end_as_asked({word}, asyncio.CancelledError):
        return object()
    return activation.input


async def handle(client, given, *names):
    """Serves `board:ID`, `worker:ID` and `watch:TOPIC` until the input ends."""
    watching = []
    for name in names:
        kind, id = name.split(":", 1)
        if kind == "board":
            await client.serve_board(id, run)
        elif kind == "worker":
            await client.subscribe(id, work)
        else:
            watching.append(asyncio.create_task(tell_news(await client.watch([id]))))
    put("ready")
    async for _ in lines():
        go_on.set()
    for task in watching:
        task.cancel()


async def tell_news(watch):
    async for news in watch:
        put({"news": news.kind, "change": news.change})


VERBS = {
    "calls": calls, "track": track_events, "try": try_events, "room": room, "end": end, "handle": handle,
}  # fmt: skip


async def main():
    given = parse(VERBS)
    client = headgate.aio.Client(
        "certified", "1.0", socket_path=given.socket, namespace=given.namespace, options=options(given)
    )
    await VERBS[given.verb](client, given, *given.arguments)
    if given.verb != "end":
        await client.close()


asyncio.run(main())
