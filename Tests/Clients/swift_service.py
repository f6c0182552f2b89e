#!/usr/bin/env python3
"""Tests the service of Docs/Guides/Frameworks.md, built with a stand-in of ServiceLifecycle, with a fake daemon.

    swift_service.py --block FILE     writes the page's service to this file
    swift_service.py PROGRAM          PROGRAM: Tests/Clients/SwiftService, built with that file
"""

import pathlib
import re
import subprocess
import sys

from fake_daemon import PATIENCE, FakeDaemon

PAGE = pathlib.Path(__file__).resolve().parents[2] / "Docs/Guides/Frameworks.md"


def write_block(path):
    block = re.search(r"^```swift\n(struct HeadgateService.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[1]
    pathlib.Path(path).write_text("import HeadgateClient\nimport ServiceLifecycle\n\n" + block, encoding="utf-8")


def check(program):
    """After a graceful shutdown the service ends as soon as the daemon has acknowledged all events, and the client is closed."""
    with FakeDaemon() as daemon, subprocess.Popen([program, daemon.path], stdout=subprocess.PIPE, text=True) as process:
        try:
            connection = daemon.greet()
            for _ in range(100):
                connection.acknowledge(connection.request("track"))
            output, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    if (process.returncode, output) != (0, "closed\n"):
        sys.exit(f"ServiceLifecycle: exit code {process.returncode}, and {output!r}")
    print("ServiceLifecycle: the service of the page drains and closes")


if sys.argv[1] == "--block":
    write_block(sys.argv[2])
else:
    check(sys.argv[1])
