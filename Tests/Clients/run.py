#!/usr/bin/env python3
"""Holds a client program against the golden messages, the losses, and a real daemon.

    run.py [--daemon HEADGATED] [--name NAME] [--skip NAME …] PROGRAM [ARGUMENT …]

Without --daemon there is no certification. PROGRAM follows the verbs of Docs/Clients.md. What a client cannot do (yet) is
skipped by the name of its scene, or of its file of messages without `.json`.
"""

import argparse
import sys
import time

import certification
import golden
import losses
from fake_daemon import Broken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--daemon")
    parser.add_argument("--name", default="client")
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    checks = [("golden messages", golden.check_all), ("losses", losses.check_all)]
    if given.daemon:
        checks.append(("certification", lambda program, skipped: certification.check_all(given.daemon, program, skipped)))
    for name, check in checks:
        begin = time.monotonic()
        try:
            count = check(given.program, given.skip)
        except Broken as error:
            sys.exit(f"{given.name}: {name}: {error}")
        print(f"{given.name}: {name}: {count} passed in {time.monotonic() - begin:.1f} s", flush=True)


main()
