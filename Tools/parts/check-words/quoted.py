"""Finds the texts in quotes of sources that are not in Swift."""
import re

DOUBLE, SINGLE, BACKTICK = r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'", r"`(?:\\.|[^`\\])*`"
SLASHES, HASH, CHARACTER = r"//[^\n]*|/\*.*?\*/", r"#[^\n]*", r"'(?:\\[^\n]{1,8}|[^'\\\n])'"
# The patterns of the text to skip and of the text to return, by file suffix.
LANGUAGES = {
    ".c": (rf"{SLASHES}|{CHARACTER}|#include[^\n]*", DOUBLE), ".java": (rf"{SLASHES}|{CHARACTER}", DOUBLE),
    ".rs": (rf"{SLASHES}|{CHARACTER}", r'"(?:\\.|[^"\\])*"'), ".go": (rf"{SLASHES}|{CHARACTER}", rf"{DOUBLE}|{BACKTICK}"),
    ".js": (SLASHES, rf"{DOUBLE}|{SINGLE}|{BACKTICK}"), ".mjs": (SLASHES, rf"{DOUBLE}|{SINGLE}|{BACKTICK}"),
    ".php": (rf"{SLASHES}|{HASH}", rf"{DOUBLE}|{SINGLE}"), ".rb": (HASH, rf"{DOUBLE}|{SINGLE}"), ".py": (rf'{HASH}|""".*?"""', rf"{DOUBLE}|{SINGLE}"),
}
JOINED = re.compile(r"\s*[+.]?\s*\Z")


def of(source, suffix):
    """Returns each text as its line and its words. Neighbours that the language joins are one."""
    skipped, quoted = LANGUAGES[suffix]
    found, end = [], None
    for match in re.finditer(rf"(?P<skipped>{skipped})|(?P<quoted>{quoted})", source, re.DOTALL):
        if match["quoted"] is None:
            continue
        text = match["quoted"][1:-1].replace('\\"', '"').replace("\\n", " ")
        if found and end is not None and JOINED.match(source[end : match.start()]):
            found[-1][1] += text
        else:
            found.append([source.count("\n", 0, match.start()) + 1, text])
        end = match.end()
    return found
