"""One shell, in which the blocks of a document are run one after the other."""

import base64
import os
import secrets
import selectors
import signal
import subprocess
import time


class Session:
    """A bash that stays, so that what one block starts or sets is there for the next."""

    def __init__(self, command, folder, environment):
        self._token = secrets.token_hex(8)
        self._output = f"/tmp/check-docs-{self._token}"
        self._shell = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment, start_new_session=True
        )
        os.set_blocking(self._shell.stdout.fileno(), False)
        # A command that fails ends the shell, whose output goes to the file then, and what it said is still to be told.
        self._write(f"set -o pipefail; exec 3>&1; trap 'cat {self._output} >&3 2>/dev/null; rm -f {self._output}' EXIT\n")

    def run(self, script, patience, is_last_chance=True):
        """Runs a script until its first command that fails.

        A daemon that it starts in the background is waited for until it says that it is ready.

        Returns whether all succeeded, and what it put out. A failure ends the session, unless there is another chance.
        """
        text = base64.b64encode(script.encode()).decode()
        # Background jobs that live on write to a file that nobody reads any more.
        self._write(
            f"rm -f {self._output}; {'set -e' if is_last_chance else ':'}\n"
            f'eval "$(base64 -d <<<{text})" </dev/null >{self._output} 2>&1\n'
            f"status=$?; set +e; {self._wait_for_daemon(script)}\n"
            f"cat {self._output}; echo $status {self._token}\n"
        )
        output = self._read(patience)
        end = f" {self._token}\n"
        if not output.endswith(end):
            return False, output
        output, status = output.removesuffix(end)[:-1], output.removesuffix(end)[-1]
        return status == "0", output

    def _wait_for_daemon(self, script):
        if not any("headgated" in line and line.rstrip().endswith("&") for line in script.splitlines()):
            return ""
        return f"until grep -q '^headgated ready' {self._output}; do sleep 0.1; kill -0 $! 2>/dev/null || exit 1; done"

    def _write(self, text):
        try:
            self._shell.stdin.write(text.encode())
            self._shell.stdin.flush()
        except BrokenPipeError:
            pass  # the shell has ended, which the next reading shows

    def _read(self, patience):
        """What comes until the end of the script or the shell's."""
        data, end = b"", time.monotonic() + patience
        mark = f" {self._token}\n".encode()
        with selectors.DefaultSelector() as selector:
            selector.register(self._shell.stdout, selectors.EVENT_READ)
            while not data.endswith(mark):
                if not selector.select(max(0, end - time.monotonic())):
                    return data.decode(errors="replace") + f"(no end after {patience} s)\n"
                piece = self._shell.stdout.read()
                if not piece:
                    break
                data += piece
        return data.decode(errors="replace")

    def close(self):
        """Ends the shell and all that it started; a daemon may take its time to stop."""
        end = time.monotonic() + 20
        try:
            os.killpg(self._shell.pid, signal.SIGTERM)
            while time.monotonic() < end:
                self._shell.poll()
                os.killpg(self._shell.pid, 0)
                time.sleep(0.05)
            os.killpg(self._shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._shell.wait()
        self._shell.stdout.close()
        try:
            self._shell.stdin.close()
        except BrokenPipeError:
            pass
