#!/usr/bin/env python3
"""Runs the examples of Docs/Examples/Clients against a real daemon, and tests that want nothing but its socket.

    examples.py HEADGATED [TEST …]

Examples whose interpreter is not there are told and left out.
"""

import os
import pathlib
import shutil
import subprocess
import sys

from certification import SETTINGS, Caller
from fake_daemon import PATIENCE, Broken
from program import Program
from real_daemon import RealDaemon

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "Docs" / "Examples" / "Clients"


def run(daemon, *command, lines="", status=0):
    """The lines that a command puts out."""
    environment = {**os.environ, "HEADGATE_SOCKET": daemon.socket_path}
    end = subprocess.run(command, input=lines, capture_output=True, text=True, env=environment, timeout=PATIENCE)
    if end.returncode != status:
        raise Broken(f"{command[1]} ended with {end.returncode}: {end.stderr}")
    return end.stdout.splitlines()


def delivered(daemon):
    """What has been delivered once everything is."""
    with Program([sys.executable, str(ROOT / "Tests/Clients/Programs/client.py")], daemon.socket_path, "calls") as program:
        Caller(program).result("flush", wait=True)
    return daemon.delivered()


def expect(name, wanted, got):
    if wanted != got:
        raise Broken(f"{name}: expected {wanted}, got {got}")


def shell(daemon):
    script = str(EXAMPLES / "track.sh")
    answers = [run(daemon, "bash", script, 'a "quoted" \\ name', "sh-1") for _ in range(2)]
    expect("the repeat", [False, True], ['"duplicate":true' in answer[0] for answer in answers])
    expect("what is delivered", ['a "quoted" \\ name'], [event["event"] for event in delivered(daemon)])
    run(daemon, "bash", script, "", "sh-2", status=1)


def perl(daemon):
    ids = run(daemon, "perl", str(EXAMPLES / "track.pl"), "line", lines="one\ntwö\nthree \"3\"\n")
    events = delivered(daemon)
    expect("the ids", ids, [event["id"] for event in events])
    expect("the lines", ["one", "twö", 'three "3"'], [event["data"]["line"] for event in events])


def node(daemon):
    daemon.kill()
    environment = {**os.environ, "HEADGATE_SOCKET": daemon.socket_path}
    command = ["node", str(EXAMPLES / "track.mjs"), "tick", "200"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        daemon.start()
        ids = process.communicate(timeout=PATIENCE)[0].splitlines()
    expect("its end", 0, process.returncode)
    events = delivered(daemon)
    expect("the ids", ids, [event["id"] for event in events])
    expect("the order", list(range(1, 201)), [event["data"]["n"] for event in events])


def main():
    for interpreter, example in (("socat", shell), ("perl", perl), ("node", node)):
        if shutil.which(interpreter) is None:
            print(f"{example.__name__}: left out, there is no {interpreter}")
            continue
        with RealDaemon(sys.argv[1], SETTINGS) as daemon:
            try:
                example(daemon)
            except Broken as error:
                sys.exit(f"{example.__name__}: {error}")
        print(f"{example.__name__}: passed")
    for test in sys.argv[2:]:
        with RealDaemon(sys.argv[1], SETTINGS) as daemon:
            end = subprocess.run([test, daemon.socket_path], timeout=PATIENCE)
        if end.returncode != 0:
            sys.exit(f"{test} ended with {end.returncode}")


main()
