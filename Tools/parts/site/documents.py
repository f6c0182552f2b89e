"""Pages from Markdown: CommonMark with tables, by markdown-it."""
import re

from markdown_it import MarkdownIt

import colours
from place import ESCAPE, anchor

MARKDOWN = MarkdownIt("commonmark").enable("table")
RULE_ITEM = re.compile(r"^[A-Z]\d+$")


def read(text, source, page, places):
    """Returns the title and the HTML of a document, with links to other pages of the site."""
    tokens = MARKDOWN.parse(text)
    taken, headings = set(), []
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            headings.append("".join(child.content for child in tokens[place + 1].children))
            token.attrSet("id", anchor(headings[-1], taken))
        elif token.type == "inline":
            mend(token.children, source, page, places)
            name_rule(tokens, place)
        elif token.type == "table_open":
            token.meta["caption"] = headings[-1]
        elif token.type == "th_open":
            token.attrSet("scope", "col")
    return headings[0], render(tokens)


def mend(children, source, page, places):
    """Converts links to files into links to pages, and links the names of rules and decisions."""
    depth = 0
    for child in children:
        if child.type == "link_open":
            child.attrSet("href", places.link(child.attrGet("href"), source, page))
        elif child.type == "image":
            child.attrSet("src", places.link(child.attrGet("src"), source, page))
            child.attrSet("loading", "lazy")
        elif child.type == "code_inline" and not depth:
            child.type, child.content = "html_inline", places.name(child.content, page)
        elif child.type == "text" and not depth:
            child.type, child.content = "html_inline", places.refer(child.content, page)
        depth += child.nesting if child.type.startswith("link_") else 0


def name_rule(tokens, place):
    """Gives a list item that begins with a rule in bold an id with the rule's name."""
    item = tokens[place - 2]
    words = [child for child in tokens[place].children if child.content or child.nesting]
    if item.type == "list_item_open" and len(words) > 1 and words[0].type == "strong_open" and RULE_ITEM.match(words[1].content):
        item.attrSet("id", words[1].content)


def render(tokens):
    """Returns the HTML without comments. A table scrolls sideways, and has its heading as a caption."""
    special = {
        "fence": lambda token: colours.block(token.content, token.info.strip()),
        "html_block": lambda token: "" if token.content.startswith("<!--") else token.content,
        "table_open": lambda token: ('<div class="sheet"><table>'
                                     f'<caption class="unseen">{ESCAPE(token.meta["caption"])}</caption>\n'),
        "table_close": lambda token: "</table></div>\n",
    }
    parts, start = [], 0
    for place, token in enumerate(tokens):
        if token.type in special:
            parts += [MARKDOWN.renderer.render(tokens[start:place], MARKDOWN.options, {}), special[token.type](token)]
            start = place + 1
    return "".join(parts) + MARKDOWN.renderer.render(tokens[start:], MARKDOWN.options, {})
