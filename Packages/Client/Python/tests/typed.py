"""A program that is only type-checked (`mypy --strict`). It has allowed uses of the package, and uses that must be errors."""

import asyncio
import logging
from typing import Dict, Optional

import headgate
import headgate.aio
import headgate.logs


def track(client: headgate.Client) -> Optional[int]:
    receipt = client.track("signup", {"plan": "free"}, deadline=1.0)
    for outcome in client.track_each({"event": "tick", "data": {"n": n}} for n in range(3)):
        if isinstance(outcome, headgate.HeadgateError):
            print(outcome.reason, outcome.path)
    client.track_soon({"event": "x"}).result().duplicate
    client.track_soon({"data": {}})  # type: ignore[typeddict-item]
    return receipt.seq


async def track_in_loop(client: headgate.aio.Client) -> Optional[int]:
    receipt = await client.track("signup", {"plan": "free"}, deadline=1.0)
    soon: asyncio.Future[headgate.Receipt] = await client.track_soon({"event": "x"})
    async with await client.watch(["dispatchers"]) as watch:
        async for news in watch:
            print(news.kind, news.change)
    await client.subscribe("jobs", deliver, credit=4)
    await client.subscribe("jobs", track)  # type: ignore[arg-type]
    return receipt.seq or (await soon).seq


async def deliver(batch: headgate.Batch) -> Dict[str, str]:
    return {event["id"]: "dead" for event in batch.events}


handler: logging.Handler = headgate.logs.Handler("shop", "2.1", level=logging.INFO)
