"""A disk that loses power: reads the journal of power.c, and writes the files as the next start finds them."""

import collections
import pathlib
import random
import struct
from collections.abc import Iterator
from typing import NamedTuple

RECORD = struct.Struct("<IIQQ")
CREATE, WRITE, RESIZE, RENAME, UNLINK, SYNC = range(6)
# The size that a disk writes atomically.
BLOCK = 512


class Record(NamedTuple):
    kind: int
    inode: int
    place: int
    bytes: bytes
    # The length of the journal before the record.
    position: int


def read(journal: pathlib.Path) -> Iterator[Record]:
    content, position = journal.read_bytes(), 0
    while position < len(content):
        kind, length, inode, place = RECORD.unpack_from(content, position)
        end = position + RECORD.size + length
        yield Record(kind, inode, place, content[position + RECORD.size : end], position)
        position = end


class File:
    """The contents that are certainly on disk, and the changes of the file since."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.unsynced: collections.deque[Record] = collections.deque()

    def sync(self, through: int) -> None:
        """Records that everything written before the sync began is on disk."""
        while self.unsynced and self.unsynced[0].position < through:
            self.take(self.unsynced.popleft())

    def take(self, change: Record) -> None:
        if change.kind == RESIZE:
            self.resize(change.place)
        else:
            self.write(change.place, change.bytes)

    def write(self, place: int, piece: bytes) -> None:
        self.resize(max(len(self.content), place))
        self.content[place : place + len(piece)] = piece

    def resize(self, size: int) -> None:
        del self.content[size:]
        self.content.extend(bytes(size - len(self.content)))

    def tear(self, chance: random.Random) -> None:
        """Applies a random selection of the unsynced blocks. The size may change without the bytes."""
        likely = chance.choice([0, 0.1, 0.5, 0.9, 1])
        size = len(self.content)
        for change in self.unsynced:
            size = change.place if change.kind == RESIZE else max(size, change.place + len(change.bytes))
            for part in parts(change):
                if chance.random() < likely:
                    self.take(part)
        if chance.random() < 0.2:
            self.resize(size)
        self.unsynced.clear()


def parts(change: Record) -> Iterator[Record]:
    """Yields a write in pieces within one block each, and any other change as a whole."""
    if change.kind != WRITE:
        yield change
        return
    start, end = change.place, change.place + len(change.bytes)
    while start < end:
        stop = min(end, start - start % BLOCK + BLOCK)
        yield change._replace(place=start, bytes=change.bytes[start - change.place : stop - change.place])
        start = stop


class Disk:
    """A directory in its present state and in the state after a power failure.

    Names change in order, as in file systems with a journal. A name is certainly on disk when its directory was synced, when
    a file created under it was synced, or when a later change of a name is on disk.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        """Marks everything as synced."""
        self.folder = folder
        paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
        self.names = {name: File(path.read_bytes()) for name, path in paths.items()}
        self.files = {paths[name].stat().st_ino: file for name, file in self.names.items()}
        # Changed names, and the file created under one of them.
        self.unsynced: collections.deque[tuple[Record, File | None]] = collections.deque()

    def replay(self, journal: pathlib.Path) -> None:
        for record in read(journal):
            if record.kind == SYNC:
                self.sync(record.inode, record.place)
            elif record.kind in (WRITE, RESIZE):
                self.files[record.inode].unsynced.append(record)
            else:
                self.unsynced.append((record, self.make(record.inode) if record.kind == CREATE else None))

    def make(self, inode: int) -> File:
        self.files[inode] = File()
        return self.files[inode]

    def sync(self, inode: int, through: int) -> None:
        file = self.files.get(inode)
        if file is None:
            # A directory. File systems with one journal also sync the other directories with it.
            self.sync_names(through)
            return
        self.sync_names(max((change.position for change, made in self.unsynced if made is file), default=-1) + 1)
        file.sync(through)

    def sync_names(self, through: int) -> None:
        while self.unsynced and self.unsynced[0][0].position < through:
            self.name(*self.unsynced.popleft())

    def name(self, change: Record, made: File | None) -> None:
        if made:
            self.names[change.bytes.decode()] = made
        elif change.kind == RENAME:
            old, new = change.bytes.decode().split("\0")
            self.names[new] = self.names.pop(old)
        else:
            del self.names[change.bytes.decode()]

    def cut_power(self, chance: random.Random) -> None:
        """Replaces the files of the directory with their contents after the power failure."""
        for _ in range(chance.randint(0, len(self.unsynced))):
            self.name(*self.unsynced.popleft())
        for path in self.folder.rglob("*"):
            if path.is_file():
                path.unlink()
        for name, file in self.names.items():
            # A database recreates its shared memory file when no process uses it.
            if name.endswith("-shm"):
                continue
            file.tear(chance)
            path = self.folder / name
            path.parent.mkdir(0o700, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(0o600)
