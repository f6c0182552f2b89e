"""A typical HTTP collector: reads every event, appends it to a file, and then answers. It prints its port first."""

import json
import pathlib
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    events = 0
    file = None

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        for line in body.splitlines():
            event = json.loads(line)
            Collector.file.write(f"{event['id']} {event['event']} {event['received_at']}\n")
            Collector.events += 1
        Collector.file.flush()
        self.answer(b"")

    def do_GET(self) -> None:
        self.answer(str(Collector.events).encode())

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Suppresses the log of requests, which would dominate the measurement."""


def main() -> None:
    server = HTTPServer(("127.0.0.1", 0), Collector)
    print(server.server_port, flush=True)
    with pathlib.Path(sys.argv[1]).open("w") as Collector.file:
        server.serve_forever()


if __name__ == "__main__":
    main()
