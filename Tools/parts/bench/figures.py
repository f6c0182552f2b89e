"""Figures of a run as JSON, for `Tools/bench plot` and other programs (`--json FILE`)."""

import datetime
import json
import os
import pathlib
import platform


def write(path: pathlib.Path, benchmark: str, conditions: str, rows: list[dict]) -> None:
    """Writes a file with the rows of one benchmark, its options, and the machine."""
    document = {
        "benchmark": benchmark,
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} CPUs, {platform.machine()}, Linux {platform.release()}",
        "conditions": conditions,
        "rows": rows,
    }
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
