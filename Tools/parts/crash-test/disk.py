"""A disk whose power is cut: what power.c has noted, and what of it the next start finds."""

import collections
import pathlib
import random
import struct
from collections.abc import Iterator
from typing import NamedTuple

RECORD = struct.Struct("<IIQQ")
CREATE, WRITE, RESIZE, RENAME, UNLINK, SYNC = range(6)
# What a disk writes whole, or not at all.
BLOCK = 512


class Record(NamedTuple):
    kind: int
    inode: int
    place: int
    bytes: bytes
    # How long the journal was before.
    position: int


def read(journal: pathlib.Path) -> Iterator[Record]:
    content, position = journal.read_bytes(), 0
    while position < len(content):
        kind, length, inode, place = RECORD.unpack_from(content, position)
        end = position + RECORD.size + length
        yield Record(kind, inode, place, content[position + RECORD.size : end], position)
        position = end


class File:
    """What is on the disk for certain, and what happened to the file since."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.unsynced: collections.deque[Record] = collections.deque()

    def sync(self, through: int) -> None:
        """What was written before the sync began is on the disk."""
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
        """Of what was not synced, any blocks may have got to the disk, few or many; and the size without the bytes."""
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
    """A write in pieces that lie in one block each; all else in one."""
    if change.kind != WRITE:
        yield change
        return
    start, end = change.place, change.place + len(change.bytes)
    while start < end:
        stop = min(end, start - start % BLOCK + BLOCK)
        yield change._replace(place=start, bytes=change.bytes[start - change.place : stop - change.place])
        start = stop


class Disk:
    """A directory, as it is now and as it would be after a power cut.

    Names change in their order, as file systems with a journal have it: a name is on the disk for certain when its directory
    was synced, when a file that was made under it was, or when a later one is.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        """All that is there counts as synced."""
        self.folder = folder
        paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
        self.names = {name: File(path.read_bytes()) for name, path in paths.items()}
        self.files = {paths[name].stat().st_ino: file for name, file in self.names.items()}
        # Names that have changed, and the file that was made under one.
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
            # A directory. What is in others is synced with it, as file systems with one journal have it.
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
        """Leaves in the directory what a start after the cut finds."""
        for _ in range(chance.randint(0, len(self.unsynced))):
            self.name(*self.unsynced.popleft())
        for path in self.folder.rglob("*"):
            if path.is_file():
                path.unlink()
        for name, file in self.names.items():
            # The memory that a database's users share is made anew when there are none.
            if name.endswith("-shm"):
                continue
            file.tear(chance)
            path = self.folder / name
            path.parent.mkdir(0o700, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(0o600)
