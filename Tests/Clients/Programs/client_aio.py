#!/usr/bin/env python3
"""The Python client for asyncio as a program, by the verbs of Docs/Clients.md."""

import argparse
import asyncio
import dataclasses
import json
import logging
import os
import sys

sys.path.insert(0, os.environ.get("CERTIFIED_PACKAGE") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../../Packages/Client/Python"
))  # fmt: skip
import headgate  # noqa: E402
import headgate.aio  # noqa: E402

logging.disable()  # handlers that fail do so because they are asked to


def put(value):
    print(json.dumps(value, ensure_ascii=False), flush=True)


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
    "rpc.discover": lambda client, values: client.discover(**values),
    "flush.cancel": lambda client, values: client.cancel_flush(**values),
    "status": lambda client, values: client.status(**values),
    "config.get": lambda client, values: client.config(**values),
    "config.set": lambda client, values: client.set_config(**values),
    "config.reload": lambda client, values: member("changed", client.reload_config(**values)),
    "metrics": lambda client, values: member("metrics", client.metrics(**values)),
    "event.trace": lambda client, values: member("events", client.event_trace(**values)),
    "client.list": lambda client, values: member("clients", client.clients(**values)),
    # end of what Tools/protocol has written
}


def refusal(error):
    return {"code": error.code, "reason": error.reason, "message": error.message, "path": error.path}


async def lines():
    """The lines of the input, as they come."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield line


async def calls(client):
    async for line in lines():
        asked = json.loads(line)
        try:
            put({"result": await CALLS[asked["method"]](client, asked.get("arguments", {})) or {}})
        except headgate.HeadgateError as error:
            put({"error": refusal(error)})


async def track_events(client, count, name):
    """Tracks as many events without waiting in between; tells what came of each, in order."""
    events = ({"event": name, "data": {"n": n}} for n in range(int(count)))
    for n, outcome in enumerate(await client.track_each(events)):
        if isinstance(outcome, headgate.HeadgateError):
            put({"n": n, "error": refusal(outcome)})
        else:
            put({"n": n, "result": dataclasses.asdict(outcome)})


async def work(batch):
    """Events are dealt with as their names say."""
    put({"batch": [event["id"] for event in batch.events], "attempt": batch.attempt})
    names = {event["id"]: event["event"] for event in batch.events}
    if "fail" in names.values():
        raise RuntimeError("as the event asked")
    if "retry_once" in names.values() and batch.attempt > 1:
        return None
    outcomes = {"dead": "dead", "retry": "retry", "retry_once": "retry"}
    return {id: outcomes[name] for id, name in names.items() if name in outcomes}


async def run(activation):
    """The input is the output, unless it asks for something else."""
    if activation.input == "refuse":
        raise headgate.Refused
    if activation.input == "fail":
        raise RuntimeError("as the input asked")
    return activation.input


async def handle(client, *names):
    """Serves what is named, until the input ends: `board:ID`, `worker:ID`, `watch:TOPIC`."""
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
        pass
    for task in watching:
        task.cancel()


async def tell_news(watch):
    async for news in watch:
        put({"news": news.kind, "change": news.change})


VERBS = {"calls": calls, "track": track_events, "handle": handle}


async def main():
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
    client = headgate.aio.Client(
        "certified", "1.0", socket_path=given.socket, namespace=given.namespace, options=options
    )
    await VERBS[given.verb](client, *given.arguments)
    await client.close()


asyncio.run(main())
