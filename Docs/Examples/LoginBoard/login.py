#!/usr/bin/env python3
"""Serves the board `login`: logs in at a server and hands out the token that it gets.

    login.py SOCKET LOGIN_URL USER PASSWORD_FILE

Ends with exit code 0 when the daemon closes the connection; a service manager starts it again.
"""

import json
import socket
import sys
import urllib.request


def log_in(url, user, password_file):
    """Asks the server for a token. The password is read anew each time, so that it can be changed."""
    with open(password_file, encoding="utf-8") as file:
        password = file.read().strip()
    body = json.dumps({"user": user, "password": password}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["token"]


def answer_to(message, login):
    """The answer to a `board.run`: done with a token, or an error that says why there is none."""
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        answer["result"] = {"done": True, "output": {"token": log_in(*login)}}
    except Exception as error:
        answer["error"] = {"code": 1, "message": f"no token: {error}"}
    return answer


def main(path, *login):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        lines = connection.makefile("rw", encoding="utf-8", newline="\n")

        def send(message):
            lines.write(json.dumps(message) + "\n")
            lines.flush()

        send({"jsonrpc": "2.0", "id": 1, "method": "board.serve", "params": {"board": "login"}})
        for line in lines:
            message = json.loads(line)
            if message.get("method") == "board.run":
                send(answer_to(message, login))
            elif "error" in message:
                sys.exit(f"login.py: {message['error']['message']}")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
