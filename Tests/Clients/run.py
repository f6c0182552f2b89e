#!/usr/bin/env python3
"""Tests a client program with the golden messages, with broken connections, and with a real daemon.

    run.py [--daemon HEADGATED] [--name NAME] [--profile tracker|worker|full] [--with forks|exits|late|signals|serial …]
           [--only SCENE …] [--skip NAME …] PROGRAM [ARGUMENT …]

Without --daemon there is no certification. PROGRAM implements the verbs of Docs/Clients.md that its profile requires
(profiles.py). `--with` names further abilities of the language. `--only` runs one scene. `--skip` leaves out a scene, or a
file of messages without `.json`.
"""

import argparse
import sys
import time

import certification
import golden
import losses
import profiles
import scenes
from fake_daemon import Broken


def main():
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # allows numbers of any length
    parser = argparse.ArgumentParser()
    parser.add_argument("--daemon")
    parser.add_argument("--name", default="client")
    parser.add_argument("--profile", choices=profiles.PROFILES, default="full")
    parser.add_argument("--with", dest="of_language", action="append", choices=profiles.OF_LANGUAGES, default=[])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    profile = profiles.Profile(given.profile, given.skip, given.only, given.of_language)
    checks = [("golden messages", golden.check_all), ("losses", losses.check_all), *scenes.CHECKS]
    if given.daemon:
        checks.append(("certification", lambda program, profile: certification.check_all(given.daemon, program, profile)))
    failures = sum(not is_passed(given, name, check, profile) for name, check in checks)
    sys.exit(1 if failures else 0)


def is_passed(given, name, check, profile):
    begin = time.monotonic()
    try:
        count = check(given.program, profile)
    except Broken as error:
        print(f"{given.name}: {name}: {error}", file=sys.stderr, flush=True)
        return False
    if count:
        print(f"{given.name}, {given.profile}: {name}: {count} passed in {time.monotonic() - begin:.1f} s", flush=True)
    return True


main()
