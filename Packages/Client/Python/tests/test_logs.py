"""Tests of the handler for logging in its own process."""

import contextlib
import io
import logging
import os
import threading
import unittest
import warnings

from support import PATIENCE, DaemonTests, headgate

import headgate.logs  # noqa: E402


class Awkward:
    """A value whose `str` and `repr` raise."""

    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __repr__


class LogTests(DaemonTests):
    def setUp(self):
        super().setUp()
        self.said = io.StringIO()

    def handler(self, flush_timeout=0.0, **options):
        handler = headgate.logs.Handler(
            "test", "1.0", socket_path=self.daemon.path, options=self.options(**options), flush_timeout=flush_timeout
        )
        logger = logging.Logger("shop.till")
        logger.addHandler(handler)

        def close():
            with contextlib.redirect_stderr(self.said):
                handler.close()

        self.addCleanup(close)
        return handler, logger

    def test_record(self):
        _, logger = self.handler()
        try:
            raise KeyError("drawer")
        except KeyError:
            extra = {"till": 7, "who": {"name": "Ada"}, "nan": float("nan"), "odd": {1}, "text": "\ud800"}
            logger.warning("sold %d for %s", 3, "ü\ud800", exc_info=True, extra=extra)
        connection = self.daemon.greet()
        params = connection.request("track")["params"]
        self.assertEqual(params["event"], "log")
        self.assertRegex(params["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        data = params["data"]
        wanted = {
            "level": "WARNING", "logger": "shop.till", "message": "sold 3 for ü?", "function": "test_record", "till": 7,
            "who": {"name": "Ada"}, "nan": "nan", "odd": [1], "text": "?", "process": os.getpid(),
        }  # fmt: skip
        self.assertEqual(wanted, {name: data[name] for name in wanted})
        self.assertIn("KeyError: 'drawer'", data["exception"])
        self.assertTrue(data["file"].endswith("test_logs.py"))

    def test_daemon_that_is_away(self):
        """Nothing waits and nothing is raised; records without room are reported once there is room."""
        self.daemon.stop_listening()
        handler, logger = self.handler(max_unanswered=2)
        for n in range(5):
            logger.info("%d", n)
        self.assertEqual(handler.dropped, {"buffer_full": 3})
        self.daemon.listen()
        connection = self.daemon.greet()
        sent = connection.requests("track", 2)
        self.assertEqual([request["params"]["data"]["message"] for request in sent], ["0", "1"])
        for request in sent:
            connection.acknowledge(request)
        handler._client.drain(PATIENCE)
        logger.info("later")
        told = connection.request("track")["params"]
        self.assertEqual(told["event"], "log.dropped")
        self.assertEqual((told["data"]["count"], told["data"]["reasons"]), (3, {"buffer_full": 3}))
        self.assertRegex(told["data"]["since"], "Z$")
        self.assertEqual(connection.request("track")["params"]["data"]["message"], "later")

    def test_refusals_are_reported(self):
        handler, logger = self.handler()
        logger.info("a")
        connection = self.daemon.greet()
        connection.refuse(connection.request("track"), "queue_full")
        handler._client.drain(PATIENCE)
        logger.info("b")
        told = connection.request("track")
        self.assertEqual(told["params"]["data"]["reasons"], {"queue_full": 1})
        connection.acknowledge(connection.request("track"))
        # If the report is refused, the next report includes its records.
        connection.refuse(told, "queue_full")
        handler._client.drain(PATIENCE)
        logger.info("c")
        self.assertEqual(connection.request("track")["params"]["data"]["reasons"], {"queue_full": 1})
        self.assertEqual(handler.dropped, {"queue_full": 1})

    def test_records_that_are_none(self):
        handler, logger = self.handler()
        logger.info("%d", "x")
        logger.info(Awkward())
        logger.info("fine", extra={"odd": Awkward()})
        self.assertEqual(handler.dropped, {"bad_record": 3})

    def test_records_that_are_left_are_reported_at_the_end(self):
        handler, logger = self.handler()
        logger.info("%d", "x")
        logger.info("never acknowledged")
        self.daemon.greet().request("track")
        with contextlib.redirect_stderr(self.said):
            handler.flush()
            handler.close()
        self.assertEqual(self.said.getvalue(), "headgate: log records dropped: 1 bad_record, 1 closed\n")
        logger.info("after the end")
        self.assertEqual(handler.dropped, {"bad_record": 1, "closed": 1, "buffer_full": 1})

    def test_flush_waits(self):
        handler, logger = self.handler(flush_timeout=PATIENCE)
        logger.info("x")
        end = self.in_background(handler.flush)
        connection = self.daemon.greet()
        connection.acknowledge(connection.request("track"))
        self.assertIsNone(end())
        self.assertEqual(handler.dropped, {})

    def test_own_records_are_left_alone(self):
        handler, _ = self.handler()
        for name in ("headgate", "headgate.aio"):
            handler.handle(logging.LogRecord(name, logging.ERROR, "x.py", 1, "oh", (), None))
        handler.handle(logging.LogRecord("headgates", logging.ERROR, "x.py", 1, "another's", (), None))
        params = self.daemon.greet().request("track")["params"]
        self.assertEqual(params["data"]["message"], "another's")

    def test_logging_while_it_logs(self):
        """A signal handler may log while the thread logs."""
        handler, logger = self.handler()

        class Nested:
            def __str__(self):
                logger.info("inner")
                return "outer"

        logger.info("%s", Nested())
        inner, outer = self.daemon.greet().requests("track", 2)
        self.assertEqual(inner["params"]["data"]["message"], "inner")
        self.assertEqual(outer["params"]["data"]["message"], "outer")

    def test_a_record_that_logs_itself(self):
        handler, logger = self.handler()

        class Circle:
            def __str__(self):
                logger.info("%s", self)
                return "circle"

        logger.info("%s", Circle())
        told, *four = self.daemon.greet().requests("track", 5)
        self.assertEqual(told["params"]["data"]["reasons"], {"nested": 1})
        self.assertEqual([one["params"]["data"]["message"] for one in four], ["circle"] * 4)
        self.assertEqual(handler.dropped, {"nested": 1})

    def test_threads_and_fork(self):
        _, logger = self.handler()
        threads = [threading.Thread(target=lambda: [logger.info("x") for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        connection = self.daemon.greet()
        sent = connection.requests("track", 200)
        for thread in threads:
            thread.join()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            logger.info("child's")
            logger.handlers[0]._client.drain(PATIENCE)
            os._exit(0)
        second = self.daemon.greet()
        request = second.request("track")
        self.assertEqual(request["params"]["data"]["message"], "child's")
        second.acknowledge(request)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        for request in sent:
            connection.acknowledge(request)
        connection.expect_silence()


if __name__ == "__main__":
    unittest.main()
