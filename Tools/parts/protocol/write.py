"""Generates files from the daemon's OpenRPC document, or checks that they are up to date: see Tools/protocol.

In a file the generated lines are between two comments. The first comment names the generator's function:

    # written by Tools/protocol: calls
    # end of what Tools/protocol has written
"""

import json
import pathlib
import re
import sys

import c
import go
import java
import node
import pages
import php
import python
import ruby
import rust
import swift
from method import Document

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
OPENRPC = ROOT / "Docs" / "openrpc.json"

BLOCK = re.compile(
    r"(?P<first>^[^\n]*written by Tools/protocol: (?P<name>[^\n]*?)(?: \*/| -->)?\n)(?P<text>.*?)"
    r"(?P<last>^[^\n]*end of what Tools/protocol has written)",
    re.MULTILINE | re.DOTALL,
)

# The files with generated blocks, and their generators.
FILES = [
    ("Docs/Protocol.md", pages),
    ("Packages/Client/Sources/HeadgateClient/Connection/Calls.swift", swift),
    ("Packages/Client/Sources/HeadgateClient/Operations/Methods.swift", swift),
    ("Packages/Client/Tests/HeadgateClientTests/Operations/MethodTests.swift", swift),
    ("Tests/Clients/Programs/CertifiedClient/Calls.swift", swift),
    ("Packages/Client/Python/headgate/__init__.py", python),
    ("Packages/Client/Python/headgate/aio.py", python),
    ("Tests/Clients/Programs/client.py", python),
    ("Tests/Clients/Programs/client_aio.py", python),
    ("Packages/Client/Node/lib/client.js", node),
    ("Packages/Client/Go/client.go", go),
    ("Packages/Client/PHP/Headgate.php", php),
    ("Packages/Client/Java/src/headgate/Client.java", java),
    ("Packages/Client/Rust/src/lib.rs", rust),
    ("Packages/Client/Ruby/lib/headgate.rb", ruby),
    ("Packages/Client/C/headgate.h", c),
    ("Packages/Client/C/headgate.c", c),
    ("Tests/Clients/Programs/client.c", c),
]

def results(document):
    """Yields the files and their expected contents."""
    for name, writer in FILES:
        path = ROOT / name

        def block(match):
            write = getattr(writer, match["name"].split()[0])
            lines = write(document, document.plain, *match["name"].split()[1:])
            return match["first"] + "".join(line + "\n" if line else "\n" for line in lines) + match["last"]

        text, count = BLOCK.subn(block, path.read_text(encoding="utf-8"))
        if count == 0:
            sys.exit(f"{name} has no comments between which Tools/protocol can write")
        yield path, text


def main(given):
    is_check = given == "--check"
    document = json.loads((OPENRPC if is_check else pathlib.Path(given)).read_text(encoding="utf-8"))
    wanted = dict(results(Document(document)))
    wanted[OPENRPC] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    differing = [path for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
    for path in differing:
        if is_check:
            print(f"{path.relative_to(ROOT)} is not up to date: run Tools/protocol", file=sys.stderr)
        else:
            path.write_text(wanted[path], encoding="utf-8")
    return 1 if is_check and differing else 0


sys.exit(main(sys.argv[1]))
