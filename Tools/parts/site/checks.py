"""Checks of the site: valid links, reproducible files, and use in a browser from a folder."""
import pathlib
import re
import tempfile

import links
from browser import Browser, eventually
from build import Site

AUDIT = pathlib.Path(__file__).resolve().parent.parent / "console/audit.js"
LOOKS = [(360, "light"), (360, "dark"), (1280, "light"), (2560, "dark")]
ELSEWHERE = re.compile(r"https?:|//\w|url\(|@import|fetch\(|XMLHttpRequest|import\(")
ENTER, ESCAPE, DOWN = "\ue007", "\ue00c", "\ue015"


def run(root, assets, console, archives, folder):
    """Runs all checks. `folder` contains the site; the other parameters are those of `Site`."""
    for check in (each_fault_is_found, twice_the_same):
        check(root, assets, console, archives)
        print("  ok ", check.__name__.replace("_", " "), flush=True)
    with tempfile.TemporaryDirectory(prefix="hg-site-browser-") as profile, Browser(profile) as browser:
        for check in (search_finds, search_answers_questions, search_by_keyboard, members_are_on_the_page_of_their_type, pages_can_be_read,
                      nothing_from_elsewhere):
            browser.look_as(1280, "light")
            check(browser, folder)
            print("  ok ", check.__name__.replace("_", " "), flush=True)
        assert not browser.complaints(), browser.complaints()


README = """# A

First.

[a page](Docs/Log.md#some-words), [a rule](Docs/Behaviour.md#B1), [a folder](Docs/Decisions), ![a picture](Docs/p.svg)

## Install and start

## Questions of new users

## Documents
"""
SOUND = {
    "README.md": README,
    "Docs/openrpc.json": '{"info": {"version": "1"}}',
    "Docs/p.svg": "<svg/>",
    "Docs/Protocol.md": "# Protocol\n",
    "Docs/Tutorial.md": "# Tutorial\n",
    "Docs/Configuration.md": "# Configuration\n",
    "Docs/Log.md": "# Log\n\n## Some words\n\nDecision 1, Behaviour B1. [Here](#log) and [far](https://example.org/).\n",
    "Docs/Behaviour.md": "# Behaviour\n\n- **B1** a rule.\n",
    "Docs/Decisions/0001-why.md": "# 1. Why\n\n[There](../Log.md)\n",
}
# Faults in an otherwise correct document, each with the expected message.
FAULTS = {
    "a missing page": ("Docs/Log.md", "[x](Nowhere.md)", "Log.html: Nowhere.md leads to no file of the site"),
    "a missing heading": ("Docs/Log.md", "[x](Behaviour.md#nowhere)", "Behaviour.html#nowhere leads to no heading or id of that page"),
    "a missing heading here": ("README.md", "[x](#nothing)", "index.html: #nothing leads to no heading or id of that page"),
    "a missing picture": ("Docs/Log.md", "![x](q.webp)", "Log.html: q.webp leads to no file of the site"),
    "a picture from elsewhere": ("Docs/Log.md", "![x](https://example.org/q.webp)", "is loaded from elsewhere"),
    "a rule that is none": ("Docs/Log.md", "Behaviour " + "Z9", "Log.html: Behaviour.html#Z9 leads to no heading or id of that page"),
    "a script from elsewhere": ("Docs/Log.md", "<script src='//example.org/x.js'></script>", "is loaded from elsewhere"),
    "a file outside of the site": ("Docs/Log.md", "[x](../Package.swift)", "Log.html: ../Package.swift leads to no file of the site"),
}


# Questions of new users, and the page that must be among the first three results.
QUESTIONS = {
    "how do I ship to an HTTPS collector with a key": "Guides/HTTPS.html",
    "what if the disk is full": "Guides/DiskFull.html",
    "how do I hold at night": "Guides/Hold.html",
    "how do I upgrade": "Guides/Upgrade.html",
    "how do I run it in a container": "Guides/Containers.html",
    "how do I use it from Ruby, Rust or Java": "Clients.html",
    "how do I back up the store": "Guides/Upgrade.html",
    "why is nothing sent": "Guides/NothingSent.html",
    "how do I delete one person's events": "Guides/OnePerson.html",
    "how big should max_bytes be": "Guides/Sizing.html",
    "dashboard for many machines": "Metrics.html",
    "backup": "Guides/Upgrade.html",
    "gdpr": "Guides/OnePerson.html",
    "uninstall": "Operations.html",
    "why is it slow": "Guides/NothingSent.html",
    "slow": "Guides/NothingSent.html",
    "systemd": "Operations.html",
}


def each_fault_is_found(_, assets, console, __):
    assert fixture_faults(SOUND, assets, console) == [], fixture_faults(SOUND, assets, console)
    for what, (document, words, complaint) in FAULTS.items():
        found = fixture_faults({**SOUND, document: SOUND[document] + "\n" + words + "\n"}, assets, console)
        assert len(found) == 1 and complaint in found[0], (what, found)
    lonely = fixture(SOUND, assets, console)
    lonely["alone.html"] = lonely["Log.html"]
    assert links.faults(lonely) == ["alone.html: no page leads to it"], links.faults(lonely)


def fixture(documents, assets, console):
    with tempfile.TemporaryDirectory(prefix="hg-site-fixture-") as folder:
        for name, text in documents.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Site(pathlib.Path(folder)).build(assets, console)


def fixture_faults(documents, assets, console):
    return links.faults(fixture(documents, assets, console))


def twice_the_same(root, assets, console, archives):
    one, other = (Site(root, archives).build(assets, console) for _ in range(2))
    assert one == other, [path for path in one if one[path] != other.get(path)]


def open_page(browser, folder, page):
    browser.open((folder / page).as_uri())


def titles(browser):
    return browser.run("return [...document.querySelectorAll('#the-found a')].map((a) => a.innerText.replace(/\\s+/g, ' '))")


def look_up(browser, words):
    """Types words into the search, and waits for the results."""
    browser.press("/")
    browser.type("#the-search", words)
    return eventually(f"results for {words}", lambda: titles(browser))


def search_finds(browser, folder):
    """Results link to the right section from any folder, with the best result first."""
    for page in ("index.html", "Decisions/index.html"):
        open_page(browser, folder, page)
        found = look_up(browser, "batchingbarrier max_wait")
        assert any("B22" in title for title in found), found
    browser.run("[...document.querySelectorAll('#the-found a')].find((a) => a.innerText.includes('B22')).click()")
    eventually("the rule", lambda: browser.url.endswith("/Behaviour.html#B22"))
    assert browser.run("return document.querySelector(':target').innerText").startswith("B22")
    open_page(browser, folder, "index.html")
    assert look_up(browser, "barriers")[0].startswith("Barriers"), titles(browser)
    open_page(browser, folder, "index.html")
    assert "The barriers that come with the service" in look_up(browser, "batch size")[0], titles(browser)
    open_page(browser, folder, "index.html")
    browser.press("/")
    browser.type("#the-search", "frobnicatorium")
    eventually("the message that nothing was found", lambda: browser.text("#the-count") == "No section has all of these words")
    assert titles(browser) == []


def search_answers_questions(browser, folder):
    """The search finds the page that answers a new user's question."""
    for question, page in QUESTIONS.items():
        open_page(browser, folder, "index.html")
        look_up(browser, question)
        found = browser.run("return [...document.querySelectorAll('#the-found a')].slice(0, 3).map((a) => a.href)")
        assert any(f"/{page}" in address for address in found), (question, found)


def search_by_keyboard(browser, folder):
    """The arrow keys select a result, Enter opens it, and Escape closes the list."""
    open_page(browser, folder, "Log.html")
    look_up(browser, "dead_letters.requeue")
    browser.press(DOWN)
    browser.press(DOWN)
    place = "return [...document.querySelectorAll('#the-found a')].indexOf(document.activeElement)"
    assert browser.run(place) == 1, browser.run(place)
    browser.press(ESCAPE)
    assert browser.run("return document.activeElement.id") == "the-search"
    assert browser.run("return document.querySelector('#the-found ol').hidden")
    browser.run("document.activeElement.blur()")
    look_up(browser, "")
    browser.press(ENTER)
    eventually("another page", lambda: not browser.url.endswith("/Log.html"))


def members_are_on_the_page_of_their_type(browser, folder):
    """The page of a type documents its methods, with links to other types."""
    if not (folder / "Swift").exists():
        return
    open_page(browser, folder, "Swift/index.html")
    browser.run("[...document.querySelectorAll('main a')].find((a) => a.innerText === 'HeadgateClient').click()")
    eventually("the module", lambda: browser.text("h1") == "HeadgateClient")
    assert browser.text(".kind") == "Module"
    look_up(browser, "track(_:deadline:)")
    browser.press(ENTER)
    eventually("the method", lambda: browser.url.endswith("/HeadgateClient/HeadgateClient.html#track-_-deadline"))
    method = browser.run("return document.querySelector(':target').parentElement.innerText")
    for words in ("func track(_ event: OutgoingEvent, deadline: Duration? = nil) async", "Tracks an event", "nil waits for ever"):
        assert words in method, method
    browser.run("[...document.querySelectorAll(':target ~ pre a')].find((a) => a.innerText === 'OutgoingEvent').click()")
    eventually("its parameter's type", lambda: browser.text("h1") == "OutgoingEvent")


def pages_can_be_read(browser, folder):
    """Checks names, headings, contrast and width, in both themes, from 360 to 2560 pixels. No page scrolls sideways."""
    audit, faults = AUDIT.read_text(encoding="utf-8"), []
    pages = ["index.html", "Protocol.html", "Operations.html", "Behaviour.html", "openrpc.json.html", "Decisions/index.html",
             "Examples/Worker/worker.py.html", "Manual/headgate.1.html", "Console.html", "Guides/HTTPS.html",
             "Guides/Containers.html", "Benchmarks.html", "Tutorial.html"]
    pages += sorted(path.relative_to(folder).as_posix() for path in folder.glob("Swift/Headgate*.html"))
    pages += sorted(path.relative_to(folder).as_posix() for path in folder.glob("Swift/*/HeadgateClient.html"))
    for width, theme in LOOKS:
        browser.look_as(width, theme)
        for page in pages:
            open_page(browser, folder, page)
            faults += [f"{page} {width} {theme}: {fault}" for fault in browser.run(audit)]
    assert not faults, "\n".join(faults)
    browser.look_as(360, "dark")
    open_page(browser, folder, "index.html")
    dark = browser.run("return getComputedStyle(document.body).backgroundColor")
    browser.look_as(360, "light")
    assert dark != browser.run("return getComputedStyle(document.body).backgroundColor"), "both themes are the same"
    assert not browser.run("return document.querySelector('.menu').open"), "the menu is in the way"
    browser.run("document.querySelector('main').insertAdjacentHTML('beforeend', '<p style=\"width: 500px\">wide</p>')")
    assert any("too wide" in fault for fault in browser.run(audit)), "a page that is too wide is not found"


def nothing_from_elsewhere(browser, folder):
    """The pages load only files in the folder."""
    open_page(browser, folder, "index.html")
    look_up(browser, "signup")
    loaded = browser.run("return [...document.querySelectorAll('[src], link[href]')].map((one) => one.src || one.href)")
    assert any(name.endswith("/search-index.js") for name in loaded), loaded
    assert all(name.startswith(folder.as_uri() + "/") for name in loaded), loaded
    for name in ("site.css", "site.js"):
        asked = ELSEWHERE.findall((folder / name).read_text(encoding="utf-8"))
        assert not asked, (name, asked)
