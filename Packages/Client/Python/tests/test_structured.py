"""Tests of the processor for structlog in its own process. They use structlog itself where it is installed."""

import contextlib
import io
import unittest

from support import DaemonTests, headgate

import headgate.logs  # noqa: E402
import headgate.structured  # noqa: E402

try:
    import structlog
except ImportError:
    structlog = None


class ProcessorTests(DaemonTests):
    def setUp(self):
        super().setUp()
        self.handler = headgate.logs.Handler("test", "1.0", socket_path=self.daemon.path, options=self.options(), flush_timeout=0.0)

        def close():
            with contextlib.redirect_stderr(io.StringIO()):
                self.handler.close()

        self.addCleanup(close)

    def data(self, connection):
        return connection.request("track")["params"]["data"]

    def test_members_become_fields(self):
        process = headgate.structured.Processor(self.handler)
        given = {"event": "sold", "till": 7, "name": "Ada", "level": "warning", "logger": "shop"}
        self.assertIs(given, process(None, "info", given))
        data = self.data(self.daemon.greet())
        wanted = {
            "level": "WARNING", "logger": "shop", "message": "sold", "till": 7, "field_name": "Ada", "file": __file__,
            "function": "test_members_become_fields",
        }  # fmt: skip
        self.assertEqual(wanted, {name: data[name] for name in wanted})

    def test_levels(self):
        process = headgate.structured.Processor(self.handler)
        names = {"debug": "DEBUG", "msg": "INFO", "warn": "WARNING", "err": "ERROR", "fatal": "CRITICAL", "odd": "INFO"}
        for name in names:
            process(None, name, {"event": "x"})
        connection = self.daemon.greet()
        self.assertEqual(list(names.values()), [self.data(connection)["level"] for _ in names])

    def test_exceptions(self):
        process = headgate.structured.Processor(self.handler)
        try:
            raise KeyError("drawer")
        except KeyError:
            process(None, "exception", {"event": "failed", "exc_info": True})
        self.assertIn("KeyError: 'drawer'", self.data(self.daemon.greet())["exception"])

    def test_values_that_cannot_be_shown_are_dropped(self):
        class Awkward:
            def __str__(self):
                raise RuntimeError("no")

        headgate.structured.Processor(self.handler)(None, "info", {"event": Awkward()})
        self.assertEqual({"bad_record": 1}, self.handler.dropped)

    @unittest.skipIf(structlog is None, "structlog is not installed")
    def test_structlog(self):
        structlog.configure(processors=[
            structlog.contextvars.merge_contextvars, structlog.stdlib.add_log_level, headgate.structured.Processor(self.handler, is_last=True),
        ])  # fmt: skip
        self.addCleanup(structlog.reset_defaults)
        structlog.get_logger().bind(till=7).warning("half full", order=17)
        data = self.data(self.daemon.greet())
        wanted = {"level": "WARNING", "message": "half full", "till": 7, "order": 17, "function": "test_structlog"}
        self.assertEqual(wanted, {name: data[name] for name in wanted})


if __name__ == "__main__":
    unittest.main()
