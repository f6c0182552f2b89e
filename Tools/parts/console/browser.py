"""A real browser, controlled by WebDriver (W3C) over HTTP, with the few commands that the tests need."""
import base64
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

PATIENCE_S = 120
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class BrowserError(Exception):
    """The browser did not carry out a command."""


def eventually(what, look):
    """Waits until `look` returns a true value, and returns that value. Exceptions count as false."""
    end = time.monotonic() + PATIENCE_S
    last = None
    while time.monotonic() < end:
        try:
            found = look()
            if found:
                return found
        except (BrowserError, OSError) as error:
            last = error
        time.sleep(0.05)
    raise AssertionError(f"{what}: it did not happen in {PATIENCE_S} s" + (f" ({last})" if last else ""))


class Browser:
    """A headless browser window, used as a context manager."""

    def __init__(self, folder):
        driver = shutil.which("chromedriver")
        chromium = shutil.which("chromium")
        if not driver or not chromium:
            sys.exit("chromium or chromedriver is missing: Tools/setup installs them")
        self.log = open(os.path.join(folder, "chromedriver.log"), "w+b")
        self.driver = subprocess.Popen([driver, "--port=0"], stdout=self.log, stderr=subprocess.STDOUT)
        self.base = None
        self.base = "http://127.0.0.1:%d" % eventually("a port of chromedriver", self._port)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                     "--force-color-profile=srgb", "--user-data-dir=" + os.path.join(folder, "profile")]
        wishes = {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"binary": chromium, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"}}}}
        self.session = self._call("POST", "/session", wishes)["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._call("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.log.close()

    def _port(self):
        if self.driver.poll() is not None:
            raise AssertionError("chromedriver ended")
        with open(self.log.name, "rb") as log:
            words = log.read().decode(errors="replace").split("started successfully on port ")
        return int(words[1].split(".")[0]) if len(words) > 1 else None

    def _call(self, method, path, body=None):
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise BrowserError(json.load(error)["value"].get("message", "")) from None

    def _ask(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}{path}", body)

    def tell_devtools(self, command, **params):
        """Calls a method of the DevTools protocol."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, url):
        """Opens an address and waits for the page."""
        self._ask("POST", "/url", {"url": url})

    @property
    def url(self):
        return self._ask("GET", "/url")

    def run(self, script, *arguments):
        """Runs a script in the page, and returns its result."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        """Returns the text of an element, or None."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? null", selector)

    def click(self, selector):
        element = self._ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self._ask("POST", f"/element/{element}/click")

    def type(self, selector, text):
        element = self._ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self._ask("POST", f"/element/{element}/value", {"text": text})

    def press(self, key):
        """Presses a key given by its character (WebDriver, 17.4.2)."""
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def look_as(self, width, theme, height=900):
        """Sets the window's width in pixels, and the theme `light` or `dark`."""
        self.tell_devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                           mobile=False)
        self.tell_devtools("Emulation.setEmulatedMedia",
                           features=[{"name": "prefers-color-scheme", "value": theme},
                                     {"name": "prefers-reduced-motion", "value": "reduce"}])

    def picture(self, kind="png", whole=False, quality=None, clip=None):
        """Returns a picture of the window, of the whole page, or of a part of it, as bytes."""
        params = {"format": kind, "captureBeyondViewport": whole}
        if clip:
            params["clip"] = clip
        if quality:
            params["quality"] = quality
        if whole:
            size = self.tell_devtools("Page.getLayoutMetrics")["cssContentSize"]
            params["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        return base64.b64decode(self.tell_devtools("Page.captureScreenshot", **params)["data"])

    def complaints(self):
        """Returns the messages in the page's console since the last call."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]
