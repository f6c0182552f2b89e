"""A client program under test, with the verbs of Docs/Clients.md."""

import json
import os
import subprocess
import threading

from fake_daemon import PATIENCE, Broken


class Program:
    """A running program, used as a context manager, which ends it."""

    def __init__(self, command, socket_path, *arguments, has_errors=False):
        self.process = subprocess.Popen(
            [*command, "--socket", socket_path, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if has_errors else None, text=True, bufsize=1, encoding="utf-8", errors="replace",
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        # A watchdog, so that a program that hangs fails its test.
        self.watchdog = threading.Timer(3 * PATIENCE, self.process.kill)
        self.watchdog.start()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self):
        """Returns the next line of the output as JSON."""
        line = self.process.stdout.readline()
        if not line:
            raise Broken(f"the program ended with {self.process.wait()}")
        return json.loads(line)

    def call(self, method, arguments):
        """Lets a program with the verb `calls` make a call, without waiting."""
        self.tell(json.dumps({"method": method, "arguments": arguments}))

    def expect(self, line):
        got = self.line()
        if got != line:
            raise Broken(f"expected {line}, got {got}")

    def finish(self):
        """Ends the program's input, and returns the rest of its output. The program must exit with 0."""
        self.process.stdin.close()
        rest = [json.loads(line) for line in self.process.stdout]
        status = self.process.wait()
        if status != 0:
            raise Broken(f"the program ended with {status}")
        return rest

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                if stream is not None:
                    stream.close()
            except BrokenPipeError:
                pass
