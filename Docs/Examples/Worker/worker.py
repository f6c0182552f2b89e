#!/usr/bin/env python3
"""A worker in twenty lines: takes batches of the dispatcher `mail` and says what became of each event.

    worker.py SOCKET OUTPUT

An event without `data.to` is refused (a dead letter), one to `later` comes again, the rest is written to OUTPUT.
"""

import json
import socket
import sys

daemon = socket.socket(socket.AF_UNIX)
daemon.connect(sys.argv[1])
lines = daemon.makefile("rw", encoding="utf-8", newline="\n")


def tell(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=lines, flush=True)


def outcome(event, output):
    to = event["data"].get("to")
    if to is None:
        return "dead"
    if to == "later" and event["attempt"] < 3:
        return "retry"
    print(event["id"], event["attempt"], file=output)
    return "delivered"


tell({"id": 1, "method": "dispatcher.subscribe", "params": {"id": "mail", "credit": 2}})
for line in lines:
    message = json.loads(line)
    if "error" in message:
        sys.exit(message["error"]["message"])
    if message.get("method") != "dispatch":
        continue
    with open(sys.argv[2], "a", encoding="utf-8") as output:
        outcomes = {event["id"]: outcome(event, output) for event in message["params"]["events"]}
    tell({"id": message["id"], "result": {"outcomes": outcomes}})
