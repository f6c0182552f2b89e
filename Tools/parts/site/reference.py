"""The reference of the Swift modules: pages from DocC's JSON files (RenderNode).

Each module, article and type has a page. The members of a type are on the page of the type.
"""
import json
import re

import colours
from place import ESCAPE, relative

TYPES = {"class", "struct", "enum", "protocol", "actor"}
FOLDER = "Swift"
MARKER = "/s16SendableMetatypeP"


class Reference:
    def __init__(self, archives, places):
        self.places, self.nodes, self.where, self.by_symbol = places, {}, {}, {}
        for archive in archives:
            for path in sorted((archive / "data/documentation").rglob("*.json")):
                node = json.loads(path.read_text(encoding="utf-8"))
                self.nodes[node["identifier"]["url"]] = node
        for name, node in self.nodes.items():
            self.by_symbol.setdefault(node["metadata"].get("externalID"), name)
        for name in sorted(self.nodes):
            self._place(name)

    def pages(self):
        """Yields each page with its path, title and HTML."""
        for name in sorted(self.nodes):
            if self.has_page(name):
                page = self.where[name][0]
                yield page, self.nodes[name]["metadata"]["title"], Writer(self, page).whole(name)

    def modules(self):
        return [(self.where[name][0], node["metadata"]["title"]) for name, node in sorted(self.nodes.items())
                if node["metadata"].get("symbolKind") == "module"]

    def has_page(self, name):
        meta = self.nodes[name]["metadata"]
        return meta.get("symbolKind") in TYPES | {"module"} or meta["role"] == "article"

    def _place(self, name):
        """Records the page and the id of each symbol."""
        path = name.split("/documentation/")[1]
        if self.has_page(name):
            self.where[name] = (f"{FOLDER}/{path}.html", "")
            return
        owner = self.nodes[name]["hierarchy"]["paths"][0][-1]
        self.where[name] = (f"{FOLDER}/{owner.split('/documentation/')[1]}.html", member_anchor(path.rsplit("/", 1)[1]))

    def link(self, name, page):
        """Returns the link to a symbol, or None if it has no page."""
        if name not in self.where:
            return None
        target, anchor = self.where[name]
        return relative(target, page) + (f"#{anchor}" if anchor else "")


def member_anchor(name):
    """Returns the id of a member: `track-_-deadline` for `track(_:deadline:)`. The characters of operators become hexadecimal numbers."""
    words = re.sub(r"[():,]+", "-", name).strip("-")
    return re.sub(r"[^\w-]", lambda sign: f"{ord(sign[0]):x}", words)


class Writer:
    """The writer of one page."""

    def __init__(self, reference, page):
        self.reference, self.page = reference, page

    def whole(self, name):
        node = self.reference.nodes[name]
        meta, path = node["metadata"], node["hierarchy"]["paths"][0] if node["hierarchy"]["paths"] else []
        crumbs = [f'<a href="{relative(f"{FOLDER}/index.html", self.page)}">Swift</a>']
        crumbs += [self._linked(step, self._title(step)) for step in path]
        parts = [f'<p class="crumbs">{" / ".join(crumbs)}</p>',
                 f'<p class="kind">{kind_of(node)}</p><h1>{ESCAPE(meta["title"])}</h1>',
                 self._description(node, level=0), self._relationships(node)]
        parts += [self._topic(section, node, set()) for section in node.get("topicSections", [])]
        parts += [self._list(section, node) for section in node.get("seeAlsoSections", [])]
        return "\n".join(parts)

    def _description(self, node, level):
        """Returns the declaration, the summary, the parameters, and the rest of the comment. Headings are lowered by `level`."""
        parts = [self._declaration(each) for section in node.get("primaryContentSections", [])
                 if section["kind"] == "declarations" for each in section["declarations"]]
        if node.get("abstract"):
            parts.append(f'<p class="abstract">{self._inline(node["abstract"], node)}</p>')
        for section in node.get("primaryContentSections", []):
            if section["kind"] == "parameters":
                entries = "".join(f'<dt><code>{ESCAPE(each["name"])}</code></dt>'
                                  f'<dd>{self._blocks(each["content"], node, level)}</dd>' for each in section["parameters"])
                parts.append(f'<dl class="parameters">{entries}</dl>')
            elif section["kind"] == "content":
                parts.append(self._blocks(section["content"], node, level))
            elif section["kind"] == "mentions":
                names = (self._linked(each, self._title(each)) for each in section["mentions"])
                parts.append(f'<p>More about it: {", ".join(names)}.</p>')
            elif section["kind"] != "declarations":
                raise ValueError(f"a section of an unknown kind: {section['kind']}")
        return "\n".join(parts)

    def _declaration(self, declaration):
        words = []
        for token in declaration["tokens"]:
            name = token.get("identifier") or self.reference.by_symbol.get(token.get("preciseIdentifier", ""))
            word = self._linked(name, ESCAPE(token["text"], quote=False)) if name else ESCAPE(token["text"], quote=False)
            colour = {"keyword": "k", "attribute": "k", "identifier": "nf", "number": "m", "string": "s"}.get(token["kind"])
            words.append(f'<span class="{colour}">{word}</span>' if colour else word)
        return f'<pre class="declaration"><code>{"".join(words)}</code></pre>'

    def _topic(self, section, node, around):
        """Returns the HTML of a group of members: types as links, all others with their full description."""
        entries = self._entries(section["identifiers"], node)
        if not entries:
            return ""
        slug = "topic-" + re.sub(r"\W+", "-", section["title"].lower())
        own = [name for name in entries if not self.reference.has_page(name)]
        others = [name for name in entries if self.reference.has_page(name)]
        return (f'<h2 id="{slug}">{ESCAPE(section["title"])}</h2>' + self._linked_entries(others)
                + "".join(self._member(name) for name in own))

    def _entries(self, names, node):
        """Returns the symbols of a section. A group, such as the implementations of a protocol, is replaced by its symbols."""
        found = []
        for name in names:
            group = self.reference.nodes.get(name)
            if group and group["metadata"]["role"] == "collectionGroup":
                for section in group.get("topicSections", []):
                    found += self._entries(section["identifiers"], group)
            elif group:
                found.append(name)
        return found

    def _member(self, name):
        node = self.reference.nodes[name]
        target, anchor = self.reference.where[name]
        title = self._title(name)
        if node["metadata"].get("symbolKind") == "case":
            title = title.removeprefix(ESCAPE(name.split("/")[-2]) + ".")
        if target != self.page:
            return f"<p>{self._linked(name, title)}</p>"
        return (f'<section class="member"><h3 id="{anchor}"><code>{title}</code></h3>'
                f"{self._description(node, level=2)}</section>")

    def _list(self, section, node):
        names = [name for name in self._entries(section["identifiers"], node) if name in self.reference.where]
        return f'<h2>See also: {ESCAPE(section["title"])}</h2>{self._linked_entries(names)}' if names else ""

    def _linked_entries(self, names):
        items = []
        for name in names:
            node = self.reference.nodes[name]
            about = self._inline(node["abstract"], node) if node.get("abstract") else ""
            items.append(f'<li>{self._linked(name, f"<code>{self._title(name)}</code>")} {about}</li>')
        return f'<ul class="entries">{"".join(items)}</ul>' if items else ""

    def _relationships(self, node):
        lines = []
        for section in node.get("relationshipsSections", []):
            # Sendable also brings the compiler's marker protocol.
            names = [self._name(each, node) for each in section["identifiers"] if not each.endswith(MARKER)]
            lines.append(f'<dt>{ESCAPE(section["title"])}</dt><dd>{", ".join(names)}</dd>')
        return f'<dl class="relationships">{"".join(lines)}</dl>' if lines else ""

    def _name(self, name, node):
        """Returns the name of a symbol, with a link if it is in one of these modules."""
        title = node["references"][name]["title"].removeprefix("Swift.").removeprefix("_Concurrency.")
        symbol = self.reference.by_symbol.get("s:" + name.rsplit("/", 1)[1])
        return self._linked(name if name in self.reference.where else symbol, f"<code>{ESCAPE(title)}</code>")

    def _title(self, name):
        return ESCAPE(self.reference.nodes[name]["metadata"]["title"])

    def _linked(self, name, words):
        way = self.reference.link(name, self.page)
        return f'<a href="{way}">{words}</a>' if way else words

    def _blocks(self, blocks, node, level):
        return "\n".join(self._block(block, node, level) for block in blocks)

    def _block(self, block, node, level):
        def inner(blocks):
            return self._blocks(blocks, node, level)

        match block["type"]:
            case "paragraph":
                return f'<p>{self._inline(block["inlineContent"], node)}</p>'
            case "heading":
                return self._heading(block, level)
            case "codeListing":
                return colours.block("\n".join(block["code"]) + "\n", block.get("syntax") or "")
            case "aside":
                kind = ESCAPE(block.get("name", block["style"]))
                return f'<div class="aside"><p class="kind">{kind}</p>{inner(block["content"])}</div>'
            case "unorderedList" | "orderedList" as kind:
                tag = "ul" if kind == "unorderedList" else "ol"
                return f'<{tag}>{"".join("<li>" + inner(item["content"]) + "</li>" for item in block["items"])}</{tag}>'
            case kind:
                raise ValueError(f"a block of an unknown kind: {kind}")

    @staticmethod
    def _heading(block, level):
        """Removes the heading that DocC puts above every discussion."""
        if block["text"] in ("Discussion", "Overview"):
            return ""
        own = block["level"] + level
        if level:
            return f'<p class="kind">{ESCAPE(block["text"])}</p>'
        return f'<h{own} id="{ESCAPE(block["anchor"])}">{ESCAPE(block["text"])}</h{own}>'

    def _inline(self, parts, node):
        return "".join(self._word(part, node) for part in joined(parts))

    def _word(self, part, node):
        match part["type"]:
            case "text":
                return self.reference.places.refer(part["text"], self.page)
            case "codeVoice":
                return self.reference.places.name(part["code"], self.page)
            case "emphasis":
                return f'<em>{self._inline(part["inlineContent"], node)}</em>'
            case "strong":
                return f'<strong>{self._inline(part["inlineContent"], node)}</strong>'
            case "reference":
                target = node["references"][part["identifier"]]
                if target["type"] == "link":
                    return f'<a href="{ESCAPE(target["url"])}">{ESCAPE(target["title"])}</a>'
                return self._linked(part["identifier"], f'<code>{ESCAPE(target["title"])}</code>')
            case kind:
                raise ValueError(f"words of an unknown kind: {kind}")


def kind_of(node):
    """Returns the kind of a symbol in Swift's terms. DocC calls a module a framework, and an actor a class."""
    words = [token["text"] for section in node.get("primaryContentSections", []) if section["kind"] == "declarations"
             for each in section["declarations"] for token in each["tokens"] if token["kind"] == "keyword"]
    kind = node["metadata"].get("roleHeading", "")
    return "Module" if kind == "Framework" else "Actor" if "actor" in words else ESCAPE(kind)


def joined(parts):
    """Joins text that DocC splits at line ends."""
    found = []
    for part in parts:
        if part["type"] == "text" and found and found[-1]["type"] == "text":
            found[-1] = {"type": "text", "text": found[-1]["text"] + part["text"]}
        else:
            found.append(part)
    return found
