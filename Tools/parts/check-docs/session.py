"""A shell that runs the blocks of a document one after the other."""

import base64
import os
import secrets
import selectors
import signal
import subprocess
import time


class Session:
    """A persistent bash, so that a block can use what earlier blocks started or set."""

    def __init__(self, command, folder, environment):
        self._token = secrets.token_hex(8)
        self._output = f"/tmp/check-docs-{self._token}"
        self._shell = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment, start_new_session=True
        )
        os.set_blocking(self._shell.stdout.fileno(), False)
        # A failing command ends the shell. The trap then copies the output to descriptor 3, so that it can be reported.
        self._write(f"set -o pipefail; exec 3>&1; trap 'cat {self._output} >&3 2>/dev/null; rm -f {self._output}' EXIT\n")

    def run(self, script, patience, is_last_chance=True):
        """Runs a script until its first command that fails.

        If the script starts a daemon in the background, the call waits until the daemon is ready.

        Returns true if every command succeeded, and the output. A failure ends the session unless it may be repeated.
        """
        text = base64.b64encode(script.encode()).decode()
        # Background jobs that continue write to a file that is no longer read.
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
            pass  # the shell has ended; the next read handles that

    def _read(self, patience):
        """Reads the output until the script or the shell ends."""
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
        """Ends the shell and everything that it started. A daemon may need time to stop."""
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
