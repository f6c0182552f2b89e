"""Permanent errors are reported at once. A missing daemon is logged once, and awaited for a limited time."""

import os
import re

from fake_daemon import Broken, FakeDaemon
from program import Program

from .playing import PATIENT, expect_equal, fault


def cannot_connect(command, path):
    """Checks that the program fails at once although its patience is an hour, and that the error has the path."""
    with Program(command, path, *PATIENT, "track", 2, "x") as program:
        lines = program.finish()
    expect_equal([fault(line) for line in lines], [(0, "cannot_connect")] * 2)
    for line in lines:
        if os.path.basename(path) not in line["error"]["message"]:
            raise Broken(f"the error does not name the path: {line}")


def has_too_long_a_path(command):
    """A path longer than the 107 bytes of a Unix socket's path."""
    with FakeDaemon() as daemon:
        cannot_connect(command, os.path.join(daemon.folder, "x" * 120))


def lies_below_a_file(command):
    """A path with a component that is not a folder (ENOTDIR)."""
    with FakeDaemon() as daemon:
        below = os.path.join(daemon.folder, "file")
        open(below, "w", encoding="utf-8").close()
        cannot_connect(command, os.path.join(below, "d.sock"))


def must_not_connect(command):
    """A socket that the program's user may not access (EACCES)."""
    with FakeDaemon() as daemon:
        closed = os.path.join(daemon.folder, "closed")
        os.mkdir(closed)
        os.symlink(daemon.path, os.path.join(closed, "d.sock"))
        os.chmod(closed, 0)
        try:
            cannot_connect([*WITHOUT_PRIVILEGES, *command], os.path.join(closed, "d.sock"))
        finally:
            os.chmod(closed, 0o700)


# Root may enter any folder, unless these capabilities are dropped.
_POWERS = "-dac_override,-dac_read_search"
WITHOUT_PRIVILEGES = (
    [] if os.geteuid() else ["setpriv", f"--bounding-set={_POWERS}", f"--inh-caps={_POWERS}", "--"]
)  # fmt: skip


def is_reported_once(command):
    """While it waits for the daemon, the client logs one warning with the path, and reports the state of the connection."""
    with FakeDaemon() as daemon, Program(command, daemon.path, *PATIENT, "--tell", "yes", "track", 1, "x") as program:
        for _ in range(4):
            daemon.accept().close()
        connection = daemon.greet()
        connection.acknowledge(connection.request("track"))
        lines = program.finish()
        states = [line["state"] for line in lines if "state" in line]
        expect_equal(states, ["disconnected", "connected", "closed"])
        warnings = [line["warning"] for line in lines if "warning" in line]
        if len(warnings) != 1 or daemon.path not in warnings[0]:
            raise Broken(f"expected one warning that names {daemon.path}, got {warnings}")


def reports_a_loss(command):
    """A lost and a restored connection are reported as changes of the state."""
    with FakeDaemon() as daemon, Program(command, daemon.path, *PATIENT, "--tell", "yes", "track", 1, "x") as program:
        first = daemon.greet()
        first.request("track")
        first.close()
        second = daemon.greet()
        second.acknowledge(second.request("track"))
        states = [line["state"] for line in program.finish() if "state" in line]
        expect_equal(states, ["connected", "disconnected", "connected", "closed"])


def limits_the_first_wait(command):
    """By default a program does not wait forever for a daemon that was never running."""
    with FakeDaemon() as daemon:
        daemon.stop_listening()
        with Program(command, daemon.path, "track", 1, "x") as program:
            expect_equal([fault(line) for line in program.finish()], [(0, "cannot_connect")])


def counts_the_dropped(command):
    """Events that were tracked without waiting, and dropped since the client cannot connect, are counted on standard error."""
    with FakeDaemon() as daemon:
        path = os.path.join(daemon.folder, "x" * 120)
        with Program(command, path, *PATIENT, "end", "close", 3, "x", has_errors=True) as program:
            said = program.process.communicate()[1]
    if sum(map(int, re.findall(r"(\d+) events", said))) != 3:
        raise Broken(f"expected a message about 3 events, got {said!r}")


SCENES = [
    has_too_long_a_path, lies_below_a_file, must_not_connect, is_reported_once, reports_a_loss, limits_the_first_wait,
    counts_the_dropped,
]  # fmt: skip
