#!/usr/bin/env python3
"""A receiver of events over HTTP that stores each event once.

    receiver.py PORT DATABASE

It takes batches as `json_array` (the default of a dispatcher of kind `http`), in gzip or plain, and answers 200 after the whole batch is
in the database. An event whose id is there already is left out: Headgate delivers at least once.
"""
import gzip
import http.server
import json
import sqlite3
import sys
import threading


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    database, turn = None, threading.Lock()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        try:
            events = json.loads(body)
            rows = [(event["id"], event["seq"], event["event"], json.dumps(event)) for event in events]
        except (ValueError, KeyError, TypeError):
            return self.answer(400)  # Headgate keeps the events as dead letters.
        with self.turn, self.database:
            before = self.database.total_changes
            self.database.executemany("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?)", rows)
            new = self.database.total_changes - before
        print(f"{self.headers['Idempotency-Key']}: {len(rows)} events, {new} new", flush=True)
        return self.answer(200)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    port, path = int(sys.argv[1]), sys.argv[2]
    Receiver.database = sqlite3.connect(path, check_same_thread=False)
    Receiver.database.execute("CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, seq INTEGER, name TEXT, json TEXT)")
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()


if __name__ == "__main__":
    main()
