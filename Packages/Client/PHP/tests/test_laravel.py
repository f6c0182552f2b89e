"""Runs the Laravel application of Docs/Guides/Frameworks.md behind FPM, with a fake daemon."""

import os
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[3]
sys.path[:0] = [str(HERE), str(REPOSITORY / "Tests" / "Clients")]

from fake_daemon import FakeDaemon  # noqa: E402
from fastcgi import ProcessManager  # noqa: E402

# The files of `laravel new` that this application needs.
SKELETON = f"""<?php
require 'Illuminate/autoload.php';
require '{HERE.parent / "HeadgateLogger.php"}';
require __DIR__ . '/EventsProvider.php';
$app = new Illuminate\\Foundation\\Application(__DIR__);
$app->singleton(Illuminate\\Contracts\\Http\\Kernel::class, Illuminate\\Foundation\\Http\\Kernel::class);
$app->singleton(Illuminate\\Contracts\\Debug\\ExceptionHandler::class, Illuminate\\Foundation\\Exceptions\\Handler::class);
$kernel = $app->make(Illuminate\\Contracts\\Http\\Kernel::class);
$request = Illuminate\\Http\\Request::create('/cart');
$response = $kernel->handle($request)->send();
$kernel->terminate($request, $response);
"""
SETTINGS = """<?php
return ['env' => 'production', 'providers' => [
    Illuminate\\Filesystem\\FilesystemServiceProvider::class, Illuminate\\View\\ViewServiceProvider::class, EventsProvider::class,
]];
"""


def documented():
    """Returns the two code blocks of the page: the provider, and the logging configuration."""
    page = (REPOSITORY / "Docs/Guides/Frameworks.md").read_text(encoding="utf-8")
    section = re.search(r"^## PHP-FPM and Laravel\n(.*?)^## ", page, re.DOTALL | re.MULTILINE)[1]
    provider, log = re.findall(r"^```php\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    return "<?php\n" + provider, "<?php\n" + log


class LaravelTests(unittest.TestCase):
    def test_request_tracks_and_logs_through_the_documented_provider(self):
        daemon = FakeDaemon()
        self.addCleanup(daemon.__exit__)
        manager = ProcessManager({"HEADGATE_SOCKET": daemon.path}, has_extensions=True)
        self.addCleanup(manager.stop)
        for folder in ("config", "bootstrap/cache"):
            os.makedirs(os.path.join(manager.folder, folder))
        provider, log = documented()
        manager.script("EventsProvider.php", provider)
        manager.script("config/app.php", SETTINGS)
        manager.script("config/logging.php", log)
        self.assertEqual(manager.get(manager.script("index.php", SKELETON)), "hello")
        # The client and the logger each have a connection.
        requests = []
        for _ in range(2):
            connection = daemon.greet()
            requests.append(connection.request("track"))
            connection.acknowledge(requests[-1])
        events = {request["params"]["event"]: request["params"]["data"] for request in requests}
        self.assertEqual(events["page_viewed"], {"path": "/cart"})
        self.assertEqual((events["log"]["level"], events["log"]["message"], events["log"]["order"]), ("WARNING", "slow", 17))


if __name__ == "__main__":
    unittest.main()
