"""The executable blocks of a document."""

import re

# A comment before a block marks a special treatment.
MARK = re.compile(r"<!-- (not run|slow|clean root|file|run with|elsewhere)(?:: (.*))? -->$")
FENCE = re.compile(r"( *)(`{3,})(\w*)$")
COMMANDS = ("sh", "console")


class Block:
    """A fenced block: its first line number, language, lines, and mark, if it has one."""

    def __init__(self, path, line, language, mark):
        self.path, self.line, self.language = path, line, language
        self.mark, self.argument = mark or (None, None)
        self.lines = []

    @property
    def place(self):
        return f"{self.path}:{self.line}"

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    @property
    def is_run(self):
        return self.language in COMMANDS or self.mark in ("file", "run with")

    def steps(self):
        """Returns the scripts to run in order, each with its expected output, or None if the document shows none."""
        if self.mark == "file":
            return [(f"cat >{self.argument} <<'END_OF_BLOCK'\n{self.text}END_OF_BLOCK\n", None)]
        if self.mark == "run with":
            return [(f"{self.argument} <<'END_OF_BLOCK'\n{self.text}END_OF_BLOCK\n", None)]
        if self.language == "sh":
            return [(self.text, None)]
        return list(self._console_steps())

    def _console_steps(self):
        command, output = None, []
        for line in self.lines:
            if not line.startswith("$ "):
                (command if is_open(command) else output).append(line)
                continue
            if command:
                yield "\n".join(command) + "\n", output
            command, output = [line[2:]], []
        if command:
            yield "\n".join(command) + "\n", output


def is_open(command):
    """Returns true if a command continues on the next line."""
    return command is not None and command[-1].endswith(("\\", "|", "&&"))


def blocks_of(path, name):
    """Returns the fenced blocks of a document. A mark without a block is an error."""
    block, mark, fence = None, None, None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if block:
            if line.strip() == fence[1]:
                yield block
                block, mark = None, None
            else:
                block.lines.append(line.removeprefix(fence[0]))
        elif found := FENCE.match(line):
            fence = (found[1], found[2])
            block = Block(name, number, found[3], mark)
        elif found := MARK.match(line.strip()):
            mark = (found[1], found[2])
        elif line.strip() and mark:
            raise SystemExit(f"{name}:{number - 1}: no block follows the mark")
        elif re.match(r" {4,}(\$ |headgate|headgated|Tools/|\.build/|apt|export )", line):
            raise SystemExit(f"{name}:{number}: a block of commands must begin with ```sh or ```console")
    if block or mark:
        raise SystemExit(f"{name}: ends in the middle of a block, or with a mark")
