"""A fake daemon for tests of clients, which sends what the test says."""

import json
import os
import select
import shutil
import socket
import tempfile

# The seconds after which an operation counts as hanging. It may be set to a shorter time for manual tests.
PATIENCE = float(os.environ.get("CLIENTS_PATIENCE", 60))


class Broken(AssertionError):
    """A client did not behave as required."""


def is_ready_before(stream, other):
    """Waits until one of two streams has input. Returns true if the first one has some."""
    ready = select.select([stream, other], [], [], PATIENCE)[0]
    if not ready:
        raise Broken(f"no message came in {PATIENCE} s")
    return stream in ready


class Connection:
    """The connection of one client, read and written as messages."""

    def __init__(self, stream):
        self.stream = stream
        self.stream.settimeout(PATIENCE)
        self.input = b""
        self.length = 0  # the length of the last line

    def read(self):
        """Returns the next message, or None if the client has closed its side."""
        while b"\n" not in self.input:
            try:
                chunk = self.stream.recv(1 << 16)
            except ConnectionResetError:
                return None
            except socket.timeout:
                raise Broken(f"no message came in {PATIENCE} s") from None
            if not chunk:
                return None
            self.input += chunk
        line, self.input = self.input.split(b"\n", 1)
        self.length = len(line)
        return json.loads(line.decode())

    def has_message(self):
        """Returns true if there is unread input."""
        return bool(self.input or select.select([self.stream], [], [], 0)[0])

    def speaks_before(self, stream):
        """Waits for a message or for input of a stream. Returns true if it was a message."""
        return bool(self.input) or is_ready_before(self.stream, stream)

    def request(self, method):
        """Returns the next message, which must be this request."""
        message = self.read()
        if message is None or message.get("method") != method:
            raise Broken(f"expected {method}, got {message}")
        return message

    def requests(self, method, count):
        return [self.request(method) for _ in range(count)]

    def hello(self, **result):
        """Reads and answers the greeting, and returns its params."""
        message = self.request("hello")
        self.answer(message, {"server": {"name": "fake"}, "protocol": 1, "session": "1", **result})
        return message["params"]

    def write(self, text):
        """Writes text unchanged. It is no error if the client has disconnected."""
        try:
            self.stream.sendall(text.encode() if isinstance(text, str) else text)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def tell(self, message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    def answer(self, request, result):
        self.tell({"id": request["id"], "result": result})

    def refuse(self, request, reason, message="no"):
        self.tell({"id": request["id"], "error": {"code": -32000, "message": message, "data": {"reason": reason}}})

    def acknowledge(self, request, seq=1, **more):
        self.answer(request, {"id": request["params"]["id"], "seq": seq, **more})

    def expect_silence(self):
        """Checks that the client has sent nothing: its next message is the answer to a request made now."""
        self.tell({"id": "are you there", "method": "no.such.method"})
        message = self.read()
        if message is None or message.get("id") != "are you there" or message["error"]["code"] != -32601:
            raise Broken(f"expected the refusal of an unknown method, got {message}")

    def expect_end(self):
        message = self.read()
        if message is not None:
            raise Broken(f"expected the end of the connection, got {message}")

    def close(self):
        self.stream.close()


class FakeDaemon:
    """Listens on a socket in a temporary folder, which is removed with it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="headgate-")
        self.path = os.path.join(self.folder, "d.sock")
        self.listener = None
        self.connections = []
        self.waiting = []
        self.listen()

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.settimeout(PATIENCE)
        self.listener.bind(self.path)
        self.listener.listen(16)

    def stop_listening(self):
        self.listener.close()
        os.unlink(self.path)

    def fill_backlog(self):
        """Connects until the system queues no further connection."""
        while True:
            caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.waiting.append(caller)
            caller.setblocking(False)
            try:
                caller.connect(self.path)
            except BlockingIOError:
                return

    def empty_backlog(self):
        """Ends the connections of `fill_backlog`."""
        self.waiting.pop().close()
        for caller in self.waiting:
            self.listener.accept()[0].close()
            caller.close()
        self.waiting = []

    def accept(self):
        try:
            connection = Connection(self.listener.accept()[0])
        except socket.timeout:
            raise Broken(f"no client connected in {PATIENCE} s") from None
        self.connections.append(connection)
        return connection

    def is_called(self):
        """Waits a moment, and returns true if a client connects."""
        return bool(select.select([self.listener], [], [], 0.02)[0])

    def is_called_before(self, stream):
        """Waits for a connection or for input of a stream. Returns true if it was a connection."""
        return is_ready_before(self.listener, stream)

    def greet(self, **result):
        """Returns the next connection after the greeting."""
        connection = self.accept()
        connection.hello(**result)
        return connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        for connection in self.connections + self.waiting:
            connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)
