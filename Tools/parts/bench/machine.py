"""The resources of a benchmark: programs, a disk, and cleaning up."""

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable

from servers import BenchmarkError

ROOT = pathlib.Path(__file__).resolve().parents[3]


def build(command: list[str]) -> str:
    """Runs a build step. Returns its standard output, and shows its standard error."""
    finished = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if finished.returncode != 0:
        raise BenchmarkError(f"{' '.join(command)} failed:\n{finished.stdout}")
    return finished.stdout


def build_program(name: str) -> pathlib.Path:
    """Builds `headgated` or `headgate` as Tools/package does, and returns its path."""
    print(f"building {name} …", file=sys.stderr)
    command = ["swift", "build", "-c", "release", "--static-swift-stdlib", "--product", name]
    build(command)
    return pathlib.Path(build([*command, "--show-bin-path"]).strip()) / name


def build_c() -> pathlib.Path:
    """Builds the C programs, and returns their folder."""
    build(["make", "--silent", "-C", "Tools/parts/bench", f"OUT={ROOT / '.build/bench'}"])
    return ROOT / ".build/bench"


def find_program(name: str, named: pathlib.Path | None) -> pathlib.Path:
    """Returns the path of `headgated` or `headgate`: from an option, from `$HEADGATED` or `$HEADGATE`, or a release build."""
    named = named or os.environ.get(name.upper())
    program = pathlib.Path(named).absolute() if named else build_program(name)
    if not os.access(program, os.X_OK):
        raise BenchmarkError(f"{program} is no program")
    return program


def real_disk(directory: pathlib.Path) -> pathlib.Path:
    """Returns the directory for the servers' data. A file system where a sync costs nothing is refused."""
    directory.mkdir(parents=True, exist_ok=True)
    kind = subprocess.run(["stat", "-f", "-c", "%T", directory], check=True, stdout=subprocess.PIPE, text=True)
    if kind.stdout.strip() in ("tmpfs", "ramfs"):
        raise BenchmarkError(f"{directory} is on {kind.stdout.strip()}: a sync there is free. Use --disk.")
    return directory.resolve()


def run(main: Callable[[], None]) -> None:
    """Runs a benchmark. It always stops the servers, and prints an error in one line."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main()
    except BenchmarkError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
