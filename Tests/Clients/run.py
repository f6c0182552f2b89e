#!/usr/bin/env python3
"""Holds a client program against the golden messages, the losses, and a real daemon.

    run.py [--daemon HEADGATED] [--name NAME] PROGRAM [ARGUMENT …]

Without --daemon there is no certification. PROGRAM follows the verbs of Docs/Clients.md.
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
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    checks = [("golden messages", golden.check_all), ("losses", losses.check_all)]
    if given.daemon:
        checks.append(("certification", lambda program: certification.check_all(given.daemon, program)))
    for name, check in checks:
        begin = time.monotonic()
        try:
            count = check(given.program)
        except Broken as error:
            sys.exit(f"{given.name}: {name}: {error}")
        print(f"{given.name}: {name}: {count} passed in {time.monotonic() - begin:.1f} s", flush=True)


main()
