"""A Kafka broker for tests. Unlike librdkafka's mock cluster it checks the sequence numbers of producers.

    strict.py PARTITIONS

It has one topic, `shop`, in memory. It writes its address as the first line, then reads commands from descriptor 3, one per
line, and answers each with a line.

    refuse CODE TEXT    refuses each message set that has a message with the text in its body; code 0: no longer
    fail CODE COUNT     refuses the next COUNT sets
    lose COUNT          stores the next COUNT sets, and closes the connection instead of answering
    delay MILLISECONDS  stores sets at once, and answers later
    hold, release       holds the answers for message sets back; sends them
    down, up            closes all connections and stops listening; listens again
    stored              writes all messages: a list of bodies for each partition
    producers           writes the number of producers so far
    requests            writes the number of requests with message sets so far
"""

import asyncio
import json
import os
import struct
import sys
from dataclasses import dataclass, field

PRODUCE, METADATA, API_VERSIONS, INIT_PRODUCER = 0, 3, 18, 22
VERSIONS = [(PRODUCE, 0, 3), (1, 0, 4), (METADATA, 0, 1), (API_VERSIONS, 0, 0), (INIT_PRODUCER, 0, 0)]
NONE, OUT_OF_ORDER, UNSUPPORTED_VERSION = 0, 45, 35
REMEMBERED_SETS = 5
TOPIC = "shop"


class Reader:
    """Reads consecutive fields."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, count: int) -> bytes:
        self.place += count
        return self.data[self.place - count : self.place]

    def number(self, form: str) -> int:
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def text(self) -> str | None:
        size = self.number("h")
        return None if size < 0 else self.take(size).decode()

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)


def text(value: str | None) -> bytes:
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


@dataclass
class MessageSet:
    """A record batch of version 2."""

    producer: int
    epoch: int
    first: int
    bodies: list[str]

    @classmethod
    def read(cls, data: bytes) -> "MessageSet":
        reader = Reader(data)
        reader.take(43)
        producer, epoch, first, count = (reader.number(form) for form in ("q", "h", "i", "i"))
        return cls(producer, epoch, first, [cls.body(reader) for _ in range(count)])

    @staticmethod
    def body(reader: Reader) -> str:
        end = reader.varint() + reader.place
        reader.take(1)
        reader.varint(), reader.varint()
        reader.take(max(0, reader.varint()))
        body = reader.take(reader.varint()).decode()
        reader.place = end
        return body


@dataclass
class Partition:
    bodies: list[str] = field(default_factory=list)
    # By producer: the epoch, the number of the next message, and the first numbers of the newest sets.
    producers: dict[int, tuple[int, int, list[int]]] = field(default_factory=dict)

    def store(self, new: MessageSet) -> int:
        # As in Kafka, the first set of a producer that the partition does not know may have any number.
        epoch, following, known = self.producers.get(new.producer, (new.epoch, new.first, []))
        if new.epoch != epoch:
            epoch, following, known = new.epoch, 0, []
        if new.first in known:
            return NONE  # A repeated set is acknowledged, but not stored again.
        if new.first != following:
            return OUT_OF_ORDER
        self.bodies += new.bodies
        known = [*known, new.first][-REMEMBERED_SETS:]
        self.producers[new.producer] = (epoch, new.first + len(new.bodies), known)
        return NONE


class Broker:
    def __init__(self, partitions: int) -> None:
        self.partitions = [Partition() for _ in range(partitions)]
        self.refused: tuple[int, str] = (0, "")
        self.failing: list[int] = []
        self.losing = 0
        self.delay = 0.0
        self.producers = 0
        self.requests = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.port = 0
        self.server: asyncio.Server | None = None
        self.clients: set[asyncio.StreamWriter] = set()

    async def listen(self) -> None:
        self.server = await asyncio.start_server(self.receive, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients.add(writer)
        answers: asyncio.Queue[tuple[float, bool, bytes]] = asyncio.Queue()
        sending = asyncio.create_task(self.send(answers, writer))
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = await reader.readexactly(size)
                answer, is_late = self.answer(request)
                if answer is None:
                    break
                due = asyncio.get_running_loop().time() + (self.delay if is_late else 0)
                answers.put_nowait((due, is_late, request[4:8] + answer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # The client has disconnected.
        finally:
            sending.cancel()
            self.clients.discard(writer)
            writer.close()

    async def send(self, answers: asyncio.Queue[tuple[float, bool, bytes]], writer: asyncio.StreamWriter) -> None:
        while True:
            due, is_late, answer = await answers.get()
            await asyncio.sleep(max(0, due - asyncio.get_running_loop().time()))
            if is_late:
                await self.may_answer.wait()
            writer.write(struct.pack(">i", len(answer)) + answer)

    def answer(self, request: bytes) -> tuple[bytes | None, bool]:
        """Returns the answer, or None to close the connection, and true if it may be delayed or held back."""
        reader = Reader(request)
        api, version = reader.number("h"), reader.number("h")
        reader.take(4)
        reader.text()
        if api == API_VERSIONS:
            versions = b"".join(struct.pack(">3h", *each) for each in VERSIONS)
            error = NONE if version == 0 else UNSUPPORTED_VERSION
            return struct.pack(">hi", error, len(VERSIONS)) + versions, False
        if api == METADATA:
            return self.metadata(version), False
        if api == INIT_PRODUCER:
            self.producers += 1
            return struct.pack(">ihqh", 0, NONE, self.producers, 0), False
        return self.produce(reader), True

    def metadata(self, version: int) -> bytes:
        is_new = version >= 1
        broker = struct.pack(">ii", 1, 1) + text("127.0.0.1") + struct.pack(">i", self.port)
        broker += text(None) + struct.pack(">i", 1) if is_new else b""
        topic = struct.pack(">ih", 1, NONE) + text(TOPIC) + (b"\0" if is_new else b"")
        topic += struct.pack(">i", len(self.partitions))
        for number in range(len(self.partitions)):
            topic += struct.pack(">hii", NONE, number, 1) + struct.pack(">ii", 1, 1) * 2
        return broker + topic

    def produce(self, reader: Reader) -> bytes | None:
        self.requests += 1
        reader.text()
        reader.take(6)
        answer = b""
        topics = reader.number("i")
        for _ in range(topics):
            answer += text(reader.text())
            count = reader.number("i")
            answer += struct.pack(">i", count)
            for _ in range(count):
                number = reader.number("i")
                error = self.store(self.partitions[number], MessageSet.read(reader.take(reader.number("i"))))
                answer += struct.pack(">ihqq", number, error, 0, -1)
        if self.losing:
            self.losing -= 1
            return None
        return struct.pack(">i", topics) + answer + struct.pack(">i", 0)

    def store(self, partition: Partition, new: MessageSet) -> int:
        code, text_of_refused = self.refused
        if code and any(text_of_refused in body for body in new.bodies):
            return code
        if self.failing:
            return self.failing.pop()
        return partition.store(new)

    async def obey(self, order: str) -> str:
        match order.split():
            case ["refuse", code, refused]:
                self.refused = (int(code), refused)
            case ["fail", code, count]:
                self.failing = [int(code)] * int(count)
            case ["lose", count]:
                self.losing = int(count)
            case ["delay", milliseconds]:
                self.delay = int(milliseconds) / 1000
            case ["hold"]:
                self.may_answer.clear()
            case ["release"]:
                self.may_answer.set()
            case ["down"]:
                self.server.close()
                for client in list(self.clients):
                    client.transport.abort()
            case ["up"]:
                await self.listen()
            case ["stored"]:
                return json.dumps([partition.bodies for partition in self.partitions])
            case ["producers"]:
                return str(self.producers)
            case ["requests"]:
                return str(self.requests)
            case _:
                return f"unknown: {order}"
        return "done"


async def main() -> None:
    broker = Broker(int(sys.argv[1]))
    await broker.listen()
    print(f"127.0.0.1:{broker.port}", flush=True)
    orders = asyncio.StreamReader()
    pipe = os.fdopen(3, "rb")
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), pipe)
    while order := await orders.readline():
        print(await broker.obey(order.decode().strip()), flush=True)


asyncio.run(main())
