"""Finds the names in the code of Swift sources, without comments and strings."""
import re

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|(#*)("""(?=\s*\n)|")|[A-Za-z_]\w*|[()]', re.DOTALL)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def of(source):
    """Returns each name with its line."""
    found = []
    read_code(source, 0, found, in_text=False)
    return [(source.count("\n", 0, index) + 1, name) for index, name in found]


def words(name):
    """Returns the words of a name in camel case or snake case."""
    return " ".join(WORD.findall(name)).lower()


def read_code(source, index, found, in_text):
    """Reads code to its end, or to the closing parenthesis of an interpolation. Returns the index after it."""
    depth = 1
    while token := TOKEN.search(source, index):
        index = token.end()
        if token[2]:
            index = read_text(source, index, token[1], token[2], found)
        elif token[0] in "()":
            depth += 1 if token[0] == "(" else -1
            if in_text and depth == 0:
                break
        elif not token[0].startswith("/"):
            found.append((token.start(), token[0]))
    return index


def read_text(source, index, hashes, quotes, found):
    """Reads a string, and the code of its interpolations. Returns the index after it."""
    # A quotation mark in a regular expression begins no string: a string of one line ends on it.
    end = re.compile(rf"{quotes}{hashes}|\\{hashes}\(|\\{hashes}." + ("" if len(quotes) > 1 else r"|\n"), re.DOTALL)
    while mark := end.search(source, index):
        index = mark.end()
        if mark[0] == f"\\{hashes}(":
            index = read_code(source, index, found, in_text=True)
        elif not mark[0].startswith("\\"):
            break
    return index
