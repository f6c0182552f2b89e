"""The HTML around the content of every page."""
import re

from place import ESCAPE, relative


def page(path, title, body, menu, version):
    """Returns a whole page. `menu` has groups of pages, each with a name and pairs of path and title."""
    root = relative("index.html", path).removesuffix("index.html")
    full = title if title == "Headgate" else f"{title} · Headgate"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{ESCAPE(full)}</title>
<link rel="icon" href="{root}icon.svg">
<link rel="stylesheet" href="{root}site.css">
<script src="{root}site.js" data-root="{root}" defer></script>
</head>
<body>
<a class="skip" href="#the-content">Skip to the content</a>
<header>
<a class="brand" href="{root}index.html"><img src="{root}icon.svg" alt="" width="28" height="28"> Headgate</a>
<form role="search" hidden>
<label class="unseen" for="the-search">Search</label>
<input id="the-search" type="search" placeholder="Search: press /" autocomplete="off" spellcheck="false"
  aria-describedby="the-count">
<div id="the-found"><p id="the-count" role="status"></p><ol hidden></ol></div>
</form>
</header>
<div class="columns">
<details class="menu" open><summary>Menu</summary>
<nav aria-label="Pages">
{menu_of(path, body, menu)}
</nav>
</details>
<script>if (innerWidth < 960) document.querySelector(".menu").open = false</script>
<main id="the-content" tabindex="-1">
{body}
</main>
</div>
<footer><p>Headgate {ESCAPE(version)}</p></footer>
</body>
</html>
"""


def menu_of(path, body, menu):
    """Returns the menu with all groups, and the sections of the open page."""
    parts = []
    for name, entries in menu:
        items = "".join(item(path, body, target, title) for target, title in entries)
        parts.append(f'<p class="group">{ESCAPE(name)}</p>\n<ul>{items}</ul>')
    if not any(target == path for _, entries in menu for target, _ in entries):
        parts.insert(0, f'<p class="group">On this page</p>{on_page(body)}' if on_page(body) else "")
    return "\n".join(parts)


def item(path, body, target, title):
    if target != path:
        return f'<li><a href="{relative(target, path)}">{ESCAPE(title)}</a></li>\n'
    return f'<li><a href="{relative(target, path)}" aria-current="page">{ESCAPE(title)}</a>{on_page(body)}</li>\n'


def on_page(body):
    found = re.findall(r'<h2 [^>]*?id="([^"]+)"[^>]*>(.*?)</h2>', body, re.S)
    items = "".join(f'<li><a href="#{name}">{re.sub("<[^>]*>", "", words)}</a></li>' for name, words in found)
    return f'<ul class="here">{items}</ul>' if items else ""
