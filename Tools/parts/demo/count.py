#!/usr/bin/env python3
"""Counts the outcomes of the events.

    count.py LEDGER TRACKED ACKNOWLEDGED…

LEDGER has a line `id attempt` for each event that the collector accepted. TRACKED is the number of tracked events. Each
ACKNOWLEDGED file has one acknowledged id per line. Exits with 1 if an event was lost or not acknowledged.
"""

import collections
import sys


def main():
    ledger, tracked, *files = sys.argv[1:]
    acknowledged = collections.Counter()
    for name in files:
        with open(name, encoding="ascii") as file:
            acknowledged.update(file.read().split())
    with open(ledger, encoding="ascii") as file:
        arrived = collections.Counter(line.split()[0] for line in file)
    lost = acknowledged.keys() - arrived.keys()
    unasked = int(tracked) - len(acknowledged)
    rows = [
        ("tracked", int(tracked), "by three processes, and three by the tool"),
        ("acknowledged", len(acknowledged), "each after it was synced to the disk"),
        ("delivered", len(arrived), "distinct ids at the collector"),
        ("redelivered", arrived.total() - len(arrived), "repeated deliveries, recognised by their ids"),
        ("lost", len(lost), "acknowledged and never delivered"),
    ]
    for name, count, meaning in rows:
        print(f"  {name:<13}{count:>7}   {meaning}")
    for event_id in sorted(lost)[:10]:
        print(f"    lost: {event_id}")
    if unasked:
        print(f"  {unasked} were never acknowledged")
    sys.exit(1 if lost or unasked else 0)


main()
