"""Extracts text and links from a page's HTML, for the search and for the check of links."""
from html.parser import HTMLParser

HEADINGS = ("h1", "h2", "h3", "h4")
BLOCKS = HEADINGS + ("p", "li", "td", "th", "dt", "dd", "pre", "div", "section", "tr", "br")


class Section:
    def __init__(self, title="", anchor=""):
        self.title, self.anchor, self.text = title, anchor, ""


class Reading(HTMLParser):
    """The contents of a page: all its ids and links, the files that it loads, and the sections of its `main` element."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.sections = [], [], [], [Section()]
        self.inside, self.heading, self.unseen = False, False, False
        self.feed(text)
        self.close()
        for section in self.sections:
            section.title, section.text = " ".join(section.title.split()), " ".join(section.text.split())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if "href" in attrs:
            (self.loads if tag == "link" else self.links).append(attrs["href"])
        if "src" in attrs:
            self.loads.append(attrs["src"])
        if tag == "main":
            self.inside = True
        self._say(" " if tag in BLOCKS else "")
        self.unseen = tag == "caption"  # a caption repeats the heading
        if self.inside and (tag in HEADINGS or tag == "li" and "id" in attrs):
            # A rule is a list item whose id is the title of its section.
            self.sections.append(Section("" if tag in HEADINGS else attrs["id"], attrs.get("id", "")))
            self.heading = tag in HEADINGS

    def handle_endtag(self, tag):
        self._say(" " if tag in BLOCKS else "")
        self.unseen = False
        if tag in HEADINGS:
            self.heading = False
        if tag == "main":
            self.inside = False

    def handle_data(self, data):
        self._say("" if self.unseen else data)

    def _say(self, words):
        if self.inside and self.heading:
            self.sections[-1].title += words
        elif self.inside:
            self.sections[-1].text += words
