"""Where things are in the site, and how one page leads to another."""
import html
import posixpath
import re

RULE = re.compile(r"\bBehaviour [A-Z]\d+(?:(?:, | and | to )[A-Z]\d+)*|\b[Dd]ecisions? (?P<decision>\d+)")
ESCAPE = html.escape


def anchor(text, taken):
    """The id of a heading, as GitHub makes it, so that links work in both places. `taken` holds those of the page."""
    words = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    name, number = words, 0
    while name in taken:
        number += 1
        name = f"{words}-{number}"
    taken.add(name)
    return name


class Places:
    """Which page shows which file of the repository, by their paths from the top."""

    def __init__(self):
        self.pages = {}

    def add(self, source, page):
        self.pages[source.rstrip("/")] = page

    def link(self, href, source, page):
        """A link in the file `source`, as it has to be in its page. What is no page stays, to be found missing."""
        path, mark, fragment = href.partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", href) or not path:
            return href
        target = self.pages.get(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        return (relative(target, page) if target else path) + mark + fragment

    def name(self, code, page):
        """A word of code as HTML; the name of a file that has a page leads there."""
        path = code.rstrip("/")
        target = self.pages.get(path) or ("/" in path and self.pages.get(f"Docs/{path}"))
        word = f"<code>{ESCAPE(code, quote=False)}</code>"
        return f'<a href="{relative(target, page)}">{word}</a>' if target else word

    def refer(self, text, page):
        """Text as HTML, in which the names of rules and decisions lead to them."""
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
    """The way from one page to another, by their paths in the site."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")
