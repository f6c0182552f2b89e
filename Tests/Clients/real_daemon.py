"""A real daemon, and a way to it that breaks where the test wants it to."""

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from fake_daemon import PATIENCE, Broken, Connection


class RealDaemon:
    """A daemon with settings and a folder of its own. It can be killed and started again."""

    def __init__(self, executable, settings):
        self.executable = executable
        self.folder = tempfile.mkdtemp(prefix="headgate-")
        self.socket_path = os.path.join(self.folder, "d.sock")
        self.data = os.path.join(self.folder, "data")
        self.config = os.path.join(self.folder, "headgate.json")
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        self.process = None
        self.start()

    def start(self):
        command = [self.executable, "--config", self.config, "--socket", self.socket_path, "--data", self.data]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if line.startswith("headgated ready"):
                # Keep reading its log, so that the daemon never blocks on a full pipe.
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        raise Broken(f"the daemon did not start: {''.join(said)}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def ask_to_stop(self):
        """Has it stop in an orderly way; that takes its time."""
        self.process.send_signal(signal.SIGTERM)

    def start_once_stopped(self):
        status = self.process.wait()
        if status != 0:
            raise Broken(f"the daemon ended with {status}")
        self.start()

    @contextlib.contextmanager
    def connect(self):
        """A connection of the test's own, greeted."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
            stream.connect(self.socket_path)
            connection = Connection(stream)
            connection.tell({"id": 1, "method": "ping"})
            connection.read()
            yield connection

    def delivered(self, name="events.ndjson"):
        """What the file dispatcher has written, in order."""
        path = os.path.join(self.data, name)
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class BreakingPath:
    """A socket behind which is the daemon's: after so many lines of answers the daemon is ended, and comes back when the
    connection is gone.

    how: `kill`: by `kill -9`. `stop`: in an orderly way. `swallow`: by `kill -9`, and the answers that came last, which the
    daemon had given already, never arrive.
    """

    CHUNK = 1 << 16

    def __init__(self, daemon, breaks_after, how="kill"):
        self.daemon = daemon
        self.path = os.path.join(daemon.folder, "p.sock")
        self.breaks_after = breaks_after
        self.how = how
        self.answers = 0
        self.has_broken = False
        self.is_stopping = False
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.settimeout(PATIENCE)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.connect(self.daemon.socket_path)
            with client, server:
                self.join(client, server)
            if self.is_stopping:
                self.is_stopping = False
                self.daemon.start_once_stopped()

    def join(self, client, server):
        with selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in selector.select(PATIENCE):
                    try:
                        chunk = key.fileobj.recv(self.CHUNK)
                        if not chunk:
                            return
                        breaks = key.fileobj is server and self.breaks(chunk)
                        if not breaks or self.how != "swallow":
                            key.data.sendall(chunk)
                    except OSError:
                        return
                    if breaks and self.end():
                        return

    def breaks(self, chunk):
        """Whether this is where the daemon is to end."""
        self.answers += chunk.count(b"\n")
        if self.has_broken or self.answers < self.breaks_after:
            return False
        self.has_broken = True
        return True

    def end(self):
        """Ends the daemon; gives whether it is gone already."""
        if self.how == "stop":
            self.is_stopping = True
            self.daemon.ask_to_stop()
            return False
        self.daemon.kill()
        self.daemon.start()
        return True

    def close(self):
        self.listener.close()
        os.unlink(self.path)
