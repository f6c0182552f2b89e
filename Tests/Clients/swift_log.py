#!/usr/bin/env python3
"""Tests the Swift client's handler for swift-log, with a fake daemon.

    swift_log.py PROGRAM      PROGRAM: Tests/Clients/SwiftLog, built with the handler and a stand-in of swift-log
"""

import subprocess
import sys

from fake_daemon import Broken, FakeDaemon


class Program:
    """The running program, which answers each line of its input with a line of its output."""

    def __init__(self, program, path, most):
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", program, path, str(most)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def expect(what, wanted, got):
    if wanted != got:
        raise Broken(f"{what}: expected {wanted}, got {got}")


def tracked(connection):
    """Returns the next event, with the request of its `track`."""
    request = connection.request("track")
    return request, request["params"]


def check_fields(program):
    """A record has the documented members; the program's metadata does not replace them."""
    with FakeDaemon() as daemon, Program(program, daemon.path, 10) as logging:
        expect("dropped", "", logging.tell("quiet"))
        expect("dropped", "", logging.tell("record"))
        connection = daemon.greet()
        request, event = tracked(connection)
        process = event["data"].pop("process")
        expect("the process", True, isinstance(process, int) and process > 0)
        expect("the time", True, event["time"].endswith("Z"))
        expect("the name", "log", event["event"])
        data = {
            "task": "7", "till": "3", "shop": "north", "items": ["a", {"b": "2"}], "level": "WARNING", "logger": "till",
            "message": "drawer 3 is open", "source": "Shop", "file": "Shop/Till.swift", "line": 12, "function": "open()",
        }  # fmt: skip
        expect("the data", data, event["data"])
        connection.acknowledge(request)
        expect("left", "0", logging.tell("close"))


def check_away(program):
    """While the daemon is away, records are kept up to the limit. An event before the next record reports the dropped ones."""
    with FakeDaemon() as daemon, Program(program, daemon.path, 10) as logging:
        daemon.stop_listening()
        expect("dropped", "buffer_full 15", logging.tell("25"))
        daemon.listen()
        connection = daemon.greet()
        for number in range(10):
            request, event = tracked(connection)
            expect("a record", f"record {number}", event["data"]["message"])
            connection.acknowledge(request)
        # When the program has read a later answer, it has read all earlier ones.
        connection.expect_silence()
        expect("dropped", "buffer_full 15", logging.tell("1"))
        request, report = tracked(connection)
        expect("the report", "log.dropped", report["event"])
        expect("its count", (15, {"buffer_full": 15}), (report["data"]["count"], report["data"]["reasons"]))
        connection.refuse(request, "queue_full")
        connection.acknowledge(tracked(connection)[0])
        connection.expect_silence()
        logging.tell("1")
        request, report = tracked(connection)
        expect("a report that was refused, again", {"buffer_full": 15}, report["data"]["reasons"])
        connection.acknowledge(request)
        connection.refuse(tracked(connection)[0], "queue_full")
        connection.expect_silence()
        logging.tell("1")
        request, report = tracked(connection)
        expect("a record that was refused", {"queue_full": 1}, report["data"]["reasons"])


def check_end(program):
    """A record that logs itself ends, and so does a close without a daemon. Standard error has the number of dropped records."""
    with FakeDaemon() as daemon, Program(program, daemon.path, 3) as logging:
        daemon.stop_listening()
        expect("dropped", "buffer_full 2, nested 1", logging.tell("nested"))
        expect("left", "3", logging.tell("close"))
        logging.process.stdin.close()
        said = logging.process.stderr.read()
        expect("the final report", True, said.startswith("headgate: log records dropped: ") and "nested" in said)


def main(program):
    for check in (check_fields, check_away, check_end):
        check(program)
    print("swift-log: fields, bounds, and what was dropped")


try:
    main(*sys.argv[1:])
except Broken as error:
    sys.exit(f"swift-log: {error}")
