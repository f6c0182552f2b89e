"""Tests of the PHP client in web requests: one FPM process, which handles requests one after the other, and a fake daemon."""

import concurrent.futures
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[3] / "Tests" / "Clients")]

from fake_daemon import PATIENCE, FakeDaemon  # noqa: E402
from fastcgi import ProcessManager  # noqa: E402

PAGE = f"""<?php
require '{HERE.parent / "Headgate.php"}';
use Headgate\\Client;
use Headgate\\Options;
$client = new Client($_GET['name'] ?? 'shop', options: new Options(
    timeout: 60.0, endTimeout: (float) ($_GET['end'] ?? 60), backoffBase: 0.01));
"""


class PageTests(unittest.TestCase):
    def setUp(self):
        self.daemon = FakeDaemon()
        self.addCleanup(self.daemon.__exit__)
        self.manager = ProcessManager({"HEADGATE_SOCKET": self.daemon.path})
        self.addCleanup(self.manager.stop)

    def page(self, name, code):
        """Returns the path of a script that has a client."""
        return self.manager.script(name, PAGE + code)

    def visit(self, script, **query):
        return self.manager.get(script, **query)

    def log(self):
        with open(self.manager.log, encoding="utf-8") as file:
            return file.read()

    def test_page_is_there_before_its_events_are(self):
        script = self.page("soon.php", """
            register_shutdown_function(function () { echo ' and its end'; });
            session_save_path(__DIR__);
            session_start();
            $client->trackSoon('viewed', ['n' => (int) $_GET['n']]);
            echo 'the page';
        """)
        # The page is complete although the daemon has not answered.
        self.assertEqual(self.visit(script, n=1), "the page and its end")
        connection = self.daemon.greet()
        request = connection.request("track")
        self.assertEqual(request["params"]["data"], {"n": 1})
        connection.acknowledge(request)
        # The next request reuses the connection, and does not greet again.
        self.assertEqual(self.visit(script, n=2), "the page and its end")
        request = connection.request("track")
        self.assertEqual(request["params"]["data"], {"n": 2})
        connection.acknowledge(request)

    def test_missing_daemon_is_logged_once(self):
        self.daemon.stop_listening()
        script = self.page("away.php", """
            for ($n = 0; $n < 3; $n++) { $client->trackSoon('viewed', ['n' => $n]); }
            echo 'the page';
        """)
        self.assertEqual(self.visit(script, end=3600), "the page")
        # There is one process: when the next page comes, this request is over. It did not wait for its timeout of an hour.
        self.visit(self.manager.script("none.php", "<?php"))
        why = f"headgate: 3 events are not known to be stored: cannot connect to {self.daemon.path}: no such socket"
        self.assertEqual(self.log().count(why), 1)

    def test_request_that_fails_leaves_no_connection(self):
        tracks = "set_time_limit(0); echo $client->track('viewed')->seq;"
        whole = self.page("whole.php", tracks)
        fails = self.page("fails.php", """
            $connection = (fn () => $this->connection)->call($client);
            $call = new Headgate\\Call('track', ['event' => 'half', 'id' => 'h'], true);
            $connection->begin($call, INF);
            (fn () => $this->pump(fn () => $this->unanswered > 0, INF))->call($connection);
            no_such_function();
        """)
        answer = in_background(lambda: self.visit(whole))
        first = self.daemon.greet()
        first.acknowledge(first.request("track"), seq=7)
        self.assertEqual(answer(), "7")
        self.visit(fails)
        # The call was written on the connection and is never answered there: no later request gets its answer.
        self.assertEqual(first.request("track")["params"]["id"], "h")
        answer = in_background(lambda: self.visit(whole))
        second = self.daemon.greet()
        first.expect_end()
        second.acknowledge(second.request("track"), seq=8)
        self.assertEqual(answer(), "8")

    def test_connection_that_closes_between_requests(self):
        script = self.page("whole.php", "echo $client->track('viewed')->seq;")
        for how in ("close", "closing", "close"):
            answer = in_background(lambda: self.visit(script))
            connection = self.daemon.greet()
            connection.acknowledge(connection.request("track"), seq=7)
            self.assertEqual(answer(), "7")
            if how == "closing":
                connection.tell({"method": "closing", "params": {"reason": "shutting_down"}})
            else:
                connection.close()

    def test_clients_do_not_share_a_connection(self):
        script = self.page("two.php", """
            $other = new Client('other');
            echo $client->track('a')->seq, $other->track('b')->seq;
        """)
        answer = in_background(lambda: self.visit(script, name="shop"))
        first = self.accept("shop")
        first.acknowledge(first.request("track"), seq=1)
        second = self.accept("other")
        second.acknowledge(second.request("track"), seq=2)
        self.assertEqual(answer(), "12")
        # Of two clients of one name the first finds the connection again, and the second makes one of its own.
        answer = in_background(lambda: self.visit(script, name="other"))
        second.acknowledge(second.request("track"), seq=3)
        third = self.accept("other")
        third.acknowledge(third.request("track"), seq=4)
        self.assertEqual(answer(), "34")

    def accept(self, name):
        """Accepts the next connection, and checks that its client has this name."""
        connection = self.daemon.accept()
        self.assertEqual(connection.hello()["client"]["name"], name)
        return connection

    def test_limits_are_read_again(self):
        script = self.page("long.php", """
            try {
                echo $client->track('viewed', ['text' => str_repeat('x', (int) $_GET['n'])])->seq;
            } catch (Headgate\\HeadgateException $error) {
                echo $error->reason;
            }
        """)
        limits = {"max_line_bytes": 300}
        answer = in_background(lambda: self.visit(script, n=1))
        first = self.daemon.greet(limits=limits)
        first.acknowledge(first.request("track"), seq=7)
        self.assertEqual(answer(), "7")
        answer = in_background(lambda: self.visit(script, n=300))
        first.request("track")
        error = {"code": -32000, "message": "too long", "data": {"reason": "line_too_long"}}
        first.tell({"id": None, "error": error})
        self.daemon.greet(limits=limits)
        self.assertEqual(answer(), "line_too_long")


def in_background(work):
    """Runs a function that waits for the daemon, which the test plays. Returns a function that waits for the result."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    return lambda: future.result(PATIENCE)


if __name__ == "__main__":
    unittest.main()
