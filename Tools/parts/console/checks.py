"""Checks of the console's pages in a real browser. The docstring of each check states what must hold, with its rule if there is one."""
import json
import pathlib
import signal
import socket
import time

from browser import Browser, eventually
from likeness import difference, signature
from scene import Scene

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "likeness.json"
# The largest difference from a reference picture. Fonts, times and figures differ between machines. A page without its style differs by 25 and more.
TOLERANCE = 9.0

PAGES = {
    "overview": ("/", "Overview"), "barriers": ("/barriers", "Barriers"), "clients": ("/clients", "Clients"),
    "store": ("/store", "Store"), "rewind": ("/dispatchers/web/rewind?to=1", "Rewind web"),
    "problems": ("/problems", "Problems"), "dispatcher": ("/dispatchers/web", "web"), "event": ("/event?id=e1", "Event"),
    "queue": ("/dispatchers/archive/queue", "Pending events of archive"),
    "letters": ("/dispatchers/web/dead-letters", "Dead letters of web"),
}


def run(products, folder, record):
    with Scene(products, folder) as scene, Browser(folder) as browser:
        browser.look_as(1280, "light")
        checks = [record_likeness] if record else [
            signing_in, pages_can_be_used_by_all, the_audit_finds_faults, keyboard, a_way_closes_and_opens, a_client_is_not_read, an_event_is_traced,
            a_rewind_is_previewed, the_store_fills, a_dispatcher_fails, forms,
            what_was_opened_stays, daemon_killed, console_starts_again, stolen_link]
        for check in checks:
            begin = time.monotonic()
            check(scene, browser)
            # Each check begins without undelivered events of another one. The dispatcher "archive" may be paused or wait for a full batch.
            eventually("the delivery of all events", lambda: undelivered(scene, "web") == 0)
            print(f"  ok  {check.__name__.replace('_', ' ')} ({time.monotonic() - begin:.1f} s)", flush=True)
        complaints = [words for words in browser.complaints() if not expected(words)]
        assert not complaints, f"the browser complains: {complaints}"


def expected(words):
    """Returns true for messages about failed loads that a check causes itself."""
    return "Failed to load resource" in words or "ERR_CONNECTION_REFUSED" in words or "ERR_INCOMPLETE" in words


def shows(browser, selector, words):
    return words in (browser.text(selector) or "")


def signing_in(scene, browser):
    """The printed address opens the overview, and the token is then no longer in the address."""
    browser.open(scene.origin + "/")
    assert "401" in browser.text("h1"), browser.text("body")
    browser.open(scene.url)
    assert browser.url == scene.origin + "/", browser.url
    assert browser.text("h1") == "Overview"
    eventually("the diagram of the events", lambda: shows(browser, "#event-flow", "archive"))
    # A link on another site sends no cookie, so the console refuses the page. That page has a link that works.
    browser.open("data:text/html,<a href='%s/barriers'>there</a>" % scene.origin)
    browser.click("a")
    if "401" in eventually("the page behind a foreign link", lambda: browser.text("h1")):
        browser.click("main a")
        eventually("the page behind its own link", lambda: browser.text("h1") == "Overview")


def a_client_is_not_read(scene, browser):
    """O3: the clients page shows what each client has sent, and that a client which does not read its answers is paused."""
    browser.open(scene.origin + "/clients")
    line = b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n'
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.connect(scene.socket)
        deaf.sendall(b'{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"e"}}\n' + 1_000 * line)
        eventually("a client that is not read", lambda: shows(browser, "#clients", "the client does not read its answers"))
        row = next(one for one in scene.ask("client.list")["clients"] if one["stopped"])
        assert row["received"] == 1 and row["stopped"]["reason"] == "unread_answers", row
        assert shows(browser, "#clients", str(row["pid"]))
    eventually("a list without that client", lambda: not shows(browser, "#clients", "the client does not read its answers"))


def prepare(scene):
    """Creates pending, held and dead-lettered events."""
    scene.ask("dispatcher.pause", id="archive", reason="the disk is being changed")
    scene.track("e1", "e2", "e3")
    eventually("delivered events", lambda: dispatcher(scene, "web")["sent"] >= 3)


def dispatcher(scene, name):
    return next(d for d in scene.ask("dispatcher.list")["dispatchers"] if d["id"] == name)


def undelivered(scene, name):
    return dispatcher(scene, name)["pending"] + dispatcher(scene, name)["in_flight"]


LOOKS = [(360, "light"), (360, "dark"), (1280, "light"), (2560, "light"), (2560, "dark")]


def pages_can_be_used_by_all(scene, browser):
    """Checks names, roles, headings, contrast and width of each page, in both themes, from 360 to 2560 pixels, and compares
    each page with its reference picture."""
    prepare(scene)
    audit = (HERE / "audit.js").read_text(encoding="utf-8")
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    faults = []
    for name, look, picture in visit(scene, browser):
        faults += [f"{name} {look}: {fault}" for fault in browser.run(audit)]
        apart = difference(signature(picture), kept[f"{name} {look}"])
        if apart > TOLERANCE:
            faults.append(f"{name} {look}: it differs from its reference picture by {apart:.1f}")
        faults += [f"{name} {look}: a {node} has no name for a screen reader" for node in nameless(browser)]
    assert not faults, "\n".join(faults)
    unstyled = signature(bare(scene, browser))
    assert difference(unstyled, kept["overview 1280 light"]) > TOLERANCE, "a page without its style looks like one with it"


def record_likeness(scene, browser):
    browser.open(scene.url)
    prepare(scene)
    kept = {f"{name} {look}": signature(picture) for name, look, picture in visit(scene, browser)}
    KEPT.write_text("{\n" + ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in kept.items()) + "\n}\n")


def visit(scene, browser):
    """Yields all pages in all themes and widths, each with a small picture."""
    for width, theme in LOOKS:
        browser.look_as(width, theme)
        for name, (path, title) in PAGES.items():
            browser.open(scene.origin + path)
            assert browser.text("h1") == title, (path, browser.text("body"))
            yield name, f"{width} {theme}", small_picture(browser, width)


def small_picture(browser, width):
    return browser.picture(clip={"x": 0, "y": 0, "width": width, "height": 900, "scale": 120 / width})


def bare(scene, browser):
    browser.look_as(1280, "light")
    browser.open(scene.origin + "/")
    browser.run("document.querySelector('link[rel=stylesheet]').remove()")
    return small_picture(browser, 1280)


def nameless(browser):
    """Returns the nodes of the accessibility tree that have a role but no name."""
    roles = {"link", "button", "textbox", "checkbox", "img", "image", "table", "navigation", "heading", "region"}
    for node in browser.tell_devtools("Accessibility.getFullAXTree")["nodes"]:
        role, name = node.get("role", {}).get("value"), node.get("name", {}).get("value")
        if role in roles and not name and not node.get("ignored"):
            yield role


FAULTS = {
    "contrast": "document.querySelector('footer p').style.color = '#888'",
    "pixels too wide": "document.querySelector('h1').style.width = '3000px'",
    "a control has no name": "document.querySelector('nav a').textContent = ''",
    "skips a level": "document.querySelector('h2').outerHTML = '<h4>x</h4>'",
    "two elements are #main": "document.querySelector('h1').id = 'main'",
    "a picture has no name": "document.querySelector('.channel').removeAttribute('aria-label')",
    "an image has no alt": "document.querySelector('img').removeAttribute('alt')",
    "the page has no language": "document.documentElement.lang = ''",
    "no element announces changes": "document.querySelectorAll('[role=status]').forEach((e) => e.removeAttribute('role'))",
    "a closed gate": "document.querySelector('.channel .closed .plate').style.fill = '#dde'",
    "changes the order of the tab key": "document.querySelector('nav a').tabIndex = 3",
    "there are 2 of h1": "document.querySelector('main').append(document.createElement('h1'))",
    "only 9 pixels": "document.querySelector('.note').style.fontSize = '9px'",
}


def the_audit_finds_faults(scene, browser):
    """The checks find each kind of fault when it is added to a page."""
    audit = (HERE / "audit.js").read_text(encoding="utf-8")
    browser.look_as(1280, "light")
    for words, fault in FAULTS.items():
        browser.open(scene.origin + "/")
        assert browser.run(audit) == [], browser.run(audit)
        found = browser.run(fault + ";\n" + audit)
        assert any(words in each for each in found), (words, found)


def keyboard(scene, browser):
    """The tab key reaches every control in order, and each shows the focus."""
    browser.look_as(1280, "light")
    browser.open(scene.origin + "/dispatchers/web")
    expected_order = browser.run(FOCUSABLE + "return stops().length")
    browser.press("\ue004")
    assert browser.run("return document.activeElement.className") == "skip"
    reached = [0]
    for _ in range(expected_order - 1):
        browser.press("\ue004")
        reached.append(browser.run(FOCUSABLE + "return stops().indexOf(document.activeElement)"))
        outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", browser.run("return document.activeElement.outerHTML")
    assert reached == list(range(expected_order)), reached
    browser.open(scene.origin + "/")
    browser.press("\ue004")
    browser.press("\ue007")
    assert browser.run("return document.activeElement.id") == "main"


FOCUSABLE = """const stops = () => [...document.querySelectorAll("a[href], button, input, summary")]
  .filter((element) => element.getClientRects().length);"""


def a_way_closes_and_opens(scene, browser):
    """B10: the page shows a barrier that closes and opens without a reload."""
    browser.open(scene.origin + "/")
    browser.run("window.marker = 1")
    eventually("a blocked dispatcher", lambda: shows(browser, "#event-flow", "blocked"))
    scene.ask("dispatcher.resume", id="archive")
    scene.ask("dispatcher.pause", id="web", reason="look here")
    gate = "return document.querySelector('#event-flow .lane:nth-child(%d) .channel').getAttribute('aria-label')"
    lanes = browser.run("return [...document.querySelectorAll('#event-flow h3 a')].map((a) => a.textContent)")
    web = [name for name in lanes if name in ("web", "archive")].index("web") + 1
    eventually("a closed gate", lambda: "manual closed" in browser.run(gate % web))
    scene.ask("dispatcher.resume", id="web")
    eventually("an open gate", lambda: "manual open" in browser.run(gate % web))
    assert browser.run("return window.marker") == 1, "the page was loaded again"


def an_event_is_traced(scene, browser):
    """O2: the page shows the state of an event for each dispatcher and what holds it, and reports an unknown event."""
    scene.ask("dispatcher.pause", id="archive", reason="kept for the trace")
    scene.track("t1")
    browser.open(scene.origin + "/event")
    browser.type("#id", "t1")
    browser.click("form button")

    def is_told():
        browser.open(scene.origin + "/event?id=t1")
        return shows(browser, "main", "delivered")

    eventually("the delivery of the event", is_told)
    for words in ("pending", "ManualBarrier:archive", "kept for the trace", "archive is blocked"):
        assert shows(browser, "main", words), (words, browser.text("main"))
    browser.open(scene.origin + "/event?id=never")
    assert shows(browser, "main", "No event with this id is known"), browser.text("main")
    scene.ask("dispatcher.resume", id="archive")


def a_rewind_is_previewed(scene, browser):
    """R2: before a rewind the console shows the number of its events and their first and last times of receipt."""
    before = dispatcher(scene, "web")
    browser.open(scene.origin + "/dispatchers/web")
    browser.type("form[action$='/rewind'] input[name=to]", "-1h")
    browser.click("form[action$='/rewind'] button")
    eventually("the preview", lambda: shows(browser, "main", "events pending again"))
    assert shows(browser, "main", "received from"), browser.text("main")
    assert dispatcher(scene, "web")["rewinds"] == before["rewinds"]
    browser.click("form[action$='/rewind/confirmed'] button")
    eventually("the rewind", lambda: shows(browser, ".done", "events pending again."))
    eventually("the delivery of the rewound events", lambda: dispatcher(scene, "web")["sent"] >= before["sent"] + 4)
    browser.open(scene.origin + "/dispatchers/web/rewind?to=999999")
    assert shows(browser, "main .error", "in the future"), browser.text("main")


def the_store_fills(scene, browser):
    """R1: the store's page shows the numbers of pending and retained events, and updates them."""
    browser.open(scene.origin + "/store")
    scene.ask("dispatcher.pause", id="web", reason="the store fills")
    scene.track("s1", "s2")
    pending = scene.ask("status")["store"]["events"]
    eventually("the pending events", lambda: shows(browser, "#stored", f"{pending} of"))
    assert shows(browser, "#retained", "oldest") and shows(browser, "#rest", "not encrypted"), browser.text("main")
    scene.ask("dispatcher.resume", id="web")


def a_dispatcher_fails(scene, browser):
    """The dispatcher's page, the problems and the dead letters show the answer of a destination that refuses."""
    scene.destination.status = 500
    browser.open(scene.origin + "/dispatchers/web")
    scene.track("f1")
    eventually("the failure", lambda: shows(browser, "#attempts", "HTTP 500"))
    eventually("the BackoffBarrier", lambda: shows(browser, "#held", "BackoffBarrier:web"))
    eventually("a dead letter", lambda: dispatcher(scene, "web")["dead"] >= 1)
    browser.open(scene.origin + "/problems")
    eventually("the problem", lambda: shows(browser, "#problems", "HTTP 500"))
    browser.open(scene.origin + "/dispatchers/web")
    assert shows(browser, "main", "busy: come again"), browser.text("main")
    assert not shows(browser, "main", "not-for-anybody"), "a secret is shown"
    scene.destination.status = 200


def forms(scene, browser):
    """O3: a form makes a change with the origin that the browser sends, and a destructive change requires typing."""
    browser.open(scene.origin + "/dispatchers/web")
    browser.type("form[action$='/pause'] input[name=reason]", "by hand")
    browser.click("form[action$='/pause'] button")
    eventually("the pause", lambda: shows(browser, ".done", "Paused."))
    assert shows(browser, "#held", "by hand"), browser.text("#held")
    scene.track("g1", "g2")
    browser.type("form[action$='/purge'] input[name=confirm]", "wrong")
    browser.click("form[action$='/web/purge'] button")
    eventually("a refusal", lambda: shows(browser, "main", "type web to confirm"))
    assert dispatcher(scene, "web")["pending"] == 2
    browser.open(scene.origin + "/dispatchers/web")
    browser.type("form[action$='/web/purge'] input[name=confirm]", "web")
    browser.click("form[action$='/web/purge'] button")
    eventually("the purge", lambda: shows(browser, ".done", "2 events purged."))
    browser.click("form[action$='/requeue'] button")
    eventually("the requeued dead letter", lambda: shows(browser, ".done", "1 event requeued."))
    browser.click("form[action$='/resume'] button")
    eventually("the resumed dispatcher", lambda: shows(browser, ".done", "Resumed."))
    browser.type("form[action$='/web/dead-letters/purge'] input[name=confirm]", "web")
    browser.click("form[action$='/web/dead-letters/purge'] button")
    eventually("the purge of dead letters", lambda: shows(browser, ".done", "dead letters purged."))
    browser.click("form[action$='/flush'] button")
    eventually("the flush", lambda: shows(browser, ".done", "The flush has started."))


def what_was_opened_stays(scene, browser):
    """Updates of the page keep opened details, typed text and the focus."""
    scene.ask("dispatcher.pause", id="archive")
    scene.track("h1")
    browser.open(scene.origin + "/dispatchers/archive")
    browser.run("document.querySelector('details').open = true")
    browser.type("form[action$='/pause'] input[name=reason]", "half a wo")
    scene.ask("dispatcher.resume", id="archive")
    scene.ask("dispatcher.pause", id="archive", reason="news")
    eventually("the reason of the new pause", lambda: shows(browser, "#held", "paused: news"))
    assert browser.run("return document.querySelector('details').open")
    assert browser.run("return document.activeElement.name + document.activeElement.value") == "reasonhalf a wo"


def daemon_killed(scene, browser):
    """O3: the console keeps running while the daemon is down, shows that, and recovers by itself."""
    browser.open(scene.origin + "/")
    browser.run("window.marker = 2")
    eventually("a ready daemon", lambda: shows(browser, "#presence", "ready"))
    scene.daemon.end(signal.SIGKILL)
    eventually("the report that the daemon is unreachable", lambda: shows(browser, "#summary", "The daemon has been unreachable since"))
    assert shows(browser, "#event-flow", "archive"), "the last known state is not shown"
    scene.start_daemon()
    eventually("a ready daemon after its restart", lambda: shows(browser, "#presence", "ready"))
    eventually("a summary without that report", lambda: not shows(browser, "#summary", "unreachable"))
    scene.ask("dispatcher.resume", id="archive")
    eventually("a change after the restart", lambda: "manual open" in browser.run(
        "return document.querySelector('#event-flow .lane .channel').getAttribute('aria-label')"))
    assert browser.run("return window.marker") == 2, "the page was loaded again"


def console_starts_again(scene, browser):
    """A page shows that the console is down, and then that its session has ended. The printed address opens a new session."""
    browser.open(scene.origin + "/")
    scene.console.end()
    eventually("the report that the console is down", lambda: shows(browser, "#stream", "The console does not answer"))
    scene.start_console()
    eventually("the end of the session", lambda: shows(browser, "#stream", "no longer accepts"))
    browser.open(scene.url)
    eventually("the picture", lambda: shows(browser, "#event-flow", "archive"))


def stolen_link(scene, browser):
    """An open page and its links are refused after the token has changed."""
    browser.open(scene.origin + "/")
    eventually("the picture", lambda: shows(browser, "#event-flow", "archive"))
    pathlib.Path(scene.folder, "token").write_text("another")
    old = scene.url
    scene.console.process.send_signal(signal.SIGHUP)
    eventually("the report that the session has ended", lambda: shows(browser, "#stream", "no longer accepts"))
    browser.open(old)
    assert "401" in browser.text("h1")
