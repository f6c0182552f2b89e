"""Manual pages, by mandoc."""
import re
import subprocess

from place import relative


def read(path, page, places):
    """Returns the title and the HTML of a manual page."""
    text = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", path], check=True, capture_output=True, text=True).stdout
    body = text[text.index('<div class="manual-text">'):text.rindex('<table class="foot">')]
    body = re.sub(r"(<h1[^>]*><a[^>]*>)([^<]*)", lambda head: head[1] + " ".join(head[2].split()).capitalize(), body)
    # A page has its own title above these headings.
    body = re.sub(r"<(/?)h([12])\b", lambda tag: f"<{tag[1]}h{int(tag[2]) + 1}", body)
    body = re.sub(r"<b>([\w-]+)</b>\((\d)\)", lambda name: reference(name, page, places), body)
    return f"{path.stem}({path.suffix[1:]})", body


def reference(name, page, places):
    target = places.pages.get(f"Docs/Manual/{name[1]}.{name[2]}")
    return f'<a href="{relative(target, page)}"><b>{name[1]}</b>({name[2]})</a>' if target else name[0]
