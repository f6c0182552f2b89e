"""A daemon, a console and a destination in a temporary folder."""
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import threading

from browser import eventually


def free_port():
    """Returns an unused port. A console that restarts must use the same port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Destination:
    """An HTTP server that accepts events, or refuses them with a status."""

    def __init__(self):
        self.status = 200
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = b"" if outer.status == 200 else b"busy: come again"
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/events" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Program:
    """A process whose standard error is a log."""

    def __init__(self, command, log):
        self.command = command
        self.log_path = log
        self.process = None

    def start(self, line):
        """Starts the process and waits for its ready line."""
        with open(self.log_path, "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        return eventually(f"the line {line.pattern!r} in {self.log_path}", lambda: self._find(line, begin))

    def _find(self, line, begin):
        with open(self.log_path, "rb") as log:
            log.seek(begin)
            text = log.read().decode(errors="replace")
        if self.process.poll() is not None:
            raise AssertionError(f"{self.command[0]} ended: {text}")
        return line.search(text)

    def end(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait() if self.process else 0


class Scene:
    """The daemon, the console and the destination, used as a context manager."""

    def __init__(self, products, folder, settings=None):
        self.folder = folder
        self.socket = os.path.join(folder, "headgate.sock")
        self.destination = Destination()
        self.configuration = os.path.join(folder, "headgate.json")
        with open(self.configuration, "w", encoding="utf-8") as file:
            json.dump(settings(self) if settings else self.usual_settings(), file)
        self.daemon = Program(
            [f"{products}/headgated", "--config", self.configuration, "--socket", self.socket,
             "--data", os.path.join(folder, "data")], os.path.join(folder, "headgated.log"))
        self.console = Program(
            [f"{products}/headgate-console", "--listen", f"127.0.0.1:{free_port()}", "--socket", self.socket,
             "--token-file", os.path.join(folder, "token"), "--allow-control"],
            os.path.join(folder, "console.log"))
        self.url = None

    def __enter__(self):
        self.start_daemon()
        self.start_console()
        return self

    def __exit__(self, *_):
        self.console.end()
        self.daemon.end()
        self.destination.close()

    def usual_settings(self):
        """Returns settings with two dispatchers, one of them over HTTP with short retries, and a batching barrier."""
        return {
            "dispatchers": {
                "web": {"kind": "http", "endpoint": self.destination.url, "max_attempts": 5,
                        "backoff": {"base_ms": 200, "cap_ms": 2000},
                        "headers": {"Authorization": {"env": "HEADGATE_SECRET"}}},
                "archive": {"kind": "file", "path": "events.ndjson"},
            },
            "barriers": {"gather": {"kind": "BatchingBarrier", "scopes": ["archive"],
                                    "configuration": {"batch_size": 4}}},
            "store": {"retain": {"max_bytes": 1 << 20}},
            "flush_on": {"start": False},
        }

    def start_daemon(self):
        os.environ.setdefault("HEADGATE_SECRET", "Bearer not-for-anybody")
        self.daemon.start(re.compile("headgated ready"))

    def start_console(self):
        self.url = self.console.start(re.compile(r"headgate-console ready (http://\S+)"))[1]

    @property
    def origin(self):
        return self.url.split("/?")[0]

    def ask(self, method, **params):
        """Makes one call to the daemon on a new connection."""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(self.socket)
            peer.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
            answer = json.loads(peer.makefile("rb").readline())
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def track(self, *names, **more):
        """Tracks events with their names as ids."""
        for name in names:
            self.ask("track", event=name, id=name, data={"basket": 3, "shop": "north"}, **more)
