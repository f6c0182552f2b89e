#!/usr/bin/env python3
"""A small HTTP collector: accepts batches of events, and writes each event id as a line.

    collector.py PORT_FILE LEDGER DELAY_MS

It listens on a free port of 127.0.0.1 and writes the port to PORT_FILE. It writes the ids of each request to LEDGER, and then
answers with 200 after DELAY_MS.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A killed client leaves a half-open connection, which is closed after these seconds.
    timeout = 60

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            lines = "".join(f"{event['id']} {event['attempt']}\n" for event in json.loads(body))
        except (ValueError, KeyError, TypeError):
            return self.answer(400)
        time.sleep(self.server.delay)
        # One write to a file opened for appending, so that lines of two threads never mix.
        os.write(self.server.ledger, lines.encode())
        self.answer(200)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Collector(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        # Errors of connections are ignored, since the demonstration kills the sender at any moment.
        pass


def main():
    port_file, ledger, delay_ms = sys.argv[1:]
    collector = Collector(("127.0.0.1", 0), Handler)
    collector.delay = int(delay_ms) / 1000
    collector.ledger = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(port_file + ".new", "w", encoding="ascii") as file:
        file.write(f"{collector.server_address[1]}\n")
    os.rename(port_file + ".new", port_file)
    collector.serve_forever()


main()
