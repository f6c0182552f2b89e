"""Builds the site as a dictionary of paths and bytes. The result is reproducible."""
import json

import colours
import documents
import frame
import manual
from place import ESCAPE, Places, relative
from reading import Reading
from reference import FOLDER, Reference

# The pages of each kind of document, in reading order. Pages that do not exist are left out.
MENU = {
    "Start": ["index", "Tutorial"],
    "Guides": ["Guides/HTTPS", "Guides/Hold", "Guides/Follow", "Guides/Services", "Guides/Frameworks", "Guides/Database", "Guides/NATS", "Guides/Kafka", "Guides/OTLP",
               "Guides/Activation", "Guides/Containers", "Guides/Upgrade", "Guides/Sizing", "Guides/NothingSent", "Guides/DiskFull",
               "Guides/SendAgain", "Guides/Replace", "Guides/OnePerson", "Guides/Encrypt"],
    "Reference": ["Configuration", "Protocol", "openrpc.json", "Metrics", "Operations", "Console", "Sending", "Receiving", "Workers",
                  "Boards", "Clients", "Swift", "Python", "C", "Node", "Go", "PHP", "Ruby", "Java", "Rust", "Logging", "Log", "Glossary", "Compatibility", "Changelog", "Security"],
    "Explanation": ["Guarantees", "Barriers", "Behaviour", "Reliability", "Benchmarks", "Architecture", "Store", "Contributing"],
}
# The kind of pages that are not in `MENU`, by the prefix of their paths.
KINDS = {"Guides/": "Guides", "Manual/": "Reference", "": "Explanation"}
# Folders with their own page, and its introduction.
FOLDERS = {
    "Decisions": "Why it is as it is.",
    "Records": "Dated records of tests and measurements.",
    "Examples": "Whole programs and files, which tests run.",
}
ASSETS = ("site.css", "site.js")
PICTURES = (".webp", ".png", ".svg")


class Site:
    """The pages of the repository at `root` and of the DocC archives."""

    def __init__(self, root, archives=()):
        self.root, self.files, self.bodies, self.places = root, {}, {}, Places()
        sources = [root / "README.md", *self._sources()]
        for path in sources:
            self.places.add(self._name(path), self._page(path))
        for folder in (path for path in FOLDERS if (root / "Docs" / path).is_dir()):
            self.places.add(f"Docs/{folder}", f"{folder}/index.html")
            for part in sorted(path for path in (root / "Docs" / folder).iterdir() if path.is_dir()):
                self.places.add(self._name(part), f"{folder}/index.html#{part.name}")
        for path in sources:
            self._read(path)
        self._folders()
        self._reference(archives)

    def _sources(self):
        """Yields the files in Docs, without output of the examples."""
        for path in sorted((self.root / "Docs").rglob("*")):
            parts = path.relative_to(self.root).parts
            if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in parts):
                yield path

    def _name(self, path):
        return path.relative_to(self.root).as_posix()

    def _page(self, path):
        """Returns the path of the page for a file."""
        name = self._name(path).removeprefix("Docs/")
        if name == "README.md":
            return "index.html"
        if path.suffix in PICTURES:
            return name
        return name.removesuffix(".md") + ".html"

    def _read(self, path):
        name, page = self._name(path), self._page(path)
        if path.suffix in PICTURES:
            self.files[page] = path.read_bytes()
        elif path.suffix == ".md":
            self.bodies[page] = documents.read(path.read_text(encoding="utf-8"), name, page, self.places)
        elif path.parent.name == "Manual":
            title, body = manual.read(path, page, self.places)
            self.bodies[page] = (title, f"<h1>{title}</h1>\n{body}")
        else:
            self._source(path, page)

    def _source(self, path, page):
        """Adds a file, and a page that shows it."""
        self.files[page.removesuffix(".html")] = path.read_bytes()
        title = self._name(path).removeprefix("Docs/")
        shown = colours.file(path.read_text(encoding="utf-8"), path.name)
        itself = f'<p><a href="{path.name}">The file itself</a></p>'
        self.bodies[page] = (title, f"<h1>{ESCAPE(title)}</h1>\n{itself}\n{shown}")

    def _folders(self):
        """Adds a page for each folder with a list of its files."""
        for folder, words in FOLDERS.items():
            here, parts = f"{folder}/index.html", {}
            for page, (title, _) in self.bodies.items():
                if page.startswith(folder + "/"):
                    part = page.split("/")[1] if page.count("/") > 1 else ""
                    name = ESCAPE(title.removeprefix(f"{folder}/{part}/"))
                    parts.setdefault(part, []).append(f'<li><a href="{relative(page, here)}">{name}</a></li>\n')
            if parts:
                lists = (f'{heading(part)}<ul class="entries">{"".join(links)}</ul>' for part, links in parts.items())
                self.bodies[here] = (folder, f"<h1>{folder}</h1>\n<p>{words}</p>\n" + "\n".join(lists))

    def _reference(self, archives):
        reference = Reference(archives, self.places)
        modules = reference.modules()
        for page, title, body in reference.pages():
            self.bodies[page] = (title, body)
        if modules:
            here = f"{FOLDER}/index.html"
            items = "".join(f'<li><a href="{relative(page, here)}"><code>{title}</code></a></li>\n' for page, title in modules)
            guide = self.places.pages.get("Docs/Swift.md")
            about = f'<p><a href="{relative(guide, here)}">How a package depends on them</a>.</p>' if guide else ""
            self.bodies[here] = ("Swift modules", f'<h1>Swift modules</h1>\n{about}\n<ul class="entries">{items}</ul>')

    def menu(self):
        """Returns the kinds of documents, each with a name and pairs of path and title. Every top-level page and guide has a kind."""
        titles = {page: title for page, (title, _) in self.bodies.items()} | {"index.html": "What it is"}
        groups = {kind: [name + ".html" for name in names] for kind, names in MENU.items()}
        known = set().union(*groups.values())
        for page in sorted(titles):
            kind = next(kind for start, kind in KINDS.items() if page.startswith(start))
            if page not in known and ("/" not in page or kind != "Explanation"):
                groups[kind].append(page)
        groups["Reference"] += ["Examples/index.html", f"{FOLDER}/index.html"]
        groups["Explanation"] += ["Decisions/index.html", "Records/index.html"]
        return [(group, [(page, titles[page]) for page in pages if page in titles]) for group, pages in groups.items()]

    def build(self, assets, console):
        """Returns all files of the site. Its colours and icon come from the console."""
        menu, version = self.menu(), self._version()
        title, body = self.bodies["index.html"]
        front = (assets / "front.html").read_text(encoding="utf-8")
        self.bodies["index.html"] = (title, body.replace("<p>", '<p class="lead">', 1).replace("</p>\n", "</p>\n" + front, 1))
        for page, (title, body) in self.bodies.items():
            self.files[page] = frame.page(page, title, body, menu, version).encode()
        for name in ASSETS:
            self.files[name] = (assets / name).read_bytes()
        colours_of_console = (console / "console.css").read_text(encoding="utf-8").split("\n* {")[0]
        self.files["site.css"] = colours_of_console.encode() + b"\n" + self.files["site.css"]
        self.files["icon.svg"] = (console / "icon.svg").read_bytes()
        self.files["search-index.js"] = self._index().encode()
        return self.files

    def _version(self):
        return json.loads((self.root / "Docs/openrpc.json").read_text(encoding="utf-8"))["info"]["version"]

    def _index(self):
        """Returns the search index: each page with its sections. It is a script, since pages opened from a folder cannot fetch."""
        entries = []
        for page in sorted(self.bodies):
            reading = Reading(self.files[page].decode())
            sections = [[section.title, section.anchor, section.text] for section in reading.sections
                        if section.title or section.text]
            entries.append([self.bodies[page][0], page, sections])
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries)
        return f"searchIndex = [\n{lines}\n];\n"


def heading(part):
    return f'<h2 id="{part}">{part}</h2>\n' if part else ""
