"""Takes the pictures of Docs/Console.md, of a machine with activity and with held events."""
import math
import threading
import time

from browser import Browser, eventually
from scene import Scene

SHOTS = [("overview", "/", 1280, "light"), ("rewind", "/dispatchers/web/rewind?to=-5m", 1280, "light"),
         ("dispatcher", "/dispatchers/web", 1280, "light"), ("problems", "/problems", 420, "dark"),
         ("event", "/event?id=order-late", 1280, "light")]
WARM_UP_S = 960


def settings(scene):
    usual = scene.usual_settings()
    usual["dispatchers"]["warehouse"] = {"kind": "http", "endpoint": scene.destination.url}
    usual["barriers"]["gather"]["configuration"] = {"batch_size": 400, "max_wait_ms": 20000}
    usual["barriers"]["night"] = {"kind": "ScheduleBarrier", "scopes": ["warehouse"],
                                  "configuration": {"start_hour": 0, "end_hour": 24}}
    return usual


def make(products, folder, target):
    target.mkdir(exist_ok=True)
    with Scene(products, folder, settings) as scene, Browser(folder) as browser:
        browser.look_as(1280, "light")
        browser.open(scene.url)
        stop = threading.Event()
        feeder = threading.Thread(target=feed, args=(scene, stop))
        feeder.start()
        try:
            time.sleep(WARM_UP_S * 0.7)
            scene.ask("dispatcher.pause", id="warehouse", reason="stocktaking")
            scene.destination.status = 503
            eventually("a failure", lambda: "503" in (browser.text("#event-flow") or ""))
            scene.ask("track", event="order", id="order-late")
            time.sleep(WARM_UP_S * 0.3)
            for name, path, width, theme in SHOTS:
                shoot(scene, browser, target / f"{name}.webp", path, width, theme)
        finally:
            stop.set()
            feeder.join()


def shoot(scene, browser, file, path, width, theme):
    browser.look_as(width, theme, height=800)
    browser.open(scene.origin + path)
    time.sleep(1)
    file.write_bytes(browser.picture("webp", whole=True, quality=70))
    print(f"{file.name}: {file.stat().st_size // 1024} KiB")


def feed(scene, stop):
    """Tracks orders at a varying rate."""
    number = 0
    while not stop.wait(0.1):
        for _ in range(2 + int(2 + 2 * math.sin(time.monotonic() / 9))):
            number += 1
            scene.ask("track", event="order", id=f"order-{number}", data={"basket": number % 7, "shop": "north"})
