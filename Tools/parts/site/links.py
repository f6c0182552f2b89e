"""Checks the links of a site: each has a target, none loads external files, and each page is reachable."""
import posixpath
import re
from urllib.parse import unquote

from reading import Reading

ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")


def faults(files):
    """Returns the errors of a site, given as files by path, one line each."""
    readings = {path: Reading(data.decode()) for path, data in files.items() if path.endswith(".html")}
    found = []
    for path, reading in readings.items():
        found += [f"{path}: two elements are #{name}" for name in sorted(set(reading.ids)) if reading.ids.count(name) > 1]
        found += [f"{path}: {href} is loaded from elsewhere" for href in reading.loads if ELSEWHERE.match(href)]
        for href in dict.fromkeys(reading.links + reading.loads):
            if ELSEWHERE.match(href):
                continue
            target, fragment = resolve(href, path)
            if target not in files:
                found.append(f"{path}: {href} leads to no file of the site")
            elif fragment and target in readings and fragment not in readings[target].ids:
                found.append(f"{path}: {href} leads to no heading or id of that page")
    return found + [f"{path}: no page leads to it" for path in sorted(set(readings) - reachable(readings))]


def resolve(href, path):
    """Returns the file and the id that a link leads to."""
    target, _, fragment = href.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(target))) if target else path
    return target, unquote(fragment)


def reachable(readings):
    """Returns the pages reachable from the first page."""
    seen, open_ends = set(), ["index.html"]
    while open_ends:
        path = open_ends.pop()
        if path in seen or path not in readings:
            continue
        seen.add(path)
        open_ends += [resolve(href, path)[0] for href in readings[path].links if not ELSEWHERE.match(href)]
    return seen
