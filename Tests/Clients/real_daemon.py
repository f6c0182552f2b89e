"""A real daemon, and a proxy that breaks the connection where the test requests it."""

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
    """A daemon with its own settings and folder. It can be killed and started again."""

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
        """Stops the daemon in order, which takes some time."""
        self.process.send_signal(signal.SIGTERM)

    def start_once_stopped(self):
        status = self.process.wait()
        if status != 0:
            raise Broken(f"the daemon ended with {status}")
        self.start()

    @contextlib.contextmanager
    def connect(self):
        """Opens and greets a connection for the test."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
            stream.connect(self.socket_path)
            connection = Connection(stream)
            connection.tell({"id": 1, "method": "ping"})
            connection.read()
            yield connection

    def delivered(self, name="events.ndjson"):
        """Returns the events that the file dispatcher has written, in order."""
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
    """A proxy before the daemon's socket. After some lines of answers it ends the daemon, and starts it again when the
    connection is gone.

    how: `kill`: by SIGKILL. `stop`: in order. `swallow`: by SIGKILL, and the last answers, which the daemon had already
    sent, never arrive.
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
        """Returns true if the daemon must end here."""
        self.answers += chunk.count(b"\n")
        if self.has_broken or self.answers < self.breaks_after:
            return False
        self.has_broken = True
        return True

    def end(self):
        """Ends the daemon, and returns true if it has ended already."""
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
