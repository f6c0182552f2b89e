"""Functions that the tests of the Python client share."""

import logging
import multiprocessing
import pathlib
import sys
import threading
import time
import unittest
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[3] / "Tests" / "Clients")]

import headgate  # noqa: E402
from fake_daemon import PATIENCE, FakeDaemon  # noqa: E402

# Tests that want the client's log lines read them.
logging.getLogger("headgate").addHandler(logging.NullHandler())
logging.getLogger("headgate").propagate = False

OPTIONS = headgate.Options(backoff_base=0.01, backoff_cap=0.1, close_timeout=0.01)


class DaemonTests(unittest.TestCase):
    """Tests that have a fake daemon."""

    def setUp(self):
        self.daemon = FakeDaemon()
        self.addCleanup(self.daemon.__exit__)

    def options(self, **options):
        return headgate.Options(**{**vars(OPTIONS), **options})

    def client(self, **options):
        client = headgate.Client("test", "1.0", socket_path=self.daemon.path, options=self.options(**options))
        self.addCleanup(client.close)
        return client

    def begin(self, work, method, result={}):
        """Has the client connect for a call that the daemon grants. Returns the connection, and the result of the call."""
        end = self.in_background(work)
        connection = self.daemon.greet()
        connection.answer(connection.request(method), result)
        return connection, end()

    def answer_second_thoughts(self, begin, end_it, is_refused, go_on):
        """Expects a request on the next connection, and ends it before the daemon has answered."""
        connection = self.daemon.greet()
        again = connection.request(begin)
        go_on()
        for request in (again, connection.request(end_it)):
            if is_refused:
                connection.refuse(request, "not_found")
            else:
                connection.answer(request, {})
        return connection

    def in_child(self, work):
        """Runs a function in a forked process. Returns a function that checks that it succeeded."""
        child = multiprocessing.get_context("fork").Process(target=work)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of a fork with threads, which these tests check
            child.start()
        self.addCleanup(child.kill)

        def expect_success():
            child.join(PATIENCE)
            self.assertEqual(child.exitcode, 0)

        return expect_success

    def until(self, condition):
        """Waits until a condition holds that no message announces."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, "it never came")
            time.sleep(0.001)

    def in_background(self, work):
        """Runs a function in the background while this thread plays the daemon. Returns a function that waits for its result."""
        outcome = []

        def run():
            try:
                outcome.append(work())
            except headgate.HeadgateError as error:
                outcome.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def end():
            thread.join(PATIENCE)
            return outcome[0]

        return end
