#!/usr/bin/env python3
"""Holds a client program against the golden messages, the losses, and a real daemon.

    run.py [--daemon HEADGATED] [--name NAME] [--profile tracker|worker|full] [--skip NAME …] PROGRAM [ARGUMENT …]

Without --daemon there is no certification. PROGRAM follows the verbs of Docs/Clients.md, as far as its profile has them
(profiles.py). What a client cannot do yet is skipped by the name of its scene, or of its file of messages without `.json`.
"""

import argparse
import sys
import time

import certification
import golden
import losses
import profiles
from fake_daemon import Broken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--daemon")
    parser.add_argument("--name", default="client")
    parser.add_argument("--profile", choices=profiles.PROFILES, default="full")
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    profile = profiles.Profile(given.profile, given.skip)
    checks = [("golden messages", golden.check_all), ("losses", losses.check_all)]
    if given.daemon:
        checks.append(("certification", lambda program, profile: certification.check_all(given.daemon, program, profile)))
    for name, check in checks:
        begin = time.monotonic()
        try:
            count = check(given.program, profile)
        except Broken as error:
            sys.exit(f"{given.name}: {name}: {error}")
        print(f"{given.name}, {given.profile}: {name}: {count} passed in {time.monotonic() - begin:.1f} s", flush=True)


main()
