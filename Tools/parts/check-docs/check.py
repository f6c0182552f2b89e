#!/usr/bin/env python3
"""Runs the blocks of documents as they are written. See Tools/check-docs.

    check.py [--all] --root --document FILE… SHELL…
    check.py [--all] --bin FOLDER --document FILE… SHELL…

SHELL is the command that starts a document's bash.
"""

import argparse
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

from blocks import blocks_of
from session import Session

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PATIENCE, LONG_PATIENCE, READING_PATIENCE = 60, 3600, 20
# These commands only read, so they are repeated until the expected output appears.
READERS = re.compile(r"(cat|tail|ls|headgate (status|barriers|dispatchers|peek|dead-letters))\b")


class Failed(Exception):
    """A block behaved differently from the document."""


def matches(output, wanted):
    """Returns true if the lines match the document, where `…` matches any text, and any lines if it is alone."""
    pattern = "".join(
        "(?s:.*)" if line.strip() == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + " *\n" for line in wanted
    )
    return re.fullmatch(pattern, output) is not None


def run_step(session, script, wanted, patience):
    end = time.monotonic() + READING_PATIENCE
    while True:
        may_repeat = bool(READERS.match(script)) and time.monotonic() < end
        succeeded, output = session.run(script, patience, is_last_chance=not may_repeat)
        if succeeded and (wanted is None or matches(output, wanted)):
            return
        if not may_repeat:
            break
        time.sleep(0.2)
    told = "" if wanted is None or not succeeded else "\nbut the document says:\n" + "\n".join(wanted)
    raise Failed(f"{script}{output}{told}")


class Checker:
    def __init__(self, options):
        self.options = options
        self.counts = {"run": 0, "left out": 0}

    def left_out(self, block):
        """Returns the reason why a block is not run, or None if it is run."""
        if block.mark == "not run":
            return block.argument
        if block.mark == "elsewhere":
            return f"run by {existing_test(block)}"
        if block.mark == "slow" and not self.options.all:
            return "slow: --all runs it"
        if block.mark == "clean root" and not self.options.root:
            return "for a clean root"
        return None

    def check(self, name):
        """Runs the blocks of a document, in order."""
        folder = None if self.options.root else links_to_repository(self.options.bin)
        environment = own_environment(folder) if folder else dict(os.environ)
        session = Session(self.options.shell, folder, environment)
        try:
            for block in blocks_of(REPOSITORY / name, name):
                if block.is_run:
                    self.check_block(session, block)
        finally:
            session.close()
            if folder:
                shutil.rmtree(folder)

    def check_block(self, session, block):
        if reason := self.left_out(block):
            self.counts["left out"] += 1
            print(f"  --    {block.place}  {reason}", flush=True)
            return
        begin = time.monotonic()
        try:
            for script, wanted in block.steps():
                run_step(session, script, wanted, LONG_PATIENCE if block.mark in ("slow", "clean root") else PATIENCE)
        except Failed as failure:
            print(f"  FAIL  {block.place}\n\n{failure}", flush=True)
            raise
        self.counts["run"] += 1
        print(f"  ok    {block.place}  ({time.monotonic() - begin:.1f} s)", flush=True)


def existing_test(block):
    """Returns the test that a block names."""
    if not any(REPOSITORY.glob(f"Tests/**/{block.argument}.swift")):
        raise SystemExit(f"{block.place}: there is no test {block.argument}")
    return block.argument


def links_to_repository(programs):
    """Creates a folder with everything in the repository, which a document may write to."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="headgate-docs."))
    for entry in REPOSITORY.iterdir():
        if entry.name != ".build":
            (folder / entry.name).symlink_to(entry)
    (folder / ".build").mkdir()
    (folder / ".build/debug").symlink_to(programs.resolve())
    return folder


def own_environment(folder):
    """Returns an environment in which the programs of the repository are found, and write only to the folder."""
    places = {"HOME": str(folder), "XDG_RUNTIME_DIR": f"{folder}/run", "LC_ALL": "C.UTF-8"}
    (folder / "run").mkdir()
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADGATE_", "XDG_", "STATE_"))}
    return {**kept, **places, "PATH": f"{folder}/.build/debug:{os.environ['PATH']}"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--root", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--document", action="append", required=True)
    parser.add_argument("shell", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    checker = Checker(options)
    try:
        for name in options.document:
            print(name, flush=True)
            checker.check(name)
    except Failed:
        sys.exit(1)
    print(f"{checker.counts['run']} blocks run, {checker.counts['left out']} left out")


if __name__ == "__main__":
    main()
