"""Paths in the site, and links between pages."""
import html
import posixpath
import re

RULE = re.compile(r"\bBehaviour [A-Z]\d+(?:(?:, | and | to )[A-Z]\d+)*|\b[Dd]ecisions? (?P<decision>\d+)")
ESCAPE = html.escape


def anchor(text, taken):
    """Returns the id of a heading as on GitHub, so that links work in both places. `taken` contains the page's other ids."""
    words = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    name, number = words, 0
    while name in taken:
        number += 1
        name = f"{words}-{number}"
    taken.add(name)
    return name


class Places:
    """The pages that show the files of the repository, by path."""

    def __init__(self):
        self.pages = {}

    def add(self, source, page):
        self.pages[source.rstrip("/")] = page

    def link(self, href, source, page):
        """Converts a link in the file `source` for its page. A link without a page stays, and is reported as broken."""
        path, mark, fragment = href.partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", href) or not path:
            return href
        target = self.pages.get(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        return (relative(target, page) if target else path) + mark + fragment

    def name(self, code, page):
        """Returns inline code as HTML. The name of a file with a page becomes a link."""
        path = code.rstrip("/")
        target = self.pages.get(path) or ("/" in path and self.pages.get(f"Docs/{path}"))
        word = f"<code>{ESCAPE(code, quote=False)}</code>"
        return f'<a href="{relative(target, page)}">{word}</a>' if target else word

    def refer(self, text, page):
        """Returns text as HTML, with links from the names of rules and decisions."""
        parts, end = [], 0
        for found in RULE.finditer(text):
            parts += [ESCAPE(text[end:found.start()], quote=False), self._reference(found, page)]
            end = found.end()
        return "".join(parts) + ESCAPE(text[end:], quote=False)

    def _reference(self, found, page):
        if found["decision"]:
            name = re.compile(r"Docs/Decisions/(Superseded/)?%04d-" % int(found["decision"]))
            target = next((page for source, page in self.pages.items() if name.match(source)), None)
            return f'<a href="{relative(target, page)}">{found[0]}</a>' if target else found[0]
        rules = self.pages.get("Docs/Behaviour.md")
        if not rules:
            return found[0]
        return re.sub(r"[A-Z]\d+", lambda rule: f'<a href="{relative(rules, page)}#{rule[0]}">{rule[0]}</a>', found[0])


def relative(target, page):
    """Returns the relative path from one page to another."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")
