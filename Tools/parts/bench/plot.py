"""Draws the plots of Docs/Benchmarks.md from the files of `Tools/bench ingest --json` and `Tools/bench scale --json`.

  Tools/bench plot           writes an SVG beside each file of figures in Docs/Benchmarks
  Tools/bench plot FILE …    the same for these files
  Tools/bench plot --check   writes nothing, and fails if an SVG is not that of its figures
"""

import html
import json
import math
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "Docs/Benchmarks"
OURS, THEIRS, INK, RULE = "#1f6f8b", "#b5b5b5", "#222222", "#dddddd"
COLOURS = ("#1f6f8b", "#c2571a", "#4f7d2a", "#7a3f8f")
WIDTH, LEFT, RIGHT = 760, 170, 24
NAMES = {"stored": "events stored"}


def text(x: float, y: float, words: str, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}">{html.escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{RULE}"/>'


def picture(height: int, title: str, parts: list[str]) -> str:
    """Returns an SVG with a white background, which is readable in a light and in a dark theme."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="{INK}">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(16, 26, title, weight="bold"),
        *parts,
        "</svg>\n",
    ])  # fmt: skip


def short(number: float) -> str:
    if number >= 1e6:
        return f"{number / 1e6:.2f} M"
    return f"{number / 1e3:.0f} k" if number >= 1e4 else f"{number / 1e3:.1f} k"


def ingest(figures: dict) -> str:
    """Draws bars on a logarithmic scale: the events per second of both services, and their ratio."""
    rows = figures["rows"]
    least, most = 1e3, 1e7
    room = WIDTH - LEFT - RIGHT - 130

    def place(rate: float) -> float:
        return LEFT + room * math.log(rate / least) / math.log(most / least)

    parts, top = [], 72
    for power in range(3, 8):
        x = place(10**power)
        parts += [line(x, 56, x, top + 44 * len(rows)), text(x, 50, {3: "1 k", 4: "10 k", 5: "100 k", 6: "1 M", 7: "10 M"}[power], "middle")]
    for number, row in enumerate(rows):
        y = top + 44 * number
        parts.append(text(LEFT - 10, y + 16, row["load"].replace("`", ""), "end"))
        for offset, name, colour in ((0, "headgate", OURS), (16, "redis", THEIRS)):
            rate = row[name]["rate"]
            parts.append(f'<rect x="{LEFT}" y="{y + offset}" width="{place(rate) - LEFT:.1f}" height="14" fill="{colour}"/>')
            words = short(rate) + (f"  ({row['ratio']:.2f} × Redis)" if name == "headgate" else "")
            parts.append(text(place(rate) + 6, y + offset + 12, words))
    bottom = top + 44 * len(rows) + 20
    parts += [f'<rect x="{LEFT}" y="{bottom - 12}" width="14" height="14" fill="{OURS}"/>', text(LEFT + 20, bottom, "Headgate")]
    parts += [f'<rect x="{LEFT + 110}" y="{bottom - 12}" width="14" height="14" fill="{THEIRS}"/>', text(LEFT + 130, bottom, "Redis")]
    return picture(bottom + 20, "Events a second, synced and acknowledged (logarithmic)", parts)


def scale(figures: dict) -> str:
    """Draws a line for each curve: the processor time of an event, from the smallest to the largest value."""
    curves: dict[str, list[dict]] = {}
    for row in figures["rows"]:
        curves.setdefault(row["curve"], []).append(row)
    top, bottom, left, right = 56, 300, 60, WIDTH - 210
    most = max(0.8, 1.2 * max(row["cpu_us"] for row in figures["rows"]))

    def height(cost: float) -> float:
        return bottom - (bottom - top) * cost / most

    parts = []
    for step in range(5):
        cost = step * most / 4
        parts += [line(left, height(cost), right, height(cost)), text(left - 8, height(cost) + 4, f"{cost:.1f}", "end")]
    for (name, points), colour in zip(curves.items(), COLOURS):
        places = [(left + (right - left) * number / (len(points) - 1), height(point["cpu_us"])) for number, point in enumerate(points)]
        parts.append(f'<path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in places)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places]
    for number, ((name, points), colour) in enumerate(zip(curves.items(), COLOURS)):
        y = top + 16 + 44 * number
        parts += [f'<rect x="{right + 20}" y="{y - 11}" width="12" height="12" fill="{colour}"/>', text(right + 38, y, NAMES.get(name, name))]
        parts.append(text(right + 38, y + 16, f"{points[0]['at']:,} to {points[-1]['at']:,}"))
    parts += [text(left, bottom + 22, "the least of each"), text(right, bottom + 22, "the most of each", "end")]
    return picture(bottom + 40, "Processor time of an event in µs, with more of one thing", parts)


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if any(argument.startswith("-") for argument in arguments):
        sys.exit(__doc__)
    files = [pathlib.Path(argument) for argument in arguments] or sorted(FOLDER.glob("*.json"))
    stale = []
    for file in files:
        figures = json.loads(file.read_text(encoding="utf-8"))
        drawn = {"ingest": ingest, "scale": scale}[figures["benchmark"]](figures)
        target = file.with_suffix(".svg")
        if "--check" not in sys.argv:
            target.write_text(drawn, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != drawn:
            stale.append(f"{target}: is not drawn from {file.name}: run Tools/bench plot")
    if stale:
        sys.exit("\n".join(stale))


if __name__ == "__main__":
    main()
