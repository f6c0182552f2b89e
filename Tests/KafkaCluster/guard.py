"""A proxy before the brokers of a test cluster, which support neither TLS nor SASL. It speaks both and authenticates the
clients.

    guard.py PORT… [--certificate PEM --key PEM [--authority PEM]] [--user NAME --password TEXT]

A broker listens on a port of 127.0.0.1. The proxy listens on the same port of 127.0.0.2, and replaces the address wherever a
broker sends it. Both addresses have the same length, so nothing else in a message changes.

--certificate enables TLS, --authority also requires a client certificate, and --user requires a login. It writes `ready`,
and then a line for each client: the kind of authentication, or the refusal.
"""

import argparse
import asyncio
import base64
import hashlib
import hmac
import os
import ssl
import struct
from collections.abc import Callable

BROKERS, GUARD = b"127.0.0.1", b"127.0.0.2"
API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
AUTHENTICATION_FAILED = 58


class Refused(Exception):
    """The reason why a client is refused."""


class Plain:
    """Checks a PLAIN login (RFC 4616): user and password in one message."""

    def __init__(self, user: bytes, password: bytes) -> None:
        self.expected = b"\0" + user + b"\0" + password
        self.is_over = False

    def answer(self, message: bytes) -> bytes:
        if message != self.expected:
            # A careless broker might reveal the password in an error: a daemon must never show that.
            raise Refused(f"wrong login: {message!r}")
        self.is_over = True
        return b""


class Scram:
    """Checks a SCRAM login (RFC 5802): each side proves that it knows the password without revealing it."""

    ROUNDS = 4096

    def __init__(self, digest: str, user: bytes, password: bytes) -> None:
        self.digest = digest
        self.user = user.replace(b"=", b"=3D").replace(b",", b"=2C")
        self.salt = os.urandom(16)
        self.salted = hashlib.pbkdf2_hmac(digest, password, self.salt, self.ROUNDS)
        self.spoken: list[bytes] = []
        self.is_over = False

    def answer(self, message: bytes) -> bytes:
        return self.prove(message) if self.spoken else self.challenge(message)

    def challenge(self, message: bytes) -> bytes:
        bare = message.removeprefix(b"n,,")
        fields = dict(field.split(b"=", 1) for field in bare.split(b","))
        if fields[b"n"] != self.user:
            raise Refused(f"no such user: {fields[b'n']!r}")
        nonce = fields[b"r"] + base64.b64encode(os.urandom(18))
        challenge = b"r=%b,s=%b,i=%d" % (nonce, base64.b64encode(self.salt), self.ROUNDS)
        self.spoken = [bare, challenge]
        return challenge

    def prove(self, message: bytes) -> bytes:
        spoken, proof = message.split(b",p=")
        said = b",".join([*self.spoken, spoken])
        key = self.mac(self.salted, b"Client Key")
        signature = self.mac(hashlib.new(self.digest, key).digest(), said)
        if base64.b64decode(proof) != bytes(a ^ b for a, b in zip(key, signature, strict=True)):
            raise Refused("wrong password")
        self.is_over = True
        return b"v=" + base64.b64encode(self.mac(self.mac(self.salted, b"Server Key"), said))

    def mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self.digest)


MECHANISMS: dict[str, Callable[[bytes, bytes], Plain | Scram]] = {
    "PLAIN": Plain,
    "SCRAM-SHA-256": lambda user, password: Scram("sha256", user, password),
    "SCRAM-SHA-512": lambda user, password: Scram("sha512", user, password),
}


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


async def write_frame(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(struct.pack(">i", len(frame)) + frame)
    await writer.drain()


def with_sasl(answer: bytes) -> bytes:
    """Returns a broker's answer to ApiVersions with the two requests added that the proxy answers itself."""
    error, count = struct.unpack_from(">hi", answer, 4)
    if error:
        return answer  # The broker does not support this version of the request, and the client repeats it in the oldest.
    added = struct.pack(">6h", SASL_HANDSHAKE, 0, 1, SASL_AUTHENTICATE, 0, 0)
    return answer[:6] + struct.pack(">i", count + 2) + added + answer[10:]


class Visit:
    """A client's connection, and the connection to the broker."""

    def __init__(self, login: tuple[bytes, bytes] | None, client: asyncio.StreamWriter) -> None:
        self.login = login
        self.client = client
        self.is_let_in = login is None
        self.mechanism = ""
        self.exchange: Plain | Scram | None = None
        self.asked_for_versions: set[bytes] = set()

    async def take(self, request: bytes, broker: asyncio.StreamWriter) -> None:
        """Answers requests about the login, and forwards all others of an authenticated client."""
        (key,), correlation = struct.unpack_from(">h", request), request[4:8]
        (name_size,) = struct.unpack_from(">h", request, 8)
        body = request[10 + max(0, name_size) :]
        if self.login and key == SASL_HANDSHAKE:
            self.mechanism = body[2:].decode()
            self.exchange = MECHANISMS[self.mechanism](*self.login)
            await write_frame(self.client, correlation + struct.pack(">hi", 0, 1) + body)
        elif self.exchange and key == SASL_AUTHENTICATE:
            await self.authenticate(self.exchange, correlation, body[4:])
        elif self.is_let_in or key == API_VERSIONS:
            if key == API_VERSIONS:
                self.asked_for_versions.add(correlation)
            await write_frame(broker, request)
        else:
            raise Refused(f"a request of kind {key} without a login")

    async def authenticate(self, exchange: Plain | Scram, correlation: bytes, message: bytes) -> None:
        try:
            answer = exchange.answer(message)
        except Refused as refused:
            reason = str(refused).encode()
            answer = struct.pack(">hh", AUTHENTICATION_FAILED, len(reason)) + reason + struct.pack(">i", 0)
            await write_frame(self.client, correlation + answer)
            raise Refused(self.mechanism) from refused
        if exchange.is_over:
            self.is_let_in = True
            print("let in:", self.mechanism, flush=True)
        await write_frame(self.client, correlation + struct.pack(">hhi", 0, -1, len(answer)) + answer)

    async def pass_back(self, broker: asyncio.StreamReader) -> None:
        """Forwards the broker's answers."""
        while True:
            answer = (await read_frame(broker)).replace(BROKERS, GUARD)
            if answer[:4] in self.asked_for_versions and self.login:
                answer = with_sasl(answer)
            await write_frame(self.client, answer)


async def receive(port: int, login: tuple[bytes, bytes] | None, reader, client: asyncio.StreamWriter) -> None:
    if certificate := client.get_extra_info("peercert"):
        print("let in:", dict(pair for names in certificate["subject"] for pair in names)["commonName"], flush=True)
    answers, broker = await asyncio.open_connection(BROKERS.decode(), port)
    visit = Visit(login, client)
    back = asyncio.create_task(visit.pass_back(answers))
    try:
        while True:
            await visit.take(await read_frame(reader), broker)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # The client or the broker has disconnected.
    except Refused as refused:
        print("refused:", refused, flush=True)
    finally:
        back.cancel()
        broker.close()
        client.close()


def encryption(arguments: argparse.Namespace) -> ssl.SSLContext | None:
    if not arguments.certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.certificate, arguments.key)
    if arguments.authority:
        context.load_verify_locations(arguments.authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ports", metavar="PORT", type=int, nargs="+")
    for option in ("certificate", "key", "authority", "user", "password"):
        parser.add_argument(f"--{option}")
    return parser.parse_args()


async def main() -> None:
    arguments = read_arguments()
    login = (arguments.user.encode(), arguments.password.encode()) if arguments.user else None
    for port in arguments.ports:
        await asyncio.start_server(
            lambda reader, writer, port=port: receive(port, login, reader, writer),
            GUARD.decode(), port, ssl=encryption(arguments),
        )  # fmt: skip
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
