#!/usr/bin/env python3
"""Runs the examples of Docs/Examples against a real daemon, and tests that only need its socket.

    examples.py [--swift SwiftClientExample] HEADGATED [TEST …]

Examples without an installed interpreter are reported and skipped.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

from certification import SETTINGS, Caller, with_settings
from fake_daemon import PATIENCE, Broken
from program import Program
from real_daemon import RealDaemon

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "Docs" / "Examples" / "Clients"


def run(daemon, *command, lines="", status=0):
    """Returns the output lines of a command."""
    environment = {**os.environ, "HEADGATE_SOCKET": daemon.socket_path}
    end = subprocess.run(command, input=lines, capture_output=True, text=True, env=environment, timeout=PATIENCE)
    if end.returncode != status:
        raise Broken(f"{command[1]} ended with {end.returncode}: {end.stderr}")
    return end.stdout.splitlines()


def delivered(daemon):
    """Waits until everything is delivered, and returns the delivered events."""
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
    expect("the delivered events", ['a "quoted" \\ name'], [event["event"] for event in delivered(daemon)])
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


class Running:
    """An example that runs until it is stopped."""

    def __init__(self, daemon, *command):
        environment = {**os.environ, "HEADGATE_SOCKET": daemon.socket_path}
        # Line buffering as on a terminal, so that each line appears at once.
        command = ["stdbuf", "-oL", *command]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self.watchdog = threading.Timer(PATIENCE, self.process.kill)
        self.watchdog.start()

    def read_until(self, wanted):
        for line in self.process.stdout:
            if line.rstrip("\n") == wanted:
                return
        raise Broken(f"the program never wrote {wanted}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.process.kill()
        self.process.communicate()


def calls(daemon):
    return Program([sys.executable, str(ROOT / "Tests/Clients/Programs/client.py")], daemon.socket_path, "calls")


def swift_track(daemon, example):
    expect("the exit code and output", ["flush: settled"], run(daemon, example, "track"))
    names = [event["event"] for event in delivered(daemon)]
    expect("the delivered events", ["cart", "signup"] + ["tick"] * 1_000, names)


def swift_signup(daemon, example):
    expect("the answer", ["201", "201"], run(daemon, example, "signup"))
    events = [(event["id"], event["data"]["plan"], event["data"]["seats"]) for event in delivered(daemon)]
    expect("the delivered events", [("r-1", "free", 3)], events)


def swift_watch(daemon, example):
    with calls(daemon) as program, Running(daemon, example, "watch") as watch:
        watch.read_until("collect open")
        Caller(program).result("dispatcher.pause", id="collect")
        watch.read_until("collect held by ManualBarrier:collect")
        daemon.kill()
        watch.read_until("the daemon is gone: the connection was lost before the answer came")
        daemon.start()
        watch.read_until("watching")


def swift_consent(daemon, example):
    with calls(daemon) as program:
        Caller(program).result("track", event="collected")
        run(daemon, example, "consent", lines="yes\n")
        expect("the delivered events", ["collected"], [event["event"] for event in daemon.delivered()])
        barriers = Caller(program).result("barrier.list")["barriers"]
        expect("the remaining barriers", [], [barrier["id"] for barrier in barriers if barrier["id"] == "consent"])


def swift_greet(daemon, example):
    expect("the exit code and output", ['done: {"text":"Hello Ada"}'], run(daemon, example, "greet"))


@with_settings({"dispatchers": {"print": {"kind": "worker"}}})
def swift_print(daemon, example):
    with calls(daemon) as program, Running(daemon, example, "print") as worker:
        caller = Caller(program)
        caller.result("track", event="label", data={"label": "4 pounds of nails"})
        worker.read_until("4 pounds of nails")
        caller.result("track", event="label", id="empty")
        caller.result("flush", wait=True)
        letters = caller.result("dead_letters.list")["dead_letters"]
        expect("the dead letters", ["empty"], [letter["event"]["id"] for letter in letters])


def swift_texts():
    """Checks that the Swift code in the documentation is identical to the examples."""
    folders = [ROOT / "Docs/Examples/SwiftClient", ROOT / "Docs/Examples/SwiftPackage"]
    sources = "".join(path.read_text() for folder in folders for path in sorted(folder.rglob("*.swift")))
    lines = [line.strip() for line in sources.splitlines()]
    catalogue = ROOT / "Packages/Client/Sources/HeadgateClient/HeadgateClient.docc"
    pages = [ROOT / "Docs/Clients.md", ROOT / "Docs/Swift.md", *sorted(catalogue.glob("*.md"))]
    blocks = [(page, block) for page in pages for block in re.findall(r"```swift\n(.*?)```", page.read_text(), re.S)]
    expect("there is an entry", True, len(blocks) > 5)
    for page, block in blocks:
        wanted = [line.strip() for line in block.splitlines()]
        is_there = any(lines[place : place + len(wanted)] == wanted for place in range(len(lines)))
        expect(f"whether the examples have this of {page.name}: {block}", True, is_there)


SCRIPTS = [("socat", shell), ("perl", perl), ("node", node)]
def swift_end(daemon, example):
    expect("the exit code and output", ["0 events were not acknowledged"], run(daemon, example, "end"))
    expect("the delivered events", ["page", "signup"], sorted(event["event"] for event in delivered(daemon)))


SWIFT = [swift_track, swift_end, swift_signup, swift_watch, swift_consent, swift_greet, swift_print]


def play(executable, example, *arguments):
    with RealDaemon(executable, getattr(example, "settings", SETTINGS)) as daemon:
        try:
            example(daemon, *arguments)
        except Broken as error:
            sys.exit(f"{example.__name__}: {error}")
    print(f"{example.__name__}: passed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--swift")
    parser.add_argument("daemon")
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args()
    for interpreter, example in SCRIPTS:
        if shutil.which(interpreter) is None:
            print(f"{example.__name__}: left out, there is no {interpreter}")
        else:
            play(given.daemon, example)
    try:
        swift_texts()
    except Broken as error:
        sys.exit(str(error))
    for example in SWIFT if given.swift else []:
        play(given.daemon, example, given.swift)
    for test in given.tests:
        with RealDaemon(given.daemon, SETTINGS) as daemon:
            end = subprocess.run([test, daemon.socket_path], timeout=PATIENCE)
        if end.returncode != 0:
            sys.exit(f"{test} ended with {end.returncode}")


if __name__ == "__main__":
    main()
