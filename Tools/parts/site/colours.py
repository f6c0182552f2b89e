"""Syntax highlighting by Pygments."""
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

from place import ESCAPE

FORMAT = HtmlFormatter(nowrap=True)


def block(text, language):
    """Returns a highlighted code block. The language `exchange` is JSON after arrows."""
    if language == "exchange":
        return framed("".join(map(exchanged, text.splitlines(keepends=True))))
    return framed(coloured(text, get_lexer_by_name(language) if language else TextLexer()))


def file(text, name):
    try:
        return framed(coloured(text, get_lexer_for_filename(name)))
    except ClassNotFound:
        return framed(ESCAPE(text, quote=False))


def coloured(text, lexer):
    lexer.stripnl = False
    return highlight(text, lexer, FORMAT)


def exchanged(line):
    arrow, space, message = line.partition(" ")
    if not arrow.endswith(("→", "←")):
        return ESCAPE(line, quote=False)
    return f'<span class="arrow">{arrow}</span>{space}' + coloured(message, get_lexer_by_name("json"))


def framed(inner):
    return f"<pre><code>{inner}</code></pre>\n"
