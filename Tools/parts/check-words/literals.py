"""Finds the string literals of Swift sources."""
import re

START = re.compile(r'#*"')
JOINED = re.compile(r"\s*\+\s*")
ESCAPES = {"n": "\n", "t": "\t"}


def of(source):
    """Returns each string literal as its line and its text. Literals joined by `+` are one. An interpolation is an x; literals inside it follow."""
    reader = Reader(source)
    reader.read_code(0, len(source))
    return reader.found


class Reader:
    def __init__(self, source):
        self.source, self.found = source, []

    def read_code(self, index, end, closing=""):
        """Reads code up to `end`, or to the closing parenthesis of an interpolation. Returns the index after it."""
        source, depth, joined_from = self.source, 1, None
        while index < end:
            if source.startswith("//", index):
                index = source.find("\n", index) % (end + 1)
            elif source.startswith("/*", index):
                index = source.find("*/", index) + 2
            elif START.match(source, index):
                is_joined = joined_from is not None and JOINED.fullmatch(source, joined_from, index)
                index = joined_from = self.read_literal(index, self.found[-1] if is_joined else None)
                continue
            elif closing and source[index] in "()":
                depth += 1 if source[index] == "(" else -1
                index += 1
                if depth == 0:
                    return index
            else:
                index += 1
        return index

    def read_literal(self, index, joined):
        """Reads a literal from its first mark. Returns the index after it."""
        source, line = self.source, self.source.count("\n", 0, index) + 1
        hashes = source[index : source.index('"', index)]
        index += len(hashes)
        quotes = '"""' if source.startswith('"""', index) else '"'
        index += len(quotes)
        end, escape, text, inner = quotes + hashes, "\\" + hashes, [], Reader(source)
        while not source.startswith(end, index):
            if source.startswith(escape + "(", index):
                index = inner.read_code(index + len(escape) + 1, len(source), ")")
                text.append("x")
            elif source.startswith(escape, index):
                index += len(escape)
                text.append(" " if source[index] == "\n" else ESCAPES.get(source[index], source[index]))
                index += 1
            else:
                text.append(source[index])
                index += 1
        if joined:
            joined[1] += "".join(text)
        else:
            self.found.append([line, "".join(text)])
        self.found += inner.found
        return index + len(end)
